/**
 * @file The world of TextCraft: one task for each thing that can be crafted.
 */
import { shown } from "../../network/index.ts";
import {
  EnvironmentError,
  type Json,
  type LocalEnvironment,
  type Task,
  type World,
} from "../environment.ts";
import { localWorld } from "../functions/world.ts";
import { seededRandom, stableHash } from "../random.ts";
import type { RecipeBook } from "./book.ts";
import { craftingExpert } from "./expert.ts";
import { shortestPlan } from "./planner.ts";
import { nameOf } from "./recipe.ts";
import { act, type Inventory, listed } from "./rules.ts";
import { type TaskText, taskText } from "./task-text.ts";

export interface TextCraftOptions {
  readonly book: RecipeBook;
  readonly source: string;
  /** How many recipes that do not help a task lists at most. */
  readonly distractors: number;
  /** Only goals of these depths. */
  readonly minimumDepth: number;
  readonly maximumDepth: number;
  readonly seed: number;
  readonly winReward: number;
}

const FORMS = [
  "inventory",
  "get <count> <item>",
  "craft <count> <item> using <count> <ingredient>, …",
];

interface State {
  readonly goal: string;
  readonly task: TaskText;
  readonly inventory: Inventory;
}

export function textcraftWorld(options: TextCraftOptions): World<LocalEnvironment> {
  const { book, seed, distractors } = options;
  const goals = book.craftable.filter((id) => {
    const depth = book.depth(id);
    return depth >= options.minimumDepth && depth <= options.maximumDepth;
  });
  if (goals.length === 0)
    throw new EnvironmentError(
      "textcraft",
      `nothing has a depth of ${options.minimumDepth} to ${options.maximumDepth}; the deepest here is ${book.depth(book.craftable.at(-1)!)}.`,
    );
  const tasks = (split: string, chosen: readonly string[]) =>
    chosen.map((goal) => ({
      id: `${split}/${nameOf(goal).replaceAll(" ", "_")}-${seed}`,
      type: `depth_${book.depth(goal)}`,
      data: { goal, seed, distractors } satisfies Json,
    }));
  // One thing in five, by its name, is never a goal in training.
  const isHeldOut = (goal: string): boolean => stableHash("textcraft", goal) % 5 === 0;
  return localWorld<State>(
    {
      name: "textcraft",
      source: options.source,
      splits: {
        train: tasks(
          "train",
          goals.filter((goal) => !isHeldOut(goal)),
        ),
        test: tasks("test", goals.filter(isHeldOut)),
        all: tasks("all", goals),
      },
      start(task) {
        const { goal, seed, distractors } = dataOf(book, task);
        const random = seededRandom("textcraft", goal, seed);
        return { goal, task: taskText(book, goal, distractors, random), inventory: [] };
      },
      intro: ({ task }) => ({ text: task.text, instruction: task.instruction }),
      // Forms only: to say what can be crafted now would be to do half of the task.
      actions: () => FORMS,
      act(state, action) {
        const { text, inventory, item, understood } = act(book, state.inventory, action);
        const won = item === state.goal;
        return {
          text,
          ...(inventory !== state.inventory && { state: { ...state, inventory } }),
          won,
          reward: won ? options.winReward : 0,
          admissible: understood,
          // What is carried is all that matters for what comes; the order does not.
          anchor: listed([...inventory].sort(([a], [b]) => (a < b ? -1 : 1))),
        };
      },
      solution: ({ goal, inventory }) => shortestPlan(book, inventory, goal),
      plan: ({ goal, inventory }) => shortestPlan(book, inventory, goal),
      expert: craftingExpert,
    },
    {},
  );
}

/** A task may come from a file that somebody edited, or from another set of recipes. */
function dataOf(book: RecipeBook, { id, data }: Task) {
  const { goal, seed, distractors } = (data ?? {}) as Partial<Record<string, Json>>;
  const isCount = (value: unknown): value is number =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  if (typeof goal !== "string" || !isCount(seed) || !isCount(distractors))
    throw new EnvironmentError(
      "textcraft",
      `the task ${shown(id)} is not one of this world's: its data must be as tasks() makes it.`,
    );
  if (!book.recipes.has(goal))
    throw new EnvironmentError(
      "textcraft",
      `the task "${id}" is about ${goal}, which no recipe here makes. Was it made with other recipes?`,
    );
  return { goal, seed, distractors };
}
