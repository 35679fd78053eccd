/**
 * @file The world of built-in household games: tasks by number, each made when it is asked for.
 */
import { shown } from "../../../network/index.ts";
import {
  EnvironmentError,
  type Json,
  type LocalEnvironment,
  type Task,
  type World,
} from "../../environment.ts";
import { keepingRecent } from "../../recent-cache.ts";
import { requireSplit, taskSet } from "../../tasks.ts";
import { compileGame, type Game } from "../engine/game.ts";
import { GameEnvironment } from "../environment.ts";
import { type ExplorerKind, explorer } from "../explorer/explorer.ts";
import { learnPlaces, type Places } from "../explorer/places.ts";
import { HELP } from "../files/help.ts";
import { TASK_TYPES, type TaskType } from "../files/tasks.ts";
import { shortestPlan } from "../planner/planner.ts";
import { DIFFICULTIES, type Difficulty, type DifficultyName } from "./difficulty.ts";
import { generate, type Parameters } from "./generate.ts";
import { type HouseholdGame, problemOf } from "./problem.ts";

export const HOUSEHOLD_SPLITS = ["train", "valid_seen", "valid_unseen"] as const;

/** As many as the original's validation splits have, about. */
const VALIDATION_GAMES = 200;
const LESSONS = 100;

export interface HouseholdOptions {
  readonly difficulty: DifficultyName;
  /** In place of what the difficulty says. */
  readonly receptacles?: number | undefined;
  readonly objects?: number | undefined;
  readonly closed?: number | undefined;
  readonly types: readonly TaskType[];
  /** How many the train split has. */
  readonly games: number;
  readonly seed: number;
  readonly winReward: number;
  readonly expert: ExplorerKind;
}

export function householdWorld(name: string, options: HouseholdOptions): World<LocalEnvironment> {
  const { receptacles, objects, closed, seed } = options;
  const base: Difficulty = DIFFICULTIES[options.difficulty];
  const difficulty: Difficulty = {
    receptacles: receptacles === undefined ? base.receptacles : [receptacles, receptacles],
    objects: objects === undefined ? base.objects : [objects, objects],
    closed: closed ?? base.closed,
  };
  // The order in which somebody listed the kinds must not make other games.
  const types = TASK_TYPES.filter((type) => options.types.includes(type));
  if (types.length === 0) throw new EnvironmentError(name, 'option "types" names no kind of task.');
  const sizes = {
    train: options.games,
    valid_seen: VALIDATION_GAMES,
    valid_unseen: VALIDATION_GAMES,
  };
  const parameters = (split: Parameters["split"], index: number): Parameters => ({
    ...{ seed, split, index, types, difficulty },
  });
  const gameOf = keepingRecent(
    (task: Task) => JSON.stringify([task.split, task.data]),
    1000,
    (task) => compileHousehold(gameOfParameters(parametersOf(name, task))),
  );
  let places: Places | undefined;
  return {
    name,
    source: `built-in household games, ${options.difficulty}, seed ${seed}`,
    splits: HOUSEHOLD_SPLITS,
    tasks(split) {
      requireSplit(name, split, HOUSEHOLD_SPLITS);
      const known = split as Parameters["split"];
      const type = (index: number): TaskType => generate(parameters(known, index)).wanted.type;
      return taskSet({
        environment: name,
        split,
        length: sizes[known],
        type,
        task: (index): Task => ({
          environment: name,
          split,
          id: `${split}/${options.difficulty}-${seed}-${index}`,
          type: type(index),
          data: { seed, index, types, difficulty: { ...difficulty } } satisfies Json,
        }),
      });
    },
    environment: () => new GameEnvironment({ name, gameOf, winReward: options.winReward }),
    expert(expertSeed) {
      places ??= learnPlaces(
        Array.from({ length: Math.min(LESSONS, options.games) }, (_, index) =>
          compileHousehold(gameOfParameters(parameters("train", index))),
        ),
      );
      return explorer(expertSeed, places, options.expert);
    },
    solution(task) {
      const game = gameOf(task);
      return shortestPlan(game, game.start);
    },
  };
}

export function gameOfParameters(parameters: Parameters): HouseholdGame {
  const { seed, split, index } = parameters;
  return problemOf(generate(parameters), [seed, split, index]);
}

export function compileHousehold({ problem, task }: HouseholdGame): Game {
  return compileGame(problem, { task, help: HELP });
}

/** A task may come from a file that somebody edited. */
function parametersOf(name: string, { split, data, id }: Task): Parameters {
  const given = (data ?? {}) as Partial<Record<string, Json>>;
  const { difficulty, types } = given as { difficulty?: Partial<Difficulty>; types?: unknown };
  const isRange = (range: unknown): boolean =>
    Array.isArray(range) &&
    range.length === 2 &&
    range.every((bound) => Number.isInteger(bound) && bound >= 0 && bound <= 1000) &&
    range[0] <= range[1];
  const right =
    (HOUSEHOLD_SPLITS as readonly string[]).includes(split) &&
    Number.isSafeInteger(given.seed) &&
    Number.isSafeInteger(given.index) &&
    Array.isArray(types) &&
    types.length > 0 &&
    types.every((type) => TASK_TYPES.includes(type)) &&
    isRange(difficulty?.receptacles) &&
    isRange(difficulty?.objects) &&
    typeof difficulty?.closed === "number";
  if (!right)
    throw new EnvironmentError(
      name,
      `the task ${shown(id)} is not one of this world's: its data must be as tasks() makes it.`,
    );
  return { ...(data as unknown as Omit<Parameters, "split">), split: split as Parameters["split"] };
}
