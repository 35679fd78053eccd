/**
 * @file What `env verify` finds out: known solutions win, and where there are none, tasks begin, are the
 * same when they are played again, and take any string for an action.
 */
import {
  boundedEnvironment,
  type Environment,
  type Observation,
  type Task,
  type World,
} from "../../../environments/index.ts";

export interface Verification {
  games: number;
  /** Those that did what was expected of them. */
  won: number;
  failures: { task: string; reason: string }[];
  /** Only where no task has a known solution: then tasks were checked, and none replayed. */
  replayed?: false;
}

/** How many tasks of each split are checked by default in a world that has no solutions at all. */
const CHECKED = 100;

/** `limit`: tasks of each split. */
export async function verifyWorld(
  world: World,
  splits: readonly string[],
  limit = Number.POSITIVE_INFINITY,
  onProgress?: (done: number, total: number) => void,
): Promise<Verification> {
  const found: Verification = { games: 0, won: 0, failures: [] };
  /** Places of tasks without a solution that are in order otherwise. */
  const unsolved: { task: string; before: number }[] = [];
  let anyReplayed = false;
  const most = !world.solution && limit === Number.POSITIVE_INFINITY ? CHECKED : limit;
  const sets = await Promise.all(splits.map((split) => world.tasks(split)));
  const total = sets.reduce((sum, { length }) => sum + Math.min(length, most), 0);
  const environment = boundedEnvironment(world.name, world.environment());
  try {
    for (const tasks of sets)
      for (let index = 0; index < Math.min(tasks.length, most); index++) {
        const task = tasks.task(index);
        const { reason, replayed } = await outcomeOf(world, environment, task);
        found.games++;
        anyReplayed ||= replayed;
        if (reason !== undefined) found.failures.push({ task: task.id, reason });
        else if (replayed) found.won++;
        else unsolved.push({ task: task.id, before: found.failures.length });
        onProgress?.(found.games, total);
      }
  } finally {
    await environment.close?.();
  }
  if (!anyReplayed && found.games > 0) return { ...found, won: unsolved.length, replayed: false };
  // Where others have one, a task without a solution is a failure, in its place among the others.
  for (const { task, before } of unsolved.reverse())
    found.failures.splice(before, 0, { task, reason: "no solution is known" });
  return found;
}

async function outcomeOf(
  world: World,
  environment: Environment,
  task: Task,
): Promise<{ reason: string | undefined; replayed: boolean }> {
  let replayed = false;
  try {
    const solution = await world.solution?.(task);
    replayed = solution !== undefined && solution.length > 0;
    const reason = replayed
      ? await failureOfSolution(environment, task, solution!)
      : await failureOfChecks(environment, task);
    return { reason, replayed };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error), replayed };
  }
}

/** Undefined when the solution wins with its last action. */
async function failureOfSolution(
  environment: Environment,
  task: Task,
  solution: readonly string[],
): Promise<string | undefined> {
  await environment.reset(task);
  for (const [number, action] of solution.entries()) {
    const { won, done, admissible, observation } = await environment.step(action);
    const place = `step ${number + 1} of ${solution.length}, "${action}"`;
    if (admissible === false) return `${place} was answered "${observation.text}"`;
    const isLast = number === solution.length - 1;
    if (done && !isLast) return `it ended early, with ${place}`;
    if (isLast && !won) return `it was not won by ${place}`;
  }
  return undefined;
}

/** What an agent may say by mistake; the world has to answer all of it. */
const ODD_ACTIONS = ["", " ", "\n", "look", "\u{1f600} \u0000 <|x|>", "x".repeat(2000)];

/** Undefined when the task can be played, and goes the same way twice. */
async function failureOfChecks(environment: Environment, task: Task): Promise<string | undefined> {
  const first = await playedOddly(environment, task);
  const second = await playedOddly(environment, task);
  const place = first.findIndex((seen, i) => seen !== second[i]);
  if (place < 0 && first.length === second.length) return undefined;
  const when = place <= 0 ? "when it begins" : `after step ${place}`;
  return `it is not the same ${when} when it is played again; draw from the random numbers that it is given`;
}

/** What is seen at the beginning and after each step, as text. */
async function playedOddly(environment: Environment, task: Task): Promise<string[]> {
  let observation = await environment.reset(task);
  const seen = [shown(observation)];
  // One action that makes sense, where the world lists them: the rest may change nothing.
  for (const odd of [undefined, ...ODD_ACTIONS]) {
    const action = odd ?? observation.admissible?.[0];
    if (action === undefined) continue;
    const result = await environment.step(action);
    observation = result.observation;
    seen.push(`${result.reward} ${result.done} ${result.won} ${shown(observation)}`);
    if (result.done) break;
  }
  return seen;
}

function shown({ text, instruction, anchor, admissible }: Observation): string {
  if (typeof text !== "string")
    throw new Error(`an observation's text is ${text}, expected a text`);
  return JSON.stringify([text, instruction, anchor, admissible]);
}
