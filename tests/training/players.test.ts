/**
 * @file Processes that only play (rollout.players): episodes and weights are bitwise those of a run that plays itself, in
 * order and one step off, whoever dies meanwhile; and they play while the update is learned.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createVllmEngine } from "../../src/generation/index.ts";
import { loadModel, loadTokenizer } from "../../src/models/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { noGrad, tidy } from "../../src/torch/index.ts";
import { playersOptions } from "../../src/training/index.ts";
import { probeOf } from "../../src/training/served/probe.ts";
import { weightsPlace } from "../../src/training/served/weights.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf } from "./support/processes.ts";
import { tinyConfig, trainConfig, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
const TIMEOUT = { timeout: 600_000 };
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 300_000);

const PLAYERS = (count: number) => [
  `actor_rollout_ref.rollout.players=${count}`,
  `actor_rollout_ref.rollout.vllm.weights_folder=${parent}`,
];
const AHEAD = [
  "actor_rollout_ref.rollout.one_step_off=True",
  "algorithm.rollout_correction.rollout_is=token",
];

async function train(
  name: string,
  own: readonly string[],
  onIteration?: (iteration: number) => void,
) {
  const folder = join(parent, name);
  const said: string[] = [];
  await trainConfig({
    config: tinyConfig(warm, folder, [
      ...["algorithm.adv_estimator=grpo", "trainer.total_epochs=4", "trainer.save_freq=4"],
      ...["actor_rollout_ref.rollout.cache_bytes=100000000", ...own],
    ]),
    say: (text) => said.push(text),
    ...(onIteration && { onIteration }),
  });
  const metrics = readMetrics(join(folder, "metrics.jsonl")).map((line) => line.metrics);
  const { weights, episodes } = resultsOf(folder, 4);
  return { said, metrics, results: { weights, episodes: byPlace(episodes) } };
}

/** Whose episode ends first is nobody's business; what was in a cache is the engine's. */
function byPlace(episodes: ReturnType<typeof resultsOf>["episodes"]) {
  return episodes
    .map(({ turns, ...rest }) => ({
      ...rest,
      turns: turns.map(({ reply, ...turn }) => ({ ...turn, reply: { ...reply, cachedTokens: 0 } })),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

const staleness = (metrics: readonly Record<string, number>[]) =>
  metrics.map((one) => one["training/staleness/max"]);

/** Seconds at most in which the next episodes were played while one iteration was learned from. */
function together(metrics: readonly Record<string, number>[]): number {
  const seconds = metrics.slice(0, -1).map((one, i) => {
    const next = metrics[i + 1]!;
    const played = next["timing_s/gen"]! - next["timing_s/wait_for_rollout"]!;
    // What is one after the other takes at least as long as its parts.
    const learned = one["timing_s/old_log_prob"]! + one["timing_s/update_actor"]!;
    return played + learned - one["timing_s/step"]!;
  });
  return Math.max(...seconds);
}

describe("processes that only play", () => {
  it("play what the training process would, in order", TIMEOUT, async () => {
    const alone = await train("alone", ["trainer.test_freq=2"]);
    const { results, metrics } = await train("two", [...PLAYERS(2), "trainer.test_freq=2"]);
    expect(results).toEqual(alone.results);
    for (const [i, one] of metrics.entries()) {
      expect(one["rollout_sync/weight_version"]).toBe(i);
      expect(one["rollout_sync/logprob_diff_max"]).toBeLessThan(1e-4);
      expect(one["val/success_rate"]).toBe(alone.metrics[i]!["val/success_rate"]);
    }
  });

  it("play ahead, while the update is learned, what would be played before", TIMEOUT, async () => {
    const own = [...AHEAD, "actor_rollout_ref.actor.ppo_epochs=30"];
    const alone = await train("alone-ahead", own);
    const { results, metrics } = await train("one-ahead", [...own, ...PLAYERS(1)]);
    expect(results).toEqual(alone.results);
    expect(staleness(metrics)).toEqual([0, 1, 1, 1]);
    expect(metrics.map((one) => one["rollout_sync/weight_version"])).toEqual([0, 0, 1, 2]);
    expect(together(metrics)).toBeGreaterThan(0);
    expect(together(alone.metrics)).toBeLessThanOrEqual(0);
  });

  it("draw as the training process with fewer bytes, and for an adapter", TIMEOUT, async () => {
    const own = [
      ...["actor_rollout_ref.rollout.quantization=int8", "actor_rollout_ref.model.lora_rank=4"],
      ...["actor_rollout_ref.actor.optim.lr=1e-2"],
    ];
    const alone = await train("alone-int8", own);
    const { results } = await train("one-int8", [...own, ...PLAYERS(1)]);
    expect(results).toEqual(alone.results);
  });

  it("are started again when they die", TIMEOUT, async () => {
    const calm = await train("calm", PLAYERS(1));
    let killed: number | undefined;
    const { results, metrics, said } = await train("mortal", PLAYERS(1), (iteration) => {
      if (iteration === 2) killed = killPlayer();
    });
    expect(killed).toBeDefined();
    expect(metrics.at(-1)!["rollout_sync/restarts"]).toBeLessThanOrEqual(1);
    expect(results).toEqual(calm.results);
    expect(said.join("\n")).not.toMatch(/vLLM/);
  });

  it("are refused where they cannot play", async () => {
    const failure = async (...own: string[]) => {
      try {
        tinyConfig(warm, join(parent, "refused"), [...PLAYERS(1), ...own]);
        return "it was accepted";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(await failure("trainer.device=cuda")).toMatch(/players compute on the CPU/);
    expect(await failure("actor_rollout_ref.rollout.constrain=True")).toMatch(
      /rollout.constrain is of the engine in the training process/,
    );
    expect(await failure("actor_rollout_ref.rollout.tensor_model_parallel_size=2")).toMatch(
      /a player has all of the weights/,
    );
    expect(
      await failure(
        "actor_rollout_ref.rollout.temperature=0.7",
        "algorithm.rollout_correction.rollout_is=token",
      ),
    ).toMatch(/tell those at temperature 1/);
  });
});

describe("a player", () => {
  it("answers nobody without its key, and takes weights", TIMEOUT, async () => {
    const model = loadModel(warm);
    for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
    const place = weightsPlace(model, {
      ...{ asked: parent, runFolder: parent, dtype: "float32", tokenizerFolder: warm },
    });
    const options = playersOptions({
      ...{ players: 1, ahead: false, dtype: "float32", threads: 1 },
      ...{ startSeconds: 120, answerSeconds: 120, engine: { cacheBytes: 2 ** 24 } },
    });
    let port = 0;
    const engine = createVllmEngine({
      vllm: {
        ...options,
        contextLength: model.config.maximumPositions,
        own: (folder, at) => {
          port = at;
          return options.own!(folder, at);
        },
      },
      ...{ tokenizer: loadTokenizer(warm), vocabularySize: model.config.vocabularySize },
      ...{ weightsFolder: place.folder, say: () => {} },
    });
    try {
      const use = (version: number) =>
        engine.use({ folder: place.write(model, version), version, probe: probeOf(model, 1e-3) });
      expect(await use(0)).toBeLessThan(1e-4);
      const request = {
        ...{ prompt: [5, 6, 7], seed: 2n ** 63n + 1n, conversation: "a" },
        sampling: { maximumTokens: 8, stopTokens: [] },
      };
      const first = await engine.generate(request);
      expect(await engine.generate(request)).toEqual({ ...first, cachedTokens: 2 });
      tidy(() => noGrad(() => model.output.copy_(model.output.mul(2))));
      expect(await use(1)).toBeLessThan(1e-4);
      expect((await engine.generate(request)).logprobs).not.toEqual(first.logprobs);
      const url = `http://127.0.0.1:${port}`;
      for (const path of ["/weight_info", "/v1/completions", "/pause"])
        expect(
          (await fetch(url + path, { method: path === "/weight_info" ? "GET" : "POST" })).status,
        ).toBe(401);
    } finally {
      await engine.close();
      place.dispose();
      model.dispose();
    }
  });
});

/** Kills the player of this process; gives its number. */
function killPlayer(): number | undefined {
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one)))
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      const isOurs = words.some((word) => word.includes(`openmanus-rl-weights-${process.pid}-`));
      if (!isOurs || !words[1]?.endsWith("player.mjs")) continue;
      process.kill(Number(name), "SIGKILL");
      return Number(name);
    } catch {
      // It ended at this very moment.
    }
  return undefined;
}
