/**
 * @file Fault injection: worlds that throw, hang, die or give garbage, a server that drops connections,
 * a process that is killed. What is left is right, what happened is counted, nothing hangs.
 */
import { spawn } from "node:child_process";
import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  type Environment,
  type Random,
  type StepResult,
  seededRandom,
} from "../../src/environments/index.ts";
import { createServerGenerator } from "../../src/generation/index.ts";
import {
  checkBatch,
  collect,
  isTrainable,
  modelPolicy,
  openTrajectoryStore,
  packTrajectories,
  type Trajectory,
} from "../../src/rollout/index.ts";
import { answerOf, fakeServer, sendJson } from "../generation/server/fake-server.ts";
import {
  asSampled,
  countingRollout,
  newModelFolder,
  openChat,
  temporaryFolder,
} from "./support.ts";

const folder = temporaryFolder();
const model = newModelFolder(folder);
const chat = openChat(model);

const FAULTS = ["throws", "rejects", "hangs", "dies", "garbage", "NaN"] as const;

/** Something goes wrong in one of five calls, each time in another way. */
function faulty(inner: Environment, random: Random, count: (fault: string) => void): Environment {
  let dead = false;
  const call = <Value>(run: () => Value): Value => {
    if (dead) throw new Error("the world is dead");
    if (random.integer(100) >= 20) return run();
    const fault = FAULTS[random.integer(FAULTS.length)]!;
    count(fault);
    switch (fault) {
      case "throws":
        throw new Error("the world threw");
      case "rejects":
        return Promise.reject(new Error("the world rejected")) as Value;
      case "hangs":
        return new Promise(() => {}) as Value;
      case "dies":
        dead = true;
        throw new Error("the world died");
      case "garbage":
        return { text: 7, observation: null } as Value;
      case "NaN":
        return { ...run(), reward: Number.NaN, text: undefined };
    }
  };
  return {
    reset: (task) => call(() => inner.reset(task)),
    step: (action) => call(() => inner.step(action) as StepResult),
    // Closing goes wrong, too, and is nobody's problem.
    close: () => {
      if (random.integer(2) === 0) throw new Error("cannot close");
    },
  };
}

async function faultyRollout(tasks: number) {
  const options = await countingRollout(chat, tasks);
  const counts: Record<string, number> = {};
  let made = 0;
  const environment = () =>
    faulty(options.world.environment(), seededRandom("faults", made++), (fault) => {
      counts[fault] = (counts[fault] ?? 0) + 1;
    });
  const world = { ...options.world, environment };
  // Long enough for a slow machine: only episodes that hang must run into it.
  const limits = { turns: 10, seconds: 3 };
  return { good: options, faulty: { ...options, world, limits }, counts };
}

const rewards = (all: readonly Trajectory[]) => all.map(({ id, reward }) => [id, reward]);

describe("worlds that fail in one of five calls", () => {
  it("cost the episodes that they fail for good, and nothing else", async () => {
    const { good, faulty, counts } = await faultyRollout(40);
    const expected = await collect({ ...good, members: 4 });
    const { all, groups, account } = await collect({ ...faulty, members: 4, retries: 3 });
    expect(Object.keys(counts).sort()).toEqual([...FAULTS].sort());

    // Everything is there and counted.
    expect(all).toHaveLength(160);
    const { statuses } = account;
    expect(Object.values(statuses).reduce((sum, count) => sum + count)).toBe(160);
    expect(statuses["environment error"]).toBeGreaterThan(0);
    expect(statuses.timeout).toBeGreaterThan(0);
    expect(account.leftOut).toBe(statuses["environment error"]! + statuses.timeout!);
    expect(account.retries).toBeGreaterThan(40);
    expect(account.errors[0]).toMatch(/^0:train\/\d+#\d: (environment error|timeout): /);

    // What is left is what happens without faults, episode by episode and group by group.
    const usable = all.filter(isTrainable);
    const kept = new Set(usable.map(({ id }) => id));
    expect(usable.length).toBeGreaterThan(80);
    expect(rewards(usable)).toEqual(rewards(expected.all.filter(({ id }) => kept.has(id))));
    expect(groups.flatMap(({ trajectories }) => trajectories)).toEqual(usable);
    for (const { trajectories, id } of groups) {
      expect(trajectories.length).toBeGreaterThan(0);
      expect(trajectories.every(({ group }) => group === id)).toBe(true);
    }
    expect(groups.some(({ trajectories }) => trajectories.length < 4)).toBe(true);
    checkBatch(packTrajectories(usable.map(asSampled)));
  });

  it("do not matter when they are tried again often enough", async () => {
    const options = await countingRollout(chat, 10);
    const throwing = seededRandom("throwing");
    const world = {
      ...options.world,
      environment(): Environment {
        if (throwing.integer(3) === 0) throw new Error("no environment");
        const inner = options.world.environment();
        return {
          ...inner,
          step(action) {
            if (throwing.integer(5) === 0) throw new Error("broken");
            return inner.step(action);
          },
        };
      },
    };
    const { account } = await collect({ ...options, world, retries: 100 });
    expect(account).toMatchObject({ statuses: { won: 10 }, leftOut: 0, errors: [] });
    expect(account.retries).toBeGreaterThan(0);
  });

  it("that cannot be closed do not hold up the rest for long", async () => {
    const options = await countingRollout(chat, 2);
    const close = () => new Promise<void>(() => {});
    const environment = () => ({ ...options.world.environment(), close });
    const begun = performance.now();
    const { account } = await collect({ ...options, world: { ...options.world, environment } });
    expect(account.statuses).toEqual({ won: 2 });
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});

describe("a server that drops connections", () => {
  /** Says what the last list of actions begins with; one request in six breaks off. */
  const server = (drops: (n: number) => boolean) =>
    fakeServer((response, { body }, n) => {
      if (drops(n)) return response.destroy();
      const text = chat.tokenizer.decode(body.prompt as number[]);
      const action = text.split("You can: ").at(-1)!.split(" |")[0]!;
      const ids = [...chat.tokenizer.encode(action), chat.endOfTurnId];
      return sendJson(response, answerOf({ ids, logprobs: ids.map(() => -0.5) }));
    });

  const rollout = async (baseUrl: string, retries: number) => {
    const generator = createServerGenerator({ baseUrl, model: "m", retries, firstWait: 1 });
    const sampling = { maximumTokens: 32, temperature: 1 };
    const policy = modelPolicy({ generator, chat, contextLength: 4096, sampling });
    const result = await collect({ ...(await countingRollout(chat, 20)), policy, retries: 20 });
    await generator.close();
    return result;
  };

  it("is asked again: by the client, or by beginning the episode again", async () => {
    const { baseUrl } = await server((n) => seededRandom("drops", n).integer(6) === 0);
    const patient = await rollout(baseUrl, 20);
    expect(patient.account).toMatchObject({ statuses: { won: 20 }, retries: 0 });
    checkBatch(packTrajectories(patient.all));
    const hasty = await rollout(baseUrl, 0);
    expect(hasty.account.statuses).toEqual({ won: 20 });
    expect(hasty.account.retries).toBeGreaterThan(0);
    expect(rewards(hasty.all)).toEqual(rewards(patient.all));
  });

  it("for good is an error of each episode, and the end", async () => {
    const { baseUrl } = await server(() => true);
    const { account, groups } = await rollout(baseUrl, 0);
    expect(account.statuses).toEqual({ "policy error": 20 });
    expect(account).toMatchObject({ leftOut: 20, retries: 400, turns: 0 });
    expect(groups).toEqual([]);
    expect(account.errors).toHaveLength(5);
  });
});

describe("a process that is killed in mid-rollout", () => {
  const script = fileURLToPath(new URL("./killed.ts", import.meta.url));

  /** Lets it play for so many episodes, then kills it; gives what it said. */
  function killAfter(place: string, episodes: number): Promise<number> {
    const child = spawn(process.execPath, ["--import", "tsx", script, model, place], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let seen = 0;
    return new Promise((resolve, reject) => {
      child.stdout.on("data", (data: Buffer) => {
        seen += data.toString().split("\n").length - 1;
        if (seen >= episodes) child.kill("SIGKILL");
      });
      child.on("error", reject);
      child.on("exit", (code) =>
        code === null ? resolve(seen) : reject(new Error(`it ended by itself, code ${code}`)),
      );
    });
  }

  it("leaves a store that opens, with every episode that it had finished", async () => {
    const place = join(folder, "killed");
    let before = 0;
    for (const episodes of [3, 17, 40]) {
      const said = await killAfter(place, episodes);
      const store = openTrajectoryStore(place);
      const found = store.episodes();
      // Each was said after it was stored; the one in hand may be there or not.
      expect(found.length - before).toBeGreaterThanOrEqual(said);
      expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
      for (const { id } of found) expect(store.read(id).status).toBe("won");
      before = found.length;
      store.close();
    }
    // And where the last line was torn: as if it had died while it wrote.
    const last = readdirSync(place).sort().at(-1)!;
    appendFileSync(join(place, last), '{"id":"torn');
    const store = openTrajectoryStore(place);
    expect(store.repaired).toBe(11);
    expect(store.episodes()).toHaveLength(before);
  }, 240_000);
});
