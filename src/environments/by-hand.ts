/**
 * @file An episode in which somebody else acts: a person at a terminal or in the browser, an expert. The world's answers
 * are checked and waited for no longer than in any episode.
 */
import type { Observation, StepResult, Task, TaskSet, World } from "./environment.ts";
import { boundedEnvironment } from "./foreign/bounded-world.ts";

export interface HandPlayed {
  /** What is seen now. */
  readonly observation: Observation;
  /** Actions so far. */
  readonly steps: number;
  /** Undefined: it goes on. */
  readonly end: HandPlayedEnd | undefined;
  act(action: string): Promise<StepResult>;
  /** The shortest way from here, where the world knows it. */
  plan(): readonly string[] | undefined;
  close(): Promise<void>;
}

export type HandPlayedEnd = "won" | "lost" | "over" | "turn limit";

/** `steps`: actions at most. */
export async function playByHand(world: World, task: Task, steps: number): Promise<HandPlayed> {
  const environment = boundedEnvironment(world.name, world.environment());
  const close = async () => environment.close?.();
  let taken = 0;
  let end: HandPlayedEnd | undefined;
  let observation: Observation;
  try {
    observation = await environment.reset(task);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get observation() {
      return observation;
    },
    get steps() {
      return taken;
    },
    get end() {
      return end;
    },
    async act(action) {
      if (end) throw new Error(`the episode is over (${end})`);
      const result = await environment.step(action);
      taken++;
      observation = result.observation;
      if (result.done) end = result.won ? "won" : result.lost ? "lost" : "over";
      else if (taken >= steps) end = "turn limit";
      return result;
    },
    plan: () => environment.plan?.(),
    close,
  };
}

/** By its number in the set, or by its id; undefined: there is none of this id. */
export function taskNamed(tasks: TaskSet, wanted: string): Task | undefined {
  if (/^\d+$/.test(wanted)) return tasks.task(Number(wanted));
  for (let index = 0; index < tasks.length; index++) {
    const task = tasks.task(index);
    if (task.id === wanted) return task;
  }
  return undefined;
}
