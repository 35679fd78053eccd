/**
 * @file The task of all examples here: "How old will bob be in 3 years?" An agent has two functions for it, looks up
 * how old somebody is now, adds, and answers. This file knows nothing of any agent: tasks, what the functions do,
 * what an answer is worth, and an expert for a model that cannot talk yet.
 */
import type { AgentProgramOptions } from "openmanus-rl";

export interface AgesTask {
  [key: string]: string | number | Record<string, number>;
  name: string;
  years: number;
  /** How old everybody is: another world in each task. */
  ages: Record<string, number>;
}

const NAMES = ["anna", "bob", "carl", "dora", "emil"];

export const SYSTEM = "Answer with a name and a number.";

/**
 * The name is in quotes, as it stands in a call: to a tokenizer " bob" is another token than "bob", and which is which
 * would have to be learned first.
 */
export function question({ name, years }: AgesTask): string {
  return `How old will "${name}" be in ${years} years?`;
}

/**
 * What the functions do. The name comes again in what is found, and in the answer: a model from nothing learns to repeat
 * it from there, where it is near, before it can find it in the question.
 */
export function lookUp({ ages }: AgesTask, name: string): string {
  return ages[name] === undefined ? "nobody" : `${name} is ${ages[name]}`;
}

export function add(a: number, b: number): string {
  return String(a + b);
}

/** 1 for the right answer: "bob will be 7". */
export function worth({ name, years, ages }: AgesTask, answer: string): number {
  return answer.trim() === `${name} will be ${ages[name]! + years}` ? 1 : 0;
}

/** A small generator of numbers, so that the tasks are the same everywhere. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

function newTasks(count: number, seed: number): AgesTask[] {
  const below = numbers(seed);
  return Array.from({ length: count }, () => ({
    name: NAMES[below(NAMES.length)]!,
    years: 1 + below(5),
    ages: Object.fromEntries(NAMES.map((name) => [name, 1 + below(9)])),
  }));
}

/** Which policy is the best, those of "validation" say; how good it is, those of "test", which nothing was chosen by. */
export const tasks = {
  train: newTasks(400, 1),
  validation: newTasks(128, 3),
  test: newTasks(200, 2),
};

/** Now and then it does something that leads nowhere: it shows the form, and leaves the skill to be learned. */
export const expert: AgentProgramOptions<AgesTask>["expert"] = ({ task, messages, random }) => {
  const { name, years, ages } = task.data as AgesTask;
  const known = messages.flatMap((message, i) =>
    (message.calls ?? []).map((call, k) => ({
      ...{ name: call.name, given: JSON.parse(call.arguments) as Record<string, unknown> },
      answer: messages[i + 1 + k]?.content ?? "",
    })),
  );
  const found = known.find((call) => call.name === "look_up" && call.given.name === name);
  const sum = known.find(
    ({ name: called, given }) => called === "add" && given.a === ages[name] && given.b === years,
  );
  if (sum) return `${name} will be ${sum.answer}`;
  const wanders = random() < 0.3 && known.length < 3;
  const other = NAMES[Math.floor(random() * NAMES.length)]!;
  if (!found || wanders)
    return { calls: [{ name: "look_up", arguments: { name: wanders ? other : name } }] };
  return { calls: [{ name: "add", arguments: { a: ages[name]!, b: years } }] };
};
