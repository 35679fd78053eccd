/**
 * @file Environments that episodes take and give back. One that failed, hung or was left in the middle
 * is closed, never given out again.
 */
import type { Environment, World } from "../environments/index.ts";

export interface EnvironmentPool {
  take(): Environment;
  give(environment: Environment): void;
  drop(environment: Environment): void;
  close(): Promise<void>;
}

export function environmentPool(world: World): EnvironmentPool {
  const idle: Environment[] = [];
  const closing: Promise<unknown>[] = [];
  const close = (environment: Environment) => {
    // Closing is a courtesy: what goes wrong in it must not cost the episodes.
    const closed = Promise.resolve()
      .then(() => environment.close?.())
      .catch(() => {});
    closing.push(atMost(LONGEST_CLOSE, closed));
  };
  return {
    take: () => idle.pop() ?? newEnvironment(world),
    give: (environment) => void idle.push(environment),
    drop: close,
    async close() {
      for (const environment of idle.splice(0)) close(environment);
      await Promise.all(closing);
    },
  };
}

/** Milliseconds that an environment's close() is waited for. */
const LONGEST_CLOSE = 2000;

/** The timer holds the process: one that only waits for a close() that hangs must not just end. */
async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise((done) => {
    timer = setTimeout(done, milliseconds);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}

/** A world that cannot make an environment fails this episode, and is tried again, like any error. */
function newEnvironment(world: World): Environment {
  try {
    return world.environment();
  } catch (error) {
    const fail = () => {
      throw error;
    };
    return { reset: fail, step: fail };
  }
}
