/**
 * @file The worlds of the measured runs: small, with a tiny model each that a short warm start has taught the form, and not
 * much more. Each takes some seconds.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import desk from "../../examples/desk/world.ts";
import { type TrainOptions, warmStart } from "../../src/library/index.ts";

export interface BenchWorld {
  readonly options: Pick<TrainOptions, "world" | "worldOptions" | "turns" | "agent">;
  readonly warmStart: Exclude<TrainOptions["warmStart"], false | undefined>;
  readonly learningRate: number;
  /** Tasks of an iteration, 8 episodes each. Default 8. */
  readonly tasks?: number;
  /** The model knows only tasks of this split. */
  readonly split?: string;
}

export const WORLDS = {
  desk: {
    options: { world: desk },
    warmStart: { episodes: 300, epochs: 4, randomActions: 0.6 },
    learningRate: 1e-3,
  },
  maze: {
    options: { world: "maze", worldOptions: { winReward: 10 }, turns: 14 },
    warmStart: { episodes: 200, epochs: 2, mistakes: 0.3 },
    learningRate: 2e-4,
    tasks: 4,
  },
  wordle: {
    options: { world: "wordle", worldOptions: { size: 12 } },
    warmStart: { episodes: 300, epochs: 4, mistakes: 0.2 },
    learningRate: 5e-4,
  },
  textcraft: {
    options: {
      world: "textcraft",
      worldOptions: { maximumDepth: 1, distractors: 1 },
      turns: 6,
    },
    warmStart: { episodes: 200, epochs: 4, mistakes: 0.1 },
    learningRate: 5e-4,
    split: "train",
  },
  tools: {
    options: {
      world: "tools",
      worldOptions: { questions: 12, towns: 30, tools: ["search", "calculator"], describe: false },
      turns: 4,
      agent: { replyTokens: 64 },
    },
    warmStart: { episodes: 150, epochs: 6, mistakes: 0.1 },
    learningRate: 1e-4,
    split: "train",
  },
  household: {
    options: {
      world: "household",
      worldOptions: {
        ...{ types: ["pick_and_place_simple"], receptacles: 5, objects: 3, closed: 0, games: 12 },
      },
      turns: 10,
    },
    warmStart: { episodes: 150, epochs: 8, randomActions: 0.1 },
    learningRate: 5e-4,
    split: "train",
  },
} as const satisfies Record<string, BenchWorld>;

export type WorldName = keyof typeof WORLDS;

/** What all runs share. */
export const COMMON = {
  settings: { trainer: { threads: 1 } },
  progress: false,
} as const satisfies Partial<TrainOptions>;

/** The model that runs in a world begin with; made once. */
export async function warmModel(folder: string, name: WorldName): Promise<string> {
  const place = join(folder, "models", name);
  const warm = join(place, "warm");
  if (existsSync(join(warm, "config.json"))) return warm;
  const { options, warmStart: how } = WORLDS[name];
  return warmStart({
    ...COMMON,
    ...options,
    model: { preset: "tiny", tasks: 100, vocabulary: 500 },
    warmStart: how,
    folder: place,
  });
}
