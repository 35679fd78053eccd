/**
 * @file A world that was opened, as the rest of the program sees it: nobody waits for it without end, what it
 * throws is an EnvironmentError, and its tasks are tasks. (What environments give is checked step by step,
 * where episodes are played.)
 */
import {
  type Environment,
  EnvironmentError,
  type Task,
  type TaskSet,
  type World,
} from "../environment.ts";
import { type Awaitable, after, isThenable } from "../functions/call.ts";
import { taskSet } from "../tasks.ts";
import { checkedObservation, checkedResult } from "./checked.ts";
import { type JsonBounds, JsonProblem, jsonCopy } from "./json-copy.ts";
import { messageOf, shown } from "./message.ts";
import { onBehalfOf, warnOfFault } from "./stray-faults.ts";
import { type TimeLimit, TimeLimitError, within } from "./within.ts";

/** Seconds to open a world, and to list its tasks: data may have to be read. */
export const OPEN_SECONDS = 600;
/** Seconds for a world's solution of a task, and for closing it. */
const SOLUTION: TimeLimit = { seconds: 120 };
const CLOSING: TimeLimit = { seconds: 30 };
const TASK: JsonBounds = { characters: 10_000_000, values: 1_000_000 };

/** Calls a world; what it throws, rejects with or does not answer is an EnvironmentError of that name. */
export function calling<Value>(
  name: string,
  what: string,
  limit: TimeLimit,
  run: () => Awaitable<Value>,
): Awaitable<Value> {
  const failed = (error: unknown): never => {
    if (error instanceof EnvironmentError) throw error;
    // Who was late is in that error's sentence already.
    const place = error instanceof TimeLimitError ? "" : `${what} failed: `;
    throw new EnvironmentError(name, `${place}${messageOf(error)}`, { cause: error });
  };
  // What it starts now, and does not wait for, is no episode's.
  const owner = { fault: (sentence: string) => warnOfFault(`${name}: ${sentence}`) };
  try {
    const value = onBehalfOf(owner, run);
    // Without promises where the world gives none.
    return isThenable(value) ? within(limit, what, value).catch(failed) : value;
  } catch (error) {
    return failed(error);
  }
}

export function openLimit(seconds = OPEN_SECONDS): TimeLimit {
  return { seconds, setting: "env.open_seconds" };
}

/** `name`: by which it was opened, for messages about a world that has none. */
export function boundedWorld(name: string, given: World, seconds?: number): World {
  const problem = problemOf(given);
  if (problem !== undefined)
    throw new EnvironmentError(name, `open() gave ${problem}, expected a world.`);
  const { source, tools } = given;
  return {
    name: given.name,
    ...(source !== undefined && { source }),
    splits: [...given.splits],
    ...(tools && { tools }),
    tasks: (split) =>
      after(
        calling(name, "tasks()", openLimit(seconds), () => given.tasks(split)),
        (set) => checkedTasks(name, split, set),
      ),
    environment: () => given.environment(),
    ...(given.expert && { expert: (seed: number) => given.expert!(seed) }),
    ...(given.distantExpert && { distantExpert: (seed: number) => given.distantExpert!(seed) }),
    ...(given.program && { program: given.program }),
    ...(given.solution && {
      solution: (task: Task) => calling(name, "solution()", SOLUTION, () => given.solution!(task)),
    }),
    ...(given.close && {
      close: () => calling(name, "close()", CLOSING, () => given.close!()),
    }),
  };
}

function problemOf(world: unknown): string | undefined {
  if (typeof world !== "object" || world === null) return shown(world);
  const { name, splits, tasks, environment } = world as Partial<World>;
  if (typeof name !== "string") return "something without a name";
  const isList = Array.isArray(splits) && splits.every((split) => typeof split === "string");
  if (!isList || splits.length === 0) return "something without splits (a list of names)";
  if (typeof tasks !== "function") return "something without tasks()";
  if (typeof environment !== "function") return "something without environment()";
  return undefined;
}

function checkedTasks(name: string, split: string, set: unknown): TaskSet {
  const { length, task, type, variants } = (set ?? {}) as Partial<TaskSet>;
  if (!Number.isSafeInteger(length) || length! < 0 || typeof task !== "function")
    throw new EnvironmentError(
      name,
      `tasks("${split}") gave ${shown(set)} of length ${shown(length)}, expected a task set ` +
        "(taskSet, taskList).",
    );
  const given = set as TaskSet;
  const limit: TimeLimit = { seconds: Infinity };
  return taskSet({
    environment: given.environment,
    split: given.split,
    length: length!,
    variants,
    task: (index) => checkedTask(name, split, index, () => given.task(index)),
    ...(typeof type === "function" && {
      type: (index: number) =>
        calling(name, `type(${index})`, limit, () => given.type(index)) as string | undefined,
    }),
  });
}

function checkedTask(name: string, split: string, index: number, make: () => Task): Task {
  const place = `task ${index} of the split "${split}"`;
  const fail = (reason: string, cause?: unknown): never => {
    throw new EnvironmentError(name, `${place} ${reason}`, { cause });
  };
  let task: unknown;
  try {
    task = jsonCopy(make(), TASK);
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    if (error instanceof JsonProblem) return fail(`cannot be stored: expected ${error.message}.`);
    return fail(`cannot be made: ${messageOf(error)}`, error);
  }
  const { id, environment, split: own, type, difficulty, seed } = (task ?? {}) as Partial<Task>;
  if (typeof task !== "object" || task === null)
    return fail(`is ${shown(task)}, expected a task: { environment, split, id }.`);
  for (const [field, value] of Object.entries({ id, environment, split: own }))
    if (typeof value !== "string" || value === "")
      return fail(`has the ${field} ${shown(value)}, expected a text.`);
  if (type !== undefined && typeof type !== "string")
    return fail(`has the type ${shown(type)}, expected a text.`);
  if (difficulty !== undefined && typeof difficulty !== "number")
    return fail(`has the difficulty ${shown(difficulty)}, expected a number.`);
  if (seed !== undefined && typeof seed !== "number")
    return fail(`has the seed ${shown(seed)}, expected a number.`);
  return task as Task;
}

/** An environment whose answers are checked, and waited for no longer than `limit`; for whoever plays by hand. */
export function boundedEnvironment(
  name: string,
  given: Environment,
  limit: TimeLimit = { seconds: given.timed ? Infinity : 120 },
): Environment {
  return {
    reset: (task) =>
      after(
        calling(name, "reset()", limit, () => given.reset(task)),
        (seen) => checkedObservation(name, seen, "reset()"),
      ),
    step: (action) =>
      after(
        calling(name, "step()", limit, () => given.step(action)),
        (result) => checkedResult(name, result),
      ),
    ...(given.clone && { clone: () => boundedEnvironment(name, given.clone!(), limit) }),
    ...(given.plan && { plan: () => given.plan!() }),
    ...(given.close && {
      close: () => calling(name, "close()", CLOSING, () => given.close!()),
    }),
  };
}
