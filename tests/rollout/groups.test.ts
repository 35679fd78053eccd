/**
 * @file Groups: seeds, order, concurrency, enough of them, dynamic sampling.
 */
import { describe, expect, it } from "vitest";
import type { Environment, World } from "../../src/environments/index.ts";
import { accountOf, type CollectOptions, collect, mergeAccounts } from "../../src/rollout/index.ts";
import { deriveSeed } from "../../src/torch/index.ts";
import { countingRollout, newModelFolder, openChat, temporaryFolder } from "./support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));

/** The world with other environments. */
function withEnvironments(options: CollectOptions, make: (inner: Environment) => Environment) {
  const world: World = { ...options.world, environment: () => make(options.world.environment()) };
  return { ...options, world };
}

describe("groups", () => {
  it("have the members of one task, in order, with seeds of their own", async () => {
    const options = await countingRollout(chat, 3);
    const { groups, all, account } = await collect({ ...options, members: 4, step: 2 });
    expect(groups.map(({ id }) => id)).toEqual(["2:train/0", "2:train/1", "2:train/2"]);
    for (const { id, task, trajectories } of groups) {
      expect(trajectories.map(({ member }) => member)).toEqual([0, 1, 2, 3]);
      expect(trajectories.every((one) => one.group === id && one.task === task)).toBe(true);
    }
    expect(new Set(all.map(({ seed }) => seed)).size).toBe(12);
    expect(all[5]).toMatchObject({ id: "2:train/1#1", seed: deriveSeed(1, 2, "2:train/1", 1) });
    expect(account).toMatchObject({ episodes: 12, statuses: { won: 12 }, leftOut: 0, retries: 0 });
  });

  it("of a task that comes twice are two, and a later round's are others", async () => {
    const options = await countingRollout(chat, 1);
    const tasks = [options.tasks[0]!, options.tasks[0]!];
    const first = await collect({ ...options, tasks });
    const second = await collect({ ...options, tasks, round: 1 });
    const ids = [...first.groups, ...second.groups].map(({ id }) => id);
    expect(ids).toEqual(["0:train/0", "0:train/0:1", "0.1:train/0", "0.1:train/0:1"]);
    const seeds = [...first.all, ...second.all].map(({ seed }) => seed);
    expect(new Set(seeds).size).toBe(4);
  });

  it("never run more episodes at once than allowed", async () => {
    let [now, most] = [0, 0];
    const options = await countingRollout(chat, 8);
    const policy = {
      ...options.policy,
      async reply(request: Parameters<typeof options.policy.reply>[0]) {
        if (request.turn === 0) most = Math.max(most, ++now);
        return options.policy.reply(request);
      },
      end(episode: string) {
        now--;
        options.policy.end(episode);
      },
    };
    await collect({ ...options, policy, concurrency: 3 });
    expect(most).toBe(3);
  });

  it.each([
    [{ members: 0 }, /members must be a whole number, 1 or more, got 0/],
    [{ members: Infinity }, /members/],
    [{ concurrency: 0.5 }, /concurrency/],
    [{ retries: -1 }, /retries/],
    [{ enough: 9 }, /enough is 9, but there are only 4 tasks/],
  ])("must be possible: %j", async (wrong, message) => {
    await expect(collect({ ...(await countingRollout(chat)), ...wrong })).rejects.toThrow(message);
  });

  it("stop when whoever takes the episodes throws, after all have stopped", async () => {
    const options = await countingRollout(chat, 8);
    let taken = 0;
    const onEpisode = () => {
      if (++taken === 2) throw new Error("disk full");
    };
    await expect(collect({ ...options, onEpisode, concurrency: 2 })).rejects.toThrow("disk full");
    expect(taken).toBeLessThan(5);
  });

  it("can be stopped from outside, and keep what is complete", async () => {
    const controller = new AbortController();
    const options = await countingRollout(chat, 6);
    const onEpisode = () => controller.abort(new Error("interrupted"));
    const { all, account } = await collect({
      ...{ ...options, onEpisode, concurrency: 1, signal: controller.signal },
    });
    expect(all).toHaveLength(6);
    expect(account.statuses).toEqual({ won: 1, aborted: 5 });
    expect(account.leftOut).toBe(5);
  });
});

describe("enough", () => {
  it("ends the others: stragglers are aborted, and left out with their group", async () => {
    const options = withEnvironments(await countingRollout(chat, 4), (inner) => ({
      ...inner,
      reset: (task) => (task.id === "train/1" ? new Promise<never>(() => {}) : inner.reset(task)),
    }));
    const { groups, account } = await collect({ ...options, members: 2, enough: 3 });
    expect(groups.map(({ task }) => task.id)).toEqual(["train/0", "train/2", "train/3"]);
    expect(account.statuses).toEqual({ won: 6, aborted: 2 });
  });

  it("does not count groups that lost all their members", async () => {
    const options = withEnvironments(await countingRollout(chat, 3), (inner) => ({
      ...inner,
      reset(task) {
        if (task.id === "train/0") throw new Error("broken");
        return inner.reset(task);
      },
    }));
    const { groups } = await collect({ ...options, enough: 2, retries: 0, concurrency: 1 });
    expect(groups.map(({ task }) => task.id)).toEqual(["train/1", "train/2"]);
  });
});

it("accounts add up", async () => {
  const options = await countingRollout(chat, 3);
  const [first, second] = [await collect(options), await collect({ ...options, members: 2 })];
  const merged = mergeAccounts([first.account, second.account]);
  const { seconds: _, ...counts } = accountOf([...first.all, ...second.all], 0);
  expect(merged).toMatchObject(counts);
  expect(merged.seconds).toBeCloseTo(first.account.seconds + second.account.seconds);
});
