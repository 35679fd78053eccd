/**
 * @file Evaluation: a player plays tasks of a split. The same seed for every model, and whenever it is done:
 * with equal replies, equal episodes.
 */
import type { Task } from "../environments/index.ts";
import { type Collection, collect, type Trajectory } from "../rollout/index.ts";
import { deriveSeed } from "../torch/index.ts";
import type { PlayOptions } from "./options.ts";
import { folderPlayer, type Player } from "./player.ts";
import type { RunWorld } from "./world.ts";

export interface EvaluateOptions {
  readonly play: PlayOptions;
  readonly world: RunWorld;
  readonly player: Pick<Player, "policy" | "agent">;
  readonly tasks: readonly Task[];
  /** Episodes per task. Default 1. */
  readonly members?: number;
  readonly onEpisode?: (trajectory: Trajectory) => void;
  readonly signal?: AbortSignal | undefined;
  /** Aborted: episodes are played to their end, but none that failed is begun again. */
  readonly ending?: AbortSignal | undefined;
}

export function evaluate({
  play,
  world,
  player,
  members = 1,
  ...rest
}: EvaluateOptions): Promise<Collection> {
  return collect({
    world: world.world,
    about: world.about,
    agent: player.agent,
    policy: player.policy,
    limits: { ...play.limits, turns: world.turns },
    members,
    seed: deriveSeed(play.seed, "validation"),
    retries: play.retries,
    search: play.search,
    ...(play.concurrency !== undefined && { concurrency: play.concurrency }),
    ...rest,
  });
}

/** The same for the model in a folder, which is opened for it and closed again. */
export async function evaluateFolder(
  folder: string,
  options: Omit<EvaluateOptions, "player">,
): Promise<Collection> {
  const player = folderPlayer(folder, options.play);
  try {
    return await evaluate({ ...options, player });
  } finally {
    await player.close();
  }
}
