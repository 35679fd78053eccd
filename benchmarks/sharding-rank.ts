/**
 * @file One rank of `npm run bench -- sharding`: updates of a model of 322 million random weights, whole where it
 * is alone, in shards otherwise. A process of its own, because a process remembers its peak; prints JSON.
 */
import { readFileSync } from "node:fs";
import {
  inMemory,
  type Model,
  newModel,
  packSequences,
  partSize,
  shardedModel,
  tokenOutputs,
  unitsOf,
} from "../src/models/index.ts";
import * as torch from "../src/torch/index.ts";
import { joinRanks } from "../src/training/index.ts";
import { gradientExchange } from "../src/training/sharding/exchange.ts";
import { shardGroups } from "../src/training/sharding/groups.ts";
import { randomIds } from "./models-ours.ts";
import { bytesPerPass, SHAPE } from "./sharding-formula.ts";

const [tokens, updates] = process.argv.slice(2).map(Number) as [number, number];
const field = (name: "VmHWM" | "VmRSS") =>
  1024 *
  Number(
    new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync("/proc/self/status", "utf8"))?.[1],
  );

const atStart = field("VmRSS");
const ranks = joinRanks();
const groups = shardGroups(ranks);
const shared = ranks.size > 1 ? groups.of(undefined) : undefined;
const model: Model = shared ? sharded(shared.shard) : newModel(SHAPE, new torch.Generator(1));
const exchange = gradientExchange(model, ranks, shared);
const optimizer = torch.adamw(model.trainable, { lr: 1e-4 });

/** Random shards: nothing ever holds the whole model. */
function sharded(group: torch.ProcessGroup): Model {
  const generator = new torch.Generator(1 + group.rank);
  const shards = new Map(
    unitsOf(SHAPE).map((unit) => {
      const shard = inMemory([partSize(unit, group.worldSize)], "float32");
      torch.tidy(() => shard.copy_(torch.randn(shard.shape, generator).mul_(0.02)));
      return [unit.name, shard] as const;
    }),
  );
  return shardedModel(SHAPE, shards, group, {
    ...{ dtype: "float32", frozen: false, prefetch: true, reshard: true },
  });
}

const ids = randomIds(1, tokens, SHAPE.vocabularySize, 1 + ranks.rank);
const index = (values: readonly number[]) => torch.tensor([...values], { dtype: "int64" });

function pass(): void {
  torch.tidy(() => {
    const batch = packSequences(ids);
    const places = index(ids[0]!.slice(1).map((_, i) => i));
    const { logprobs } = tokenOutputs(model, batch, places, index(ids[0]!.slice(1)), {
      ...{ layersPerSegment: 1, entropy: false },
    });
    torch.backward(logprobs.mean().neg());
  });
}

function update(): void {
  if (model.units) model.units.pass(true, pass);
  else pass();
  exchange.sum();
  optimizer.step({ gradientScale: torch.clipFactor(exchange.norm(), 1) });
  optimizer.clearGradients();
}

update();
const before = { traffic: torch.networkTraffic(), pending: torch.pendingStatistics() };
const begun = performance.now();
for (let i = 0; i < updates; i++) update();
const seconds = (performance.now() - begun) / 1000;
const after = { traffic: torch.networkTraffic(), pending: torch.pendingStatistics() };
const bytes = (tensors: Iterable<torch.Tensor>) =>
  [...tensors].reduce((sum, { byteLength }) => sum + byteLength, 0);
console.log(
  `FIGURES ${JSON.stringify({
    rank: ranks.rank,
    stateBytes: 2 * bytes(model.trainable.values()) + bytes(optimizer.state().tensors.values()),
    peakBytes: field("VmHWM") - atStart,
    secondsPerUpdate: seconds / updates,
    sentPerUpdate: (after.traffic.sent - before.traffic.sent) / updates,
    formula: bytesPerPass(SHAPE, ranks.size),
    communicated: (after.pending.seconds - before.pending.seconds) / updates,
    waited: (after.pending.waitedSeconds - before.pending.waitedSeconds) / updates,
  })}`,
);
groups.close();
ranks.close();
