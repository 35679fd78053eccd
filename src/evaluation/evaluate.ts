/**
 * @file Evaluation: a model plays tasks of a split, and what comes out is compared.
 */
import type { Config } from "../config/index.ts";
import type { Task } from "../environments/index.ts";
import { type Collection, collect, deriveSeed, type Trajectory } from "../rollout/index.ts";
import { openPlayer, type Player } from "./player.ts";
import { agentOf, type ConfiguredWorld, limitsOf } from "./setting.ts";

export interface EvaluateOptions {
  readonly config: Config;
  readonly world: ConfiguredWorld;
  /** Without an agent of its own: the one that the configuration describes. */
  readonly player: Pick<Player, "policy"> & Partial<Pick<Player, "agent">>;
  readonly tasks: readonly Task[];
  /** Episodes per task. Default 1. */
  readonly members?: number;
  readonly onEpisode?: (trajectory: Trajectory) => void;
  readonly signal?: AbortSignal | undefined;
}

/** The same seed for every model, and whenever it is done: with equal replies, equal episodes. */
export function evaluate({
  config,
  world,
  player,
  tasks,
  members = 1,
  ...rest
}: EvaluateOptions): Promise<Collection> {
  const { concurrency, retries } = config.env.rollout;
  return collect({
    world: world.world,
    about: world.about,
    agent: player.agent ?? agentOf(config),
    policy: player.policy,
    limits: limitsOf(config, world.turns),
    tasks,
    members,
    seed: deriveSeed(config.trainer.seed, "validation"),
    retries,
    ...(concurrency !== undefined && { concurrency }),
    ...rest,
  });
}

/** The same for the model in a folder, which is opened for it and closed again. */
export async function evaluateModel(
  folder: string,
  options: Omit<EvaluateOptions, "player">,
): Promise<Collection> {
  const player = openPlayer(options.config, folder);
  try {
    return await evaluate({ ...options, player });
  } finally {
    await player.close();
  }
}
