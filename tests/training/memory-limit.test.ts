/**
 * @file A model whose training state does not fit one process trains on four, each under the same limit of
 * memory (ulimit -d: what a process may have of its own).
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { configParameterCount, initModelFolder, presetConfig } from "../../src/models/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { startScript } from "./support/processes.ts";
import { tinySettings } from "./support/runs.ts";

vi.setConfig({ testTimeout: 290_000 });

const SCRIPT = fileURLToPath(new URL("./support/limited.ts", import.meta.url));
const LIMIT_MEGABYTES = 1000;

it("four ranks train what one cannot hold", async () => {
  const parent = temporaryFolder();
  const model = join(parent, "model");
  const sizes = { hiddenSize: 512, headDimension: 64, heads: 8, keyValueHeads: 8 };
  const config = { ...presetConfig("tiny", { family: "qwen3" }), ...sizes };
  const deep = {
    ...config,
    intermediateSize: 2048,
    layers: 16,
    slidingWindows: new Array(16).fill(null),
  };
  initModelFolder(model, { config: deep, texts: ["go stop wait"], vocabularySize: 300, seed: 1 });
  // Weights, gradients and two moments: more than half of the limit; a process itself has most of the rest.
  const state = (16 * configParameterCount({ ...deep, vocabularySize: 300 })) / 2 ** 20;
  expect(state).toBeGreaterThan(0.9 * LIMIT_MEGABYTES);

  const run = async (processes: number) => {
    const folder = join(parent, `run-${processes}`);
    const settings = [
      ...tinySettings(model, folder),
      ...["algorithm.adv_estimator=grpo", "data.train_batch_size=4", "env.rollout.n=2"],
      ...["trainer.total_epochs=1", "actor_rollout_ref.rollout.cache_bytes=16000000"],
      "trainer.save_freq=-1",
    ];
    const limited = ["bash", "-c", `ulimit -d ${LIMIT_MEGABYTES * 1024}; exec "$@"`, "limited"];
    const { ended, lines } = startScript(
      SCRIPT,
      [String(processes), ...settings],
      () => {},
      limited,
    );
    return { code: await ended, output: lines.join("\n"), folder };
  };
  const one = await run(1);
  expect(one.code, one.output).not.toBe(0);
  expect(one.output).toMatch(/memory|alloc/i);
  const four = await run(4);
  expect(four.code, four.output).toBe(0);
  const [line] = readMetrics(join(four.folder, "metrics.jsonl"));
  const share = line!.metrics["actor/state_bytes_per_rank"]! / 2 ** 20 / state;
  expect(share).toBeLessThanOrEqual(0.25 + 0.02);
});
