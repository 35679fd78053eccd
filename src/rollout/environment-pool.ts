/**
 * @file Environments that episodes take and give back. One that failed, hung or was left in the middle
 * is closed, never given out again.
 */
import {
  type Environment,
  type FaultOwner,
  onBehalfOf,
  type World,
  within,
} from "../environments/index.ts";

export interface EnvironmentPool {
  take(): Environment;
  give(environment: Environment): void;
  drop(environment: Environment): void;
  close(): Promise<void>;
}

/** `owner` hears of faults that come while environments are made and closed: of no episode in particular. */
export function environmentPool(world: World, owner: FaultOwner): EnvironmentPool {
  const idle: Environment[] = [];
  const closing: Promise<unknown>[] = [];
  const close = (environment: Environment) => {
    const closed = Promise.resolve().then(() => onBehalfOf(owner, () => environment.close?.()));
    // Closing is a courtesy: what goes wrong in it must not cost the episodes.
    closing.push(within(LONGEST_CLOSE, "close()", closed).catch(() => {}));
  };
  return {
    take: () => idle.pop() ?? onBehalfOf(owner, () => newEnvironment(world)),
    give: (environment) => void idle.push(environment),
    drop: close,
    async close() {
      for (const environment of idle.splice(0)) close(environment);
      await Promise.all(closing);
    },
  };
}

/** How long an environment's close() is waited for. */
const LONGEST_CLOSE = { seconds: 2 };

/** A world that cannot make an environment fails this episode, and is tried again, like any error. */
function newEnvironment(world: World): Environment {
  try {
    const environment: Partial<Environment> | undefined = world.environment();
    if (typeof environment?.reset === "function" && typeof environment.step === "function")
      return environment as Environment;
    return failing(new Error("environment() gave something without reset() and step()"));
  } catch (error) {
    return failing(error);
  }
}

function failing(error: unknown): Environment {
  const fail = () => {
    throw error;
  };
  return { reset: fail, step: fail };
}
