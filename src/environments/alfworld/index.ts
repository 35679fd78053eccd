/**
 * @file ALFWorld: household tasks in text. Real game files, and a generator of our own games of the
 * same form.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineWorld } from "../define.ts";
import { EnvironmentError } from "../environment.ts";
import { EXPLORERS, type ExplorerKind } from "./explorer/explorer.ts";
import { TASK_TYPES, type TaskType } from "./files/tasks.ts";
import { DIFFICULTIES, type DifficultyName } from "./household/difficulty.ts";
import type { Renaming } from "./rearrange.ts";

const types = {
  kind: "list",
  choices: TASK_TYPES,
  about: "the kinds of task to play; default: all",
} as const;

const winReward = {
  kind: "number",
  default: 10,
  about: "the reward of the step that solves the task",
} as const;

const expert = {
  kind: "text",
  choices: EXPLORERS,
  default: "whimsical",
  about:
    "how the expert explores: whimsical looks into places that are equally likely in an order of its " +
    "own; orderly as the room lists them, by what texts say alone (for agents that are shown no commands)",
} as const;

const roomOptions = {
  difficulty: {
    kind: "text",
    choices: Object.keys(DIFFICULTIES),
    default: "medium",
    about: "how much there is in a room, and how much of it is behind doors",
  },
  receptacles: {
    kind: "number",
    integer: true,
    minimum: 5,
    maximum: 60,
    about: "how many receptacles a room has, in place of what the difficulty says",
  },
  objects: {
    kind: "number",
    integer: true,
    minimum: 2,
    maximum: 200,
    about: "how many objects a room has",
  },
  closed: {
    kind: "number",
    minimum: 0,
    maximum: 1,
    about: "the share of receptacles with doors whose doors are closed",
  },
  games: {
    kind: "number",
    integer: true,
    minimum: 1,
    maximum: 100_000_000,
    default: 10_000,
    about: "how many built-in games the split train has",
  },
  seed: {
    kind: "number",
    integer: true,
    minimum: 0,
    default: 0,
    about: "another seed makes other built-in rooms and games",
  },
} as const;

/** What an agent is told of the household before anything else. */
const BRIEFING =
  "You are in a room of a household. You walk to places, open and close them, take and put things, " +
  "use, examine, clean, heat and cool them; what you have not looked at, you do not see.";

export const household = defineWorld({
  name: "household",
  summary: "household tasks in rooms of our own: any number of games, nothing to download",
  briefing: BRIEFING,
  maximumSteps: 50,
  types: TASK_TYPES,
  options: { types, winReward, expert, ...roomOptions },
  open: async (options) =>
    (await import("./household/world.ts")).householdWorld("household", {
      ...options,
      difficulty: options.difficulty as DifficultyName,
      expert: options.expert as ExplorerKind,
      types: (options.types as readonly TaskType[] | undefined) ?? TASK_TYPES,
    }),
});

/** Nothing where nothing is called otherwise. */
function renamingOf(share: number, alike: readonly string[] = []): Renaming | undefined {
  if (share === 0) return undefined;
  const groups = alike.map((names) => names.split(/\s+/).filter((name) => name !== ""));
  if (!groups.some((names) => names.length > 1))
    throw new EnvironmentError(
      "alfworld",
      "renamed needs to know what is alike: groups of kinds of furniture, with spaces between their names, in the " +
        "option alike=[NAME NAME NAME,NAME NAME].",
    );
  return { share, alike: groups };
}

/** Where `data get alfworld` puts the games unless told otherwise. */
export const DEFAULT_DATA_FOLDER = join("data", "alfworld");

export const alfworld = defineWorld({
  name: "alfworld",
  aliases: ["alfworld/AlfredTWEnv", "AlfredTWEnv"],
  summary: "ALFWorld's household tasks, in its own game files or in built-in ones",
  briefing: BRIEFING,
  maximumSteps: 50,
  types: TASK_TYPES,
  options: {
    data: {
      kind: "text",
      about:
        'a folder or archive of game.tw-pddl files, or "builtin" for the games of the world ' +
        `"household"; default: $ALFWORLD_DATA or ${DEFAULT_DATA_FOLDER} where there is one, else builtin`,
    },
    types,
    winReward,
    expert,
    unseenRooms: {
      kind: "number",
      integer: true,
      minimum: 0,
      default: 0,
      about:
        "how many rooms (floor plans) of each kind to set aside from the training games: their games are the " +
        'split "unseen_rooms"; only with game files',
    },
    variants: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 1_000_000,
      default: 1,
      about:
        "in how many rooms each training game is played: its own and others made from it, with other furniture, things " +
        "in other places and numbered anew; only with game files",
    },
    renamed: {
      kind: "number",
      minimum: 0,
      maximum: 1,
      default: 0,
      about:
        "in those made rooms, the share of kinds of furniture that are called otherwise, by other names of their group " +
        '(option "alike") and never by one that the task names: who knows rooms by heart has to read what is there',
    },
    alike: {
      kind: "list",
      about:
        "for renamed: groups of kinds of furniture of which one could as well be another, names with spaces between",
    },
    ...roomOptions,
  },
  async open({ data = dataFolder(), unseenRooms, variants, renamed, alike, ...options }) {
    const chosen = options.types as readonly TaskType[] | undefined;
    if (data !== "builtin") {
      const { alfworldWorld } = await import("./world.ts");
      const { openLibrary } = await import("./files/library.ts");
      const wishes = {
        types: chosen,
        winReward: options.winReward,
        expert: options.expert as ExplorerKind,
        unseenRooms,
        variants,
        renaming: renamingOf(renamed, alike),
      };
      return alfworldWorld("alfworld", await openLibrary(data), wishes);
    }
    const { householdWorld } = await import("./household/world.ts");
    return householdWorld("alfworld", {
      ...options,
      difficulty: options.difficulty as DifficultyName,
      expert: options.expert as ExplorerKind,
      types: chosen ?? TASK_TYPES,
    });
  },
});

/** The original's own variable comes first. */
function dataFolder(): string {
  const candidates = [process.env.ALFWORLD_DATA, DEFAULT_DATA_FOLDER];
  return candidates.find((folder) => folder && existsSync(folder)) ?? "builtin";
}
