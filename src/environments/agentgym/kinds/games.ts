/**
 * @file The kinds whose servers play games: environments go by "id", and what is wrong is answered with
 * {"error": …} and status 200.
 */
import type { Json, StepResult } from "../../environment.ts";
import type { Kind } from "../kind.ts";
import { factsIn, numberIn, recordOf, textIn, textsOf } from "../shape.ts";
import { actions, detail, OBJECT, observation, PLAIN, SHARE } from "./common.ts";

/** Household tasks. */
export const alfworld: Kind = {
  ...OBJECT,
  name: "alfworld",
  item: "alfworld",
  index: { field: "game" },
  resetFields: { world_type: "Text" },
  refusesFinished: true,
  reward: { ...PLAIN, winReward: 10 },
  listsAllActions: true,
  readReset: (answer) => ({
    text: textIn(answer, "observation"),
    ...listedActions(answer),
    info: factsIn(answer, "task_type"),
  }),
  readStep: (answer) => ({ ...OBJECT.readStep(answer), ...listedActions(answer) }),
  writeReset: (id, { task, observation }) => ({
    id,
    observation: withoutBanner(observation.text),
    available_actions: observation.admissible ?? [],
    // The folders of the task and of its trial.
    task_type: task.id
      .split("/")
      .filter((part) => !part.endsWith(".tw-pddl"))
      .slice(-2)
      .join("/"),
  }),
  writeStep: ({ observation, won, done }) => ({
    observation: observation.text,
    reward: won ? 1 : 0,
    available_actions: observation.admissible ?? [],
    done,
  }),
  questions: {
    observation: ({ observation }) => withoutBanner(observation.text),
    available_actions: actions,
    detail,
  },
};

function listedActions(answer: unknown): { admissible?: readonly string[] } {
  const { available_actions: listed } = recordOf(answer);
  return listed === undefined ? {} : { admissible: textsOf(listed) };
}

/** AgentGym leaves the first paragraph out, and the empty lines. */
export function withoutBanner(text: string): string {
  const [first, ...rest] = text.split("\n\n");
  return first?.startsWith("-=") ? rest.join("\n") : text;
}

/**
 * Crafting from recipes. Also the kind as which worlds are served that AgentGym does not know: its answers have the world's own
 * rewards. Our server adds the actions that are admissible, where a world knows them.
 */
export const textcraft: Kind = {
  ...OBJECT,
  name: "textcraft",
  item: "textcraft",
  index: { field: "data_idx" },
  wraps: true,
  createsBegun: "told",
  closes: true,
  reward: PLAIN,
  keepsActions: true,
  readReset(answer) {
    const text = textIn(answer, "observation");
    const recipes = text.match(/^craft .+ using .+$/gm);
    const admissible = recipes && textsOf(["inventory", "get <count> <item>", ...recipes]);
    return { text, ...(admissible && { admissible }), ...listedActions(answer), info: {} };
  },
  readStep: (answer) => ({ ...OBJECT.readStep(answer), ...listedActions(answer) }),
  writeReset: (id, { observation }) => ({
    ...{ id, observation: observation.text, done: false, reward: 0 },
    ...(observation.admissible && { available_actions: observation.admissible }),
  }),
  writeStep: ({ observation, reward, done }) => ({
    ...{ observation: observation.text, reward, done },
    ...(observation.admissible && { available_actions: observation.admissible }),
  }),
  questions: { observation, detail },
};

/** Errands in a grid of rooms. */
export const babyai: Kind = {
  ...OBJECT,
  name: "babyai",
  item: "babyai",
  index: { field: "data_idx" },
  refusesFinished: true,
  closes: true,
  // Its best is less than 1: each step takes something off.
  reward: { ...SHARE, won: (value) => value > 0 },
  listsAllActions: true,
  readReset: (answer) => withListedActions(OBJECT.readReset(answer)),
  readStep: (answer) =>
    withListedActions({ ...OBJECT.readStep(answer), value: numberIn(answer, "score") }),
  writeReset: (_, { observation }) => ({
    ...{ observation: observation.text, reward: 0, score: 0, deleted: false, done: false },
  }),
  writeStep: scored(1),
  questions: { observation: (episode) => ({ observation: episode.observation.text }) },
};

/** Its texts end with a line `Available actions: ["turn left", …]`. */
function withListedActions<Said extends { readonly text: string }>(said: Said) {
  const list = /^Available actions: (\[.*\])\s*$/m.exec(said.text)?.[1];
  try {
    return list === undefined ? said : { ...said, admissible: textsOf(JSON.parse(list)) };
  } catch {
    return said; // Only for people, then.
  }
}

/** Answers that have the reward of the step and the score of the episode, of at most `best`. */
function scored(best: number) {
  return ({ observation, reward, score, done }: StepResult): Json => ({
    observation: observation.text,
    reward: reward * best,
    score: score * best,
    done,
  });
}

/** Experiments of a school's science lessons. */
export const sciworld: Kind = {
  ...OBJECT,
  name: "sciworld",
  item: "sciworld",
  index: { field: "data_idx" },
  refusesFinished: true,
  closes: true,
  reward: { ...SHARE, best: 100, won: (value) => value >= 100 },
  actions: {
    route: "action_hint",
    when: "episode",
    // "open OBJ" has a blank for a thing.
    read: (answer) =>
      textsOf(recordOf(answer).possible_actions).map((action) =>
        action.replace(/\bOBJ\b/g, "<object>"),
      ),
  },
  readReset: (answer) => ({
    text: `${textIn(answer, "task_description")}\n${textIn(answer, "observation")}`,
    info: factsIn(answer, "task_name", "var_num"),
  }),
  readStep: (answer) => ({ ...OBJECT.readStep(answer), value: numberIn(answer, "score") }),
  writeReset: (_, { task, index, observation }) => ({
    task_name: task.type ?? task.environment,
    var_num: index,
    task_description: observation.instruction ?? "",
    observation: observation.text,
    ...{ reward: 0, score: 0, deleted: false, done: false },
  }),
  writeStep: scored(100),
  questions: {
    observation,
    detail,
    task_description: ({ observation }) => observation.instruction ?? "",
    action_hint: (episode) => ({ possible_actions: actions(episode), possible_objects: [] }),
  },
};

/** The way through a maze. */
export const maze: Kind = {
  ...OBJECT,
  name: "maze",
  item: "lmrlgym_maze",
  prefix: "/maze",
  index: { field: "game" },
  refusesFinished: true,
  reward: PLAIN,
  actions: { route: "available_actions", when: "episode", read: textsOf },
  listsAllActions: true,
  instruction:
    "Find the way through the maze to the goal in as few steps as you can. A position is a row, " +
    "counted downwards, and a column, counted to the right. A wall stops you.",
  constants: { available_actions: ["move left", "move right", "move up", "move down"] },
  questions: { observation, detail },
};

/** A word of five letters to be guessed. */
export const wordle: Kind = {
  ...OBJECT,
  name: "wordle",
  item: "lmrlgym_wordle",
  prefix: "/wordle",
  index: { field: "seed" },
  wraps: true,
  // Clients ask for the words before they reset.
  createsBegun: "untold",
  refusesFinished: true,
  reward: PLAIN,
  // At the beginning that is every word; a guess has spaces between its letters.
  actions: {
    route: "filtered_vocab",
    when: "episode",
    read: (answer) => textsOf(answer).map((word) => Array.from(word.replaceAll(" ", "")).join(" ")),
  },
  instruction:
    "Guess the hidden word of five letters in at most six attempts. The answer has one letter for " +
    "each of yours: g when it is in that place of the word, y when it is elsewhere in it, b when it " +
    'is not in it. A guess is written with spaces between its letters, such as "s t o n e".',
  writeReset: (id, { observation }) => ({ id, observation: observation.text }),
  questions: {
    observation,
    // All of the words, which our world lists in its first observation, one in a line.
    filtered_vocab: ({ first }) => first.text.match(/^[a-z]{5}$/gm) ?? [],
    detail,
  },
};
