/**
 * @file `npm run bench -- models`: training, generation and multi-turn episodes beside transformers, by
 * turns in one run, as ratios; the share of the machine's matrix-product peak; the memory of a training step.
 * OPENMANUS_BENCH_ONLY (`small`, `large-train`, `large-generate`, `large-memory`) runs a part.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import * as torch from "../src/torch/index.ts";
import type { Benchmark } from "./main.ts";
import { median, table } from "./measure.ts";
import { generationSpeed, LARGE, SMALL, trainingSpeed, turnsTime } from "./models-ours.ts";
import { runYardstick } from "./python-environment.ts";

interface Row {
  name: string;
  /** Tokens per second, or seconds for `turns`. */
  ours: number;
  transformers: number;
  /** How many times faster we are: the median of the rounds' ratios. */
  ratio: number;
  goal: number | null;
  /** Share of the 1024³ matrix product's rate that the model's products reach; null where unclear. */
  peakShare: number | null;
}

/** Of one training step of the 0.5B shape with 4,096 packed tokens, layers checkpointed; bytes. */
interface StepMemory {
  /** Weights, gradients and the optimiser's two moments. */
  stateBytes: number;
  /** The process's peak, above what it had before the model. */
  peakBytes: number;
  seconds: number;
}

/** What the peak may be above the state. */
const MEMORY_GOAL = 1.2e9;

interface ModelFigures {
  gemmGflops: number;
  versions: string;
  rows: Row[];
  memory: StepMemory | null;
}

interface Case {
  name: string;
  yardstick: string;
  goal: number | null;
  /** How often both are measured, by turns: the machine may be faster for one of them. */
  rounds: number;
  /** `flops`: floating-point operations per token. */
  measure(): Promise<{ value: number; flops: number | null }>;
}

const CASES: Case[] = [
  {
    name: "small: training, 16 × 512 tokens",
    yardstick: "small-train",
    rounds: 5,
    goal: 2,
    measure: async () => trainingSpeed(SMALL, 16, 512, 5),
  },
  {
    name: "small: generation, 64 × (128 + 64)",
    yardstick: "small-generate",
    rounds: 5,
    goal: 6,
    measure: () => generationSpeed(SMALL, 64, 128, 64, 3),
  },
  {
    name: "small: 8 prompts × 8 replies (128 + 64)",
    yardstick: "small-group",
    rounds: 3,
    goal: null,
    measure: () => generationSpeed(SMALL, 64, 128, 64, 3, 8),
  },
  {
    name: "small: 64 episodes × 10 turns (60 + 12)",
    yardstick: "small-turns",
    rounds: 3,
    goal: 20,
    measure: () => turnsTime(SMALL, 64, 10, 60, 12),
  },
  {
    name: "0.5B: training, 2 × 64 tokens",
    yardstick: "large-train",
    rounds: 1,
    goal: 1.2,
    measure: async () => trainingSpeed(LARGE, 2, 64, 2),
  },
  {
    name: "0.5B: generation, 8 × (64 + 16)",
    yardstick: "large-generate",
    rounds: 1,
    goal: 1.5,
    measure: () => generationSpeed(LARGE, 8, 64, 16, 2),
  },
];

function measureMemory(): StepMemory {
  const program = fileURLToPath(new URL("models-memory.ts", import.meta.url));
  const child = spawnSync(process.execPath, ["--import", "tsx", program], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.status !== 0)
    throw new Error(`${program} ended with ${child.status ?? child.signal}, see above`);
  return JSON.parse(child.stdout) as StepMemory;
}

export const models: Benchmark = {
  async run(): Promise<ModelFigures> {
    const only = process.env.OPENMANUS_BENCH_ONLY;
    const gemmGflops = torch.measureGemm(1024, 10);
    const rows: Row[] = [];
    let versions = "";
    for (const { name, yardstick, goal, rounds, measure } of CASES) {
      if (only && !yardstick.includes(only)) continue;
      console.error(`${name} …`);
      const ours: number[] = [];
      const theirs: number[] = [];
      const ratios: number[] = [];
      let flops: number | null = null;
      for (let round = 0; round < rounds; round++) {
        const measured = await measure();
        const other = runYardstick("models.py", String(torch.threads()), yardstick);
        const value = (other.tokensPerSecond ?? other.seconds) as number;
        versions = `torch ${String(other.torch)}, transformers ${String(other.transformers)}`;
        flops = measured.flops;
        ours.push(measured.value);
        theirs.push(value);
        ratios.push(other.seconds === undefined ? measured.value / value : value / measured.value);
      }
      rows.push({
        name,
        ours: median(ours),
        transformers: median(theirs),
        ratio: median(ratios),
        goal,
        peakShare: flops === null ? null : (median(ours) * flops) / (gemmGflops * 1e9),
      });
    }
    const measured = !only || "large-memory".includes(only);
    if (measured) console.error("0.5B: memory of a training step, 4096 tokens …");
    const memory = measured ? measureMemory() : null;
    return { gemmGflops, versions, rows, memory };
  },
  report(figures) {
    const { gemmGflops, versions, rows, memory } = figures as ModelFigures;
    const lines = rows.map(({ name, ours, transformers, ratio, goal, peakShare }) => [
      name,
      ours.toFixed(1),
      transformers.toFixed(1),
      `${ratio.toFixed(2)} ×`,
      goal === null ? "" : `${goal} ×`,
      peakShare === null ? "" : `${(100 * peakShare).toFixed(0)} %`,
    ]);
    const header = ["tokens/s (turns: s)", "ours", "transformers", "faster", "goal", "of peak"];
    return [
      ...(rows.length > 0 ? [table([header, ...lines]), ""] : []),
      ...(memory ? [describeMemory(memory), ""] : []),
      `libtorch ${torch.runtimeInfo().version}, ${torch.threads()} threads, peak ${gemmGflops.toFixed(0)} GFLOPS (1024³); yardstick: ${versions || "not run"}`,
    ].join("\n");
  },
};

function describeMemory({ stateBytes, peakBytes, seconds }: StepMemory): string {
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;
  return (
    `0.5B, one training step of 4096 tokens, checkpointed: peak ${gigabytes(peakBytes)}, ` +
    `${gigabytes(peakBytes - stateBytes)} above weights, gradients and moments (goal: at most ` +
    `${gigabytes(MEMORY_GOAL)}), ${seconds.toFixed(0)} s`
  );
}
