/**
 * @file Episodes that were played ahead, as a file of a checkpoint: a line about all of them, then one for each.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ComposedReward } from "../../rewards/index.ts";
import { fromLine, TrajectoryLineError, toLine } from "../../rollout/index.ts";
import type { AheadEpisodes } from "../loop/ahead.ts";
import type { IterationEpisodes } from "../loop/collect.ts";
import { CheckpointError } from "./files.ts";

export const AHEAD_FILE = "ahead.jsonl";

interface Header
  extends Pick<IterationEpisodes, "account" | "metrics" | "generation" | "failedRewards"> {
  readonly iteration: number;
  /** The ids of those that are trained on, in their order, with their rewards. */
  readonly trained: readonly {
    readonly id: string;
    readonly reward: Omit<ComposedReward, "turns"> & { readonly turns: readonly number[] };
  }[];
  readonly places: readonly (readonly [group: string, place: number])[];
}

export function aheadText({ iteration, episodes }: AheadEpisodes): string {
  const { trajectories, rewards, all, places, account, metrics, generation, failedRewards } =
    episodes;
  const header: Header = {
    iteration,
    trained: trajectories.map(({ id }, i) => ({
      id,
      reward: { ...rewards[i]!, turns: [...rewards[i]!.turns] },
    })),
    places: [...places],
    ...{ account, metrics, generation, failedRewards },
  };
  return [JSON.stringify(header), ...all.map(toLine), ""].join("\n");
}

/** What a header must have for its episodes to be found; the rest is written and read by the same code. */
function problemOf(header: Header | null): string | undefined {
  const { trained, places } = Object(header ?? {}) as Partial<Record<keyof Header, unknown>>;
  const isTrained = (one: Header["trained"][number] | null) =>
    typeof one?.id === "string" &&
    Array.isArray(one.reward?.turns) &&
    one.reward.turns.every((turn) => typeof turn === "number");
  const isPlace = (place: unknown) => Array.isArray(place) && place.length === 2;
  if (!Array.isArray(trained) || !trained.every(isTrained))
    return 'expected a list "trained" of ids with rewards in its first line';
  if (!Array.isArray(places) || !places.every(isPlace))
    return 'expected a list "places" of pairs in its first line';
  return undefined;
}

/** Undefined: nothing was. */
export function readAhead(checkpoint: string): AheadEpisodes | undefined {
  const file = join(checkpoint, AHEAD_FILE);
  if (!existsSync(file)) return undefined;
  const [first = "", ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  try {
    const header = JSON.parse(first) as Header;
    const wrong = problemOf(header);
    if (wrong) throw new TrajectoryLineError(wrong);
    // Checkpoints of earlier versions do not say whose rewards failed.
    const { iteration, trained, places, account, metrics, generation, failedRewards = [] } = header;
    const all = lines.map(fromLine);
    const byId = new Map(all.map((trajectory) => [trajectory.id, trajectory]));
    const trajectories = trained.map(({ id, reward }) => {
      const found = byId.get(id);
      if (!found) throw new TrajectoryLineError(`there is no episode ${id}`);
      return { ...found, rewards: reward.breakdown };
    });
    const rewards = trained.map(({ reward }) => ({
      ...reward,
      turns: Float64Array.from(reward.turns),
    }));
    return {
      iteration,
      episodes: {
        ...{ trajectories, rewards, all, places: new Map(places), account, metrics, generation },
        failedRewards,
        baselines: undefined,
      },
    };
  } catch (error) {
    throw new CheckpointError(`${file}: ${(error as Error).message}`);
  }
}
