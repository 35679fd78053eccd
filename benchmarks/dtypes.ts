/**
 * @file Generation with the model's own float32 weights and with copies of them in fewer bytes, by turns in one run,
 * at several numbers of sequences at once: SmolLM2-135M's sizes with random weights, or the model in the folder
 * that OPENMANUS_BENCH_MODEL names. Beside the speed: how far the log-probabilities that a copy records are from
 * those that training computes.
 */
import { createEngine, type Engine, QUANTIZATIONS } from "../src/generation/index.ts";
import {
  loadModel,
  type Model,
  newModel,
  packSequences,
  tokenOutputs,
} from "../src/models/index.ts";
import { arange, fromTypedArray, Generator, noGrad, tidy } from "../src/torch/index.ts";
import type { Benchmark } from "./main.ts";
import { median, table } from "./measure.ts";
import { randomIds } from "./models-ours.ts";
import { SMOLLM2 } from "./update.ts";

const KINDS = [undefined, ...QUANTIZATIONS];
const FOLDER = process.env.OPENMANUS_BENCH_MODEL;
const SEQUENCES = [1, 8, 16, 32];
const PROMPT = 32;
const TOKENS = 48;
const ROUNDS = 3;

interface Row {
  readonly sequences: number;
  /** Tokens per second, in the order of KINDS. */
  readonly speeds: readonly number[];
}

interface Figures {
  readonly rows: readonly Row[];
  /** |Δ log p| of drawn tokens, mean and largest, in the order of KINDS. */
  readonly differences: readonly { readonly mean: number; readonly largest: number }[];
}

/** So many answers at once; prompts are new each time. */
async function play(engine: Engine, { config }: Model, sequences: number, seed: number) {
  const prompts = randomIds(sequences, PROMPT, config.vocabularySize, seed);
  const begun = performance.now();
  const answers = await Promise.all(
    prompts.map((prompt, i) =>
      engine.generate({ prompt, sampling: { maximumTokens: TOKENS, stopTokens: [] }, seed: i }),
    ),
  );
  return { prompts, answers, seconds: (performance.now() - begun) / 1000 };
}

async function differenceOf(engine: Engine, model: Model) {
  const { prompts, answers } = await play(engine, model, 16, 1);
  const differences = answers.flatMap(({ ids, logprobs }, i) => {
    const whole = [...prompts[i]!, ...ids];
    const own = tidy(() =>
      noGrad(() => {
        const places = arange(PROMPT - 1, whole.length - 1);
        const targets = fromTypedArray(BigInt64Array.from(ids, BigInt));
        const { logprobs: computed } = tokenOutputs(model, packSequences([whole]), places, targets);
        return computed.toNumbers();
      }),
    );
    return logprobs.map((value, k) => Math.abs(value - own[k]!));
  });
  return {
    mean: differences.reduce((sum, each) => sum + each, 0) / differences.length,
    largest: Math.max(...differences),
  };
}

export const dtypes: Benchmark = {
  async run(): Promise<Figures> {
    const model = FOLDER ? loadModel(FOLDER) : newModel(SMOLLM2, new Generator(1));
    for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
    const engines = KINDS.map((quantization) =>
      createEngine(model, { cacheBytes: 2 ** 28, speculation: false, quantization }),
    );
    const rows: Row[] = [];
    let seed = 2;
    for (const sequences of SEQUENCES) {
      const times = engines.map((): number[] => []);
      for (let round = 0; round <= ROUNDS; round++, seed++)
        for (const [i, engine] of engines.entries()) {
          const { seconds } = await play(engine, model, sequences, seed);
          if (round > 0) times[i]!.push(seconds);
        }
      rows.push({ sequences, speeds: times.map((each) => (sequences * TOKENS) / median(each)) });
    }
    const differences: Figures["differences"][number][] = [];
    for (const engine of engines) differences.push(await differenceOf(engine, model));
    await Promise.all(engines.map((engine) => engine.close()));
    model.dispose();
    return { rows, differences };
  },
  report(figures) {
    const { rows, differences } = figures as Figures;
    return table([
      [
        "sequences at once",
        "float32, tokens/s",
        ...QUANTIZATIONS.flatMap((kind) => [kind, "faster"]),
      ],
      ...rows.map(({ sequences, speeds: [own, ...others] }) => [
        `${sequences}`,
        own!.toFixed(1),
        ...others.flatMap((speed) => [speed.toFixed(1), `${(speed / own!).toFixed(2)} ×`]),
      ]),
      [
        "|Δ log p|, mean and largest",
        ...differences.flatMap(({ mean, largest }, i) => [
          mean.toExponential(1),
          ...(i > 0 ? [largest.toExponential(1)] : []),
        ]),
      ],
    ]);
  },
};
