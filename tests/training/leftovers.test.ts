/**
 * @file Runs in one process, one after the other: what the first has left behind (a connection that is kept, a module) the
 * others do not add to. Listeners, timers, sockets, processes and threads are counted; episodes and environments must be
 * collectable.
 */
import { getEventListeners } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeAll, expect, it } from "vitest";
import { defineWorld } from "../../src/environments/index.ts";
import { agentProgram } from "../../src/gateway/index.ts";
import { type TrainOptions, train } from "../../src/library/index.ts";
import { rewardFunction } from "../../src/rewards/index.ts";
import { memory } from "../../src/torch/index.ts";
import { lights, QUICK, warmModel } from "../library/support.ts";
import { temporaryFolder } from "../rollout/support.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const parent = temporaryFolder();
let model: string;
beforeAll(async () => {
  model = await warmModel(parent);
}, 120_000);

const RUNS = 4;
/** Of every episode and every environment of all runs but the last, which may still be on its way out. */
const made: WeakRef<object>[] = [];
/** It outlives every run. */
const { signal } = new AbortController();

const watched = defineWorld({
  ...lights,
  name: "watched-lights",
  async open(given) {
    const world = await lights.open(given);
    return {
      ...world,
      environment() {
        const inner = world.environment();
        made.push(new WeakRef(inner));
        return inner;
      },
    };
  },
});

const program = agentProgram({
  name: "asking-once",
  tasks: Array.from({ length: 8 }, (_, number) => ({ number })),
  ...{ maximumCalls: 2, seconds: 30 },
  async function(_, { baseURL, apiKey, signal: over }) {
    const answer = await fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ messages: [{ role: "user", content: "It is red." }], max_tokens: 3 }),
      signal: over,
    });
    return (await answer.text()).length % 3;
  },
});

/** A reward of which every third is late, and is told to stop. */
let asked = 0;
const late = rewardFunction("late", 0.1, ({ signal: over }) => {
  if (++asked % 3 > 0) return 0;
  return new Promise<number>((_, reject) => {
    over?.addEventListener("abort", () => reject(new Error("told to stop")), { once: true });
  });
});

const common: Partial<TrainOptions> = {
  ...QUICK,
  ...{ iterations: 2, tasks: 2, groupSize: 2, warmStart: false, signal, say: () => {} },
  onEpisode: (trajectory) => void made.push(new WeakRef(trajectory)),
};

async function runBoth(number: number): Promise<void> {
  await train({
    ...{ ...common, model, world: watched, folder: join(parent, `lights-${number}`) },
    ...{ rewards: [late], settings: { trainer: { threads: 1 }, reward: { seconds: 0.1 } } },
  });
  await train({ ...common, model, world: program, folder: join(parent, `programs-${number}`) });
}

/** What keeps, or would keep, a process: by kind. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = { tensors: memory().tensors };
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1;
  for (const name of process.eventNames())
    counts[`on ${String(name)}`] = process.listenerCount(name);
  return counts;
}

/** Names of what there is more of. */
const grown = (before: Record<string, number>, after: Record<string, number>) =>
  Object.entries(after).flatMap(([name, count]) => (count > (before[name] ?? 0) ? [name] : []));

it("leave nothing behind", { timeout: 120_000 }, async () => {
  await runBoth(0);
  const before = resources();
  for (let number = 1; number < RUNS; number++) await runBoth(number);
  const ofAll = made.length;
  await runBoth(RUNS);

  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(ofAll).toBeGreaterThan(RUNS * 8);
  // Threads and connections end a moment after they are told to; what holds objects goes with them.
  const held = () => made.slice(0, ofAll).filter((one) => one.deref() !== undefined).length;
  const end = performance.now() + 20_000;
  while (held() > 0 || grown(before, resources()).length > 0) {
    if (performance.now() > end) break;
    await sleep(200);
    collectGarbage();
  }
  expect(grown(before, resources())).toEqual([]);
  expect(held()).toBe(0);
});
