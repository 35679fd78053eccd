/**
 * @file Our side of the model benchmark: the two shapes, a training step, generation, episodes.
 */
import { createEngine } from "../src/generation/index.ts";
import {
  configParameterCount,
  type ModelConfig,
  newModel,
  packSequences,
  presetConfig,
  tokenOutputs,
} from "../src/models/index.ts";
import * as torch from "../src/torch/index.ts";
import { median } from "./measure.ts";

export const SMALL: ModelConfig = presetConfig("small");
export const LARGE: ModelConfig = presetConfig("qwen2.5-0.5b");

export interface Measured {
  value: number;
  flops: number | null;
}

/** Two operations per parameter and token forward, four more backward; embedding look-ups are free. */
function trainingFlops(config: ModelConfig): number {
  return 6 * configParameterCount(config);
}

/**
 * Operations per new token of matrix products that cannot be left out: a prompt's tokens need no
 * logits, and in the last layer nothing but their keys and values.
 */
function generationFlops(
  config: ModelConfig,
  prompt: number,
  tokens: number,
  group: number,
): number {
  const { hiddenSize, vocabularySize, keyValueHeads, headDimension, layers } = config;
  const all = configParameterCount(config);
  const output = hiddenSize * vocabularySize;
  const layer = (all - output * (config.tiedEmbeddings ? 1 : 2)) / layers;
  const promptToken = layer * (layers - 1) + 2 * hiddenSize * keyValueHeads * headDimension;
  const total = (promptToken * (prompt - 1)) / group + (layer * layers + output) * tokens;
  return (2 * total) / tokens;
}

export function randomIds(rows: number, length: number, vocabulary: number, seed = 1): number[][] {
  const ids = torch.tidy(() =>
    torch.randint(1, vocabulary, [rows, length], new torch.Generator(seed)).toArray(),
  );
  return ids as number[][];
}

/** One optimiser step of next-token training, tokens per second. */
export function trainingSpeed(
  config: ModelConfig,
  rows: number,
  length: number,
  repeats: number,
): Measured {
  const model = newModel(config, new torch.Generator(1));
  const optimizer = torch.adamw(model.parameters, { lr: 1e-4 });
  const ids = randomIds(rows, length, config.vocabularySize);
  const places = ids.flatMap((row, i) => row.slice(1).map((_, k) => i * length + k));
  const targets = ids.flatMap((row) => row.slice(1));
  const step = () =>
    torch.tidy(() => {
      const index = (values: number[]) => torch.tensor(values, { dtype: "int64" });
      const { logprobs } = tokenOutputs(model, packSequences(ids), index(places), index(targets), {
        entropy: false,
      });
      logprobs.mean().neg().backward();
      const norm = torch.gradientNorm(model.parameters);
      optimizer.step({ gradientScale: torch.clipFactor(norm, 1) });
      optimizer.clearGradients();
    });
  step();
  const times = Array.from({ length: repeats }, () => seconds(step));
  optimizer.dispose();
  model.dispose();
  return { value: (rows * length) / median(times), flops: trainingFlops(config) };
}

/** New tokens per second, prompts included in the time; `group` sequences continue each prompt. */
export async function generationSpeed(
  config: ModelConfig,
  rows: number,
  prompt: number,
  tokens: number,
  repeats: number,
  group = 1,
): Promise<Measured> {
  const model = newModel(config, new torch.Generator(1));
  // One engine, as in training; other prompts each time, so that none is found in its cache.
  const engine = createEngine(model, { cacheBytes: 2 ** 29 });
  const times: number[] = [];
  for (let round = 0; round < repeats + 1; round++) {
    const ids = randomIds(rows / group, prompt, config.vocabularySize, round + 1);
    const start = performance.now();
    await Promise.all(
      Array.from({ length: rows }, (_, i) =>
        engine.generate({
          prompt: ids[Math.floor(i / group)]!,
          sampling: { maximumTokens: tokens },
          seed: i,
        }),
      ),
    );
    if (round > 0) times.push((performance.now() - start) / 1000);
  }
  await engine.close();
  model.dispose();
  return {
    value: (rows * tokens) / median(times),
    flops: generationFlops(config, prompt, tokens, group),
  };
}

/** Seconds for episodes whose every turn adds an observation and draws a reply. */
export async function turnsTime(
  config: ModelConfig,
  episodes: number,
  turns: number,
  observation: number,
  reply: number,
): Promise<Measured> {
  const model = newModel(config, new torch.Generator(1));
  const engine = createEngine(model, { cacheBytes: 2 ** 30 });
  const run = async (seed: number): Promise<number> => {
    const seen = randomIds(episodes, turns * observation, config.vocabularySize, seed);
    const start = performance.now();
    await Promise.all(
      seen.map(async (tokens, i) => {
        const ids: number[] = [];
        for (let turn = 0; turn < turns; turn++) {
          ids.push(...tokens.slice(turn * observation, (turn + 1) * observation));
          const answer = await engine.generate({
            prompt: ids,
            sampling: { maximumTokens: reply },
            seed: i * turns + turn,
            conversation: `${seed} ${i}`,
          });
          ids.push(...answer.ids);
        }
      }),
    );
    return (performance.now() - start) / 1000;
  };
  // The cache's memory is touched once in an engine's life: not in the time of one run.
  await run(1);
  const value = await run(2);
  await engine.close();
  model.dispose();
  return { value, flops: null };
}

function seconds(body: () => void): number {
  const start = performance.now();
  body();
  return (performance.now() - start) / 1000;
}
