/**
 * @file The world of real game files.
 */
import { EnvironmentError, type LocalEnvironment, type Task, type World } from "../environment.ts";
import { keepingRecent } from "../recent-cache.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import type { Game } from "./engine/game.ts";
import { GameEnvironment } from "./environment.ts";
import { naming } from "./errors.ts";
import { type ExplorerKind, explorer } from "./explorer/explorer.ts";
import { learnPlaces, NO_PLACES, type Places } from "./explorer/places.ts";
import { gameOf } from "./files/game-file.ts";
import type { Library } from "./files/library.ts";
import { OTHER_SPLIT, SPLITS, type TaskType } from "./files/tasks.ts";

/** Compiled games to keep: some 35 KB each. */
const KEPT = 1000;
/** From so many games of the training split the explorer learns where things usually are. */
const LESSONS = 100;

export interface AlfworldOptions {
  readonly types: readonly TaskType[] | undefined;
  readonly winReward: number;
  readonly expert: ExplorerKind;
}

export function alfworldWorld(
  name: string,
  library: Library,
  { types, winReward, expert }: AlfworldOptions,
): World<LocalEnvironment> {
  const entries = types
    ? library.entries.filter(({ type }) => type !== undefined && types.includes(type))
    : library.entries;
  const splits = [...SPLITS, OTHER_SPLIT].filter((split) =>
    entries.some((entry) => entry.split === split),
  );
  if (splits.length === 0)
    throw new EnvironmentError(
      name,
      `${library.path} has no games of the kinds ${types?.join(", ")}.`,
    );

  const load = (id: string): Game => {
    const file = library.read(id);
    return naming(id, () => gameOf(file));
  };
  const game = keepingRecent((id: string) => id, KEPT, load);
  let places: Places | undefined;
  return {
    name,
    source: `${entries.length} games in ${library.path}`,
    splits,
    tasks(split) {
      requireSplit(name, split, splits);
      const chosen = entries.filter((entry) => entry.split === split);
      return taskSet({
        environment: name,
        split,
        length: chosen.length,
        type: (index) => chosen[index]!.type,
        task(index): Task {
          const { id, type } = chosen[index]!;
          return { environment: name, split, id, ...(type !== undefined && { type }) };
        },
      });
    },
    environment: () => new GameEnvironment({ name, gameOf: (task) => game(task.id), winReward }),
    expert(seed) {
      places ??= lessons();
      return explorer(seed, places, expert);
    },
    solution: (task) => library.read(task.id).walkthrough,
  };

  /** Only from the training split: knowing the others would be cheating. */
  function lessons(): Places {
    const train = library.entries.filter(({ split }) => split === "train");
    if (train.length === 0) return NO_PLACES;
    const count = Math.min(LESSONS, train.length);
    const chosen = Array.from(
      { length: count },
      (_, i) => train[Math.floor((i * train.length) / count)]!,
    );
    return learnPlaces(chosen.map(({ id }) => load(id)));
  }
}
