/**
 * @file The world of real game files.
 */
import { EnvironmentError, type LocalEnvironment, type Task, type World } from "../environment.ts";
import { seededRandom } from "../random.ts";
import { keepingRecent } from "../recent-cache.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { compileGame, type Game } from "./engine/game.ts";
import { GameEnvironment } from "./environment.ts";
import { naming } from "./errors.ts";
import { type ExplorerKind, explorer } from "./explorer/explorer.ts";
import { learnPlaces, NO_PLACES, type Places } from "./explorer/places.ts";
import type { Library } from "./files/library.ts";
import { OTHER_SPLIT, SPLITS, type TaskType } from "./files/tasks.ts";
import { UNSEEN_ROOMS, withUnseenRooms } from "./files/unseen-rooms.ts";
import { readProblem } from "./pddl/problem.ts";
import { shortestPlan } from "./planner/planner.ts";
import { type Renaming, rearranged } from "./rearrange.ts";

/** Between a game's path and the number of its variant. */
const VARIANT = "#";
/** Compiled games to keep: some 35 KB each. */
const KEPT = 1000;
/** From so many games of the training split the explorer learns where things usually are. */
const LESSONS = 100;

export interface AlfworldOptions {
  readonly types: readonly TaskType[] | undefined;
  readonly winReward: number;
  readonly expert: ExplorerKind;
  /** How many rooms of each kind are set aside from the training games. */
  readonly unseenRooms: number;
  /** In how many rooms every training game is: its own, and others made from it. */
  readonly variants: number;
  /** In the rooms made from others; without it furniture is called what it is. */
  readonly renaming?: Renaming | undefined;
}

export function alfworldWorld(
  name: string,
  library: Library,
  { types, winReward, expert, unseenRooms, variants, renaming }: AlfworldOptions,
): World<LocalEnvironment> {
  const all = withUnseenRooms(name, library.entries, unseenRooms);
  const entries = types
    ? all.filter(({ type }) => type !== undefined && types.includes(type))
    : all;
  const splits = [...SPLITS, UNSEEN_ROOMS, OTHER_SPLIT].filter((split) =>
    entries.some((entry) => entry.split === split),
  );
  if (splits.length === 0)
    throw new EnvironmentError(
      name,
      `${library.path} has no games of the kinds ${types?.join(", ")}.`,
    );

  const load = (id: string): Game => {
    const [path, variant] = id.split(VARIANT);
    const file = library.read(path!);
    return naming(id, () => {
      const problem = readProblem(file.problem);
      const room =
        variant === undefined
          ? problem
          : rearranged(problem, seededRandom("rearranged", id), renaming);
      return compileGame(room, file);
    });
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
      const rooms = split === "train" ? variants : 1;
      const entryAt = (index: number) => chosen[index % chosen.length]!;
      return taskSet({
        environment: name,
        split,
        length: chosen.length * rooms,
        variants: rooms,
        type: (index) => entryAt(index).type,
        task(index): Task {
          const { id: path, type } = entryAt(index);
          const variant = Math.floor(index / chosen.length);
          const id = variant === 0 ? path : `${path}${VARIANT}${variant}`;
          return { environment: name, split, id, ...(type !== undefined && { type }) };
        },
      });
    },
    environment: () => new GameEnvironment({ name, gameOf: (task) => game(task.id), winReward }),
    expert(seed) {
      places ??= lessons();
      return explorer(seed, places, expert);
    },
    solution(task) {
      if (!task.id.includes(VARIANT)) return library.read(task.id).walkthrough;
      const compiled = game(task.id);
      return shortestPlan(compiled, compiled.start);
    },
  };

  /** Only from the training split: knowing the others would be cheating. */
  function lessons(): Places {
    const train = all.filter(({ split }) => split === "train");
    if (train.length === 0) return NO_PLACES;
    const count = Math.min(LESSONS, train.length);
    const chosen = Array.from(
      { length: count },
      (_, i) => train[Math.floor((i * train.length) / count)]!,
    );
    return learnPlaces(chosen.map(({ id }) => load(id)));
  }
}
