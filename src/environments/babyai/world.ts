/**
 * @file The world of BabyAI: its tasks, and an episode over the text game.
 */
import { shown } from "../../network/index.ts";
import {
  EnvironmentError,
  type Json,
  type LocalEnvironment,
  type Task,
  type TaskSet,
  type World,
} from "../environment.ts";
import { localWorld } from "../functions/world.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { babyaiExplorer } from "./explorer.ts";
import { generateLevel } from "./level/generate.ts";
import { LEVELS, type Level } from "./level/levels.ts";
import { solved } from "./planner/planner.ts";
import { begunGame, type Game } from "./play/game.ts";
import { commandsIn, described, turned } from "./play/turn.ts";

export interface BabyAiOptions {
  readonly tasks: "own" | "agentgym";
  readonly levels: readonly string[] | undefined;
  readonly games: number;
  readonly seed: number;
  readonly list: boolean;
}

const TEST_GAMES = 390;
/** Its box can only be opened by a low-level action for which there is no command. */
const NOT_IN_TEXT = "KeyInBox";
/** Seeds of a task: the first whose game the planner wins is played. */
const SEEDS = 32;
/** From here on seeds belong to tests; AgentGym's numbers, and training, have smaller ones. */
const TEST_SEEDS = 2 ** 31;
const SEED_LIMIT = 2 ** 32;

interface State {
  readonly game: Game;
  readonly goal: string;
  /** Rewards so far; success that came too late gives one without ending the episode, as in the original. */
  readonly score: number;
}

export function babyaiWorld(options: BabyAiOptions): World<LocalEnvironment> {
  const isOwn = options.tasks === "own";
  const lengths: Readonly<Record<string, number>> = isOwn
    ? { train: options.games, test: TEST_GAMES }
    : { train: options.games };
  const shown = (game: Game): string =>
    options.list
      ? `${described(game)}\nAvailable actions: ${listed(commandsIn(game).possible.keys())}`
      : described(game);
  const world = localWorld<State>(
    {
      name: "babyai",
      source: isOwn
        ? `generated games of ${levelsOf(options).length} levels, seed ${options.seed}`
        : "AgentGym's games by number",
      splits: lengths,
      start,
      intro: ({ game, goal }) => `Your goal: ${goal}\n${shown(game)}`,
      actions: ({ game }) => [...commandsIn(game).possible.keys()],
      act(state, action) {
        const turn = turned(state.game, action);
        const { game, reward, isOver } = turn;
        const score = Math.min(1, state.score + reward);
        const list = options.list
          ? `\nAvailable actions: ${listed(commandsIn(game).possible.keys())}`
          : "";
        return {
          ...{ text: turn.text + list, reward, score, won: isOver },
          state: { ...state, game, score },
        };
      },
      solution: ({ game }) => solved(game),
      expert: babyaiExplorer,
    },
    {},
  );
  const tasks = (split: string): TaskSet => {
    requireSplit("babyai", split, Object.keys(lengths));
    return isOwn
      ? ownTasks(split, lengths[split]!, options)
      : numberedTasks(split, lengths[split]!);
  };
  return { ...world, tasks };
}

function listed(actions: Iterable<string>): string {
  return `[${[...actions].map((action) => `"${action}"`).join(", ")}]`;
}

function levelsOf({ levels }: BabyAiOptions): readonly Level[] {
  return LEVELS.filter(({ name }) => (levels ? levels.includes(name) : name !== NOT_IN_TEXT));
}

/** Level by level in turn. Which seed a task has is found when it is asked for. */
function ownTasks(split: string, length: number, options: BabyAiOptions): TaskSet {
  const levels = levelsOf(options);
  const levelOf = (index: number): Level => levels[index % levels.length]!;
  const first = split === "test" ? TEST_SEEDS : 0;
  return taskSet({
    ...{ environment: "babyai", split, length },
    type: (index) => levelOf(index).name,
    task(index) {
      const level = levelOf(index);
      const from = first + (options.seed * 1_000_000 + index) * SEEDS;
      let seed = from;
      for (let tries = 1; tries < SEEDS; tries++) {
        const { game } = begun(level, seed, false);
        if (level.name === NOT_IN_TEXT || solved(game)) break;
        seed = from + tries;
      }
      return {
        ...{ environment: "babyai", split, id: `${split}/${level.name}-${options.seed}-${index}` },
        ...{ type: level.name, data: { level: level.name, seed } },
      };
    },
  });
}

function numberedTasks(split: string, length: number): TaskSet {
  return taskSet({
    ...{ environment: "babyai", split, length },
    type: (number) => LEVELS[number % LEVELS.length]!.name,
    task: (number) => ({
      ...{ environment: "babyai", split, id: `${split}/babyai_${number}` },
      ...{ type: LEVELS[number % LEVELS.length]!.name, data: { number } },
    }),
  });
}

function begun(level: Level, seed: number, isOriginal: boolean): State {
  const beginning = generateLevel(level, seed, {
    keysMayBeLockedIn: isOriginal,
    resets: isOriginal ? 2 : 1,
  });
  const goal = beginning.missionText.replaceAll("then", "and").replaceAll("after you", "and");
  return { game: begunGame(beginning), goal, score: 0 };
}

/** A task may come from a file that somebody edited. */
function start({ id, data }: Task): State {
  const given = (data ?? {}) as Partial<Record<string, Json>>;
  const isSeed = (value: Json | undefined): value is number =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) < SEED_LIMIT;
  if (isSeed(given.number)) {
    const level = LEVELS[given.number % LEVELS.length]!;
    return begun(level, Math.floor(given.number / LEVELS.length), true);
  }
  const level = LEVELS.find(({ name }) => name === given.level);
  if (level && isSeed(given.seed)) return begun(level, given.seed, false);
  throw new EnvironmentError(
    "babyai",
    `the task ${shown(id)} is not one of this world's: its data must be as tasks() makes it.`,
  );
}
