/**
 * @file What the tests of faults share: a server that counts and spoils some of its answers, and a client
 * that is quick to give up.
 */
import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import {
  type Environment,
  EnvironmentError,
  openWorld,
  type World,
} from "../../../src/environments/index.ts";
import { type Answering, type Asked, afterTest } from "./fake-server.ts";

/** A counter behind textcraft's routes: right answers, for tests that then spoil some. */
export function counter(): (asked: Asked) => unknown {
  const counts = new Map<number, number>();
  let next = 0;
  return ({ path, body }) => {
    const { id = 0, data_idx } = (body ?? {}) as { id?: number; data_idx?: number };
    if (path === "/create") return { id: next++, observation: "", done: false, reward: 0 };
    if (path === "/close") return true;
    if (path === "/reset") {
      counts.set(id, 0);
      return { id, observation: `task ${data_idx}`, done: false, reward: 0 };
    }
    const count = counts.get(id);
    if (count === undefined) return { error: `The id ${id} is not valid.` };
    counts.set(id, count + 1);
    return { observation: `count ${count + 1}`, reward: 0, done: false };
  };
}

/** Answers rightly, but for some of the requests to a route, counted from 1. */
export function spoiling(
  route: string,
  spoil: (response: ServerResponse) => unknown,
  isSpoiled: (nth: number) => boolean,
): Answering {
  const right = counter();
  let nth = 0;
  return (asked, response) =>
    asked.path === route && isSpoiled(++nth) ? spoil(response) : right(asked);
}

/** Quick to ask again. */
const quick = { kind: "textcraft", wait: 0.005, timeout: 30, retries: 2 };

export async function at(url: string, options: object = {}): Promise<World> {
  const world = await openWorld("agentgym", { url, ...quick, ...options });
  afterTest(async () => world.close?.());
  return world;
}

export async function begun(world: World): Promise<Environment> {
  const environment = world.environment();
  await environment.reset((await world.tasks("train")).task(3));
  return environment;
}

export async function failure(run: () => unknown): Promise<EnvironmentError> {
  const error: unknown = await Promise.resolve()
    .then(run)
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  expect(error).toBeInstanceOf(EnvironmentError);
  return error as EnvironmentError;
}
