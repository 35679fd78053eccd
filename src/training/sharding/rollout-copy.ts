/**
 * @file The weights that a sharded policy generates with: one whole copy per machine, in memory that all ranks
 * there share. Each rank writes its part after every update; nobody has a copy of its own.
 *
 * The file loses its name as soon as all have mapped it: whatever ends the processes, nothing is left.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import {
  type LoraModel,
  type Model,
  modelOf,
  partSize,
  piecesOf,
  type ShardedModel,
  separate,
  type Unit,
} from "../../models/index.ts";
import { keep, mapFile, noGrad, type Tensor, tidy } from "../../torch/index.ts";
import type { Ranks } from "../ranks/ranks.ts";

export interface RolloutCopy {
  readonly model: Model;
  /** Takes over the weights as they are. All ranks, none of which generates meanwhile. */
  publish(): void;
  dispose(): void;
}

const BYTES = { float64: 8, float32: 4, bfloat16: 2, float16: 2 } as const;

export function sharedCopy(
  sharded: ShardedModel,
  lora: LoraModel | undefined,
  ranks: Ranks,
): RolloutCopy {
  const { config, unitList, units, group } = sharded;
  const dtype = units.dtype as keyof typeof BYTES;
  const numbers = unitList.reduce((sum, { numel }) => sum + numel, 0);
  const machines = ranks.gather(machineKey());
  const here = machines.flatMap((key, rank) => (key === machines[ranks.rank] ? [rank] : []));
  const map = mappedByAll(numbers * BYTES[dtype], here, ranks);
  const whole = keep(tidy(() => map.viewAs(dtype)));
  const places = new Map<Unit, Tensor>();
  let start = 0;
  for (const unit of unitList) {
    places.set(unit, keep(tidy(() => whole.narrow(0, start, unit.numel))));
    start += unit.numel;
  }
  const tensors = new Map(
    [...places].flatMap(([unit, place]) => [...tidy(() => keep(piecesOf(unit, place)))]),
  );
  const model = modelOf(config, tensors);
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);

  /** Writes numbers [start, …) of a unit from a vector that begins there. */
  const write = (unit: Unit, start: number, values: Tensor): void => {
    const count = Math.min(values.numel, unit.numel - start);
    if (count > 0)
      places
        .get(unit)!
        .narrow(0, start, count)
        .copy_(values.narrow(0, 0, count));
  };
  // Where a copy's ranks are all on this machine, its first such copy writes, each rank its own part.
  // Otherwise units are gathered one by one, and each rank of the machine writes a slice.
  const firstOfCopy = ranks.rank - group.rank;
  const isLocal = ranks
    .gather(group.allGatherObject(machines[ranks.rank]).every((key, _, all) => key === all[0]))
    .every(Boolean);
  const writes = here[0] === firstOfCopy;
  const publishUnit = (unit: Unit): void => {
    const shard = sharded.shards.get(unit.name)!.detach();
    const part = partSize(unit, group.worldSize);
    if (isLocal && !lora) {
      if (writes) write(unit, group.rank * part, shard);
      return;
    }
    const flat = group.allGather(shard.to(dtype)).view([-1]);
    if (lora) lora.addTo(separate(config, piecesOf(unit, flat)));
    const slice = Math.ceil(unit.numel / here.length);
    const from = here.indexOf(ranks.rank) * slice;
    if (from < unit.numel)
      write(unit, from, flat.narrow(0, from, Math.min(slice, unit.numel - from)));
  };
  return {
    model,
    publish() {
      noGrad(() => {
        for (const unit of unitList) tidy(() => publishUnit(unit));
      });
      ranks.gather(true);
    },
    dispose() {
      model.dispose();
      for (const tensor of [...places.values(), whole, map]) tensor.dispose();
    },
  };
}

const SHARED_MEMORY = "/dev/shm";

function sharedFolder(): string {
  return statSync(SHARED_MEMORY, { throwIfNoEntry: false })?.isDirectory()
    ? SHARED_MEMORY
    : tmpdir();
}

/** The same for processes that can share memory: one kernel, one mount. */
function machineKey(): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return `${boot} ${statSync(sharedFolder()).dev}`;
}

/** A file of so many bytes that all ranks of this machine have mapped, and that has no name any more. */
function mappedByAll(bytes: number, here: readonly number[], ranks: Ranks): Tensor {
  const own = join(sharedFolder(), `openmanus-rl-${randomUUID()}`);
  const isMaker = here[0] === ranks.rank;
  let problem: string | undefined;
  try {
    if (isMaker) problem = makeFile(own, bytes);
    const made = ranks.gather({ own, problem });
    const failed = made.find((one) => one.problem !== undefined);
    if (failed) throw new OptionError(failed.problem!);
    const map = keep(mapFile(made[here[0]!]!.own, "shared"));
    ranks.gather(true);
    return map;
  } finally {
    if (isMaker) rmSync(own, { force: true });
  }
}

const PIECE = Buffer.alloc(2 ** 20);

/** What went wrong, in a sentence. */
function makeFile(path: string, bytes: number): string | undefined {
  const { bavail, bsize } = statfsSync(sharedFolder());
  const gigabytes = (count: number) => (count / 2 ** 30).toFixed(2);
  if (bavail * bsize < bytes)
    return (
      `the copy of the weights that all ranks of a machine generate with needs ${gigabytes(bytes)} GB in ` +
      `${sharedFolder()}, where ${gigabytes(bavail * bsize)} GB are free. Make it larger (mount -o remount,size=…), ` +
      "or set tensor_model_parallel_size: each rank then has its part of them only."
    );
  const descriptor = openSync(path, "wx", 0o600);
  try {
    // Written, not only sized: memory that is not there must show now, not by killing the process.
    for (let left = bytes; left > 0; left -= PIECE.length)
      writeSync(descriptor, PIECE, 0, Math.min(left, PIECE.length));
  } finally {
    closeSync(descriptor);
  }
  return undefined;
}
