/**
 * @file Search while playing: every strategy gives episodes that really happened, within its budget, the same ones by the
 * same seed, and finds more than sampling does with as many tokens.
 */
import { describe, expect, it } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import { defineEnvironment, openWorld, type World } from "../../src/environments/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import {
  type Collection,
  checkBatch,
  collect,
  type Findings,
  modelPolicy,
  packTrajectories,
  type SearchOptions,
  strategyNames,
  type Trajectory,
  type Turn,
} from "../../src/rollout/index.ts";
import { createBudget } from "../../src/rollout/search/budget.ts";
import { bestChild } from "../../src/rollout/search/strategies/mcts.ts";
import { logProbability, type Node } from "../../src/rollout/search/tree.ts";
import { newModelFolder, openTinyModel, tasksOf, temporaryFolder } from "./support.ts";

const tiny = openTinyModel(newModelFolder(temporaryFolder()), 1);

/** A lock of four digits, one turn each: whoever dials a wrong one may go on, and has lost at the end. */
const lock = defineEnvironment({
  name: "lock",
  summary: "open the lock",
  maximumSteps: 4,
  splits: { train: 20 },
  start: (task) => ({ code: Number(task.id.split("/")[1]), dialled: [] as number[] }),
  intro: () => ({ text: "The lock has four wheels.", instruction: "open the lock" }),
  actions: () => ["dial 0", "dial 1", "dial 2"],
  act({ code, dialled }, action) {
    const next = [...dialled, Number(action.split(" ")[1])];
    const wrong = next.findIndex((digit, i) => digit !== Math.floor(code / 2 ** i) % 3);
    const right = wrong < 0;
    const isOver = next.length === 4;
    return {
      ...{ text: `You dialled ${next.join("")}.`, state: { code, dialled: next } },
      ...{ score: (right ? next.length : wrong) / 4, won: isOver && right, lost: isOver && !right },
    };
  },
});

const withoutClone = (world: World): World => ({
  ...world,
  environment() {
    const { reset, step } = world.environment();
    return { reset, step };
  },
});

interface Found extends Collection {
  readonly findings: readonly Findings[];
  /** Of the engine: prompt tokens that were computed, and found in the cache. */
  readonly computed: number;
  readonly cached: number;
}

async function found(
  search: SearchOptions | undefined,
  { members = 1, tasks = 6, world: changed = (world: World) => world, seed = 3 } = {},
): Promise<Found> {
  const world = changed(await openWorld(lock));
  const engine = createEngine(tiny.model, { tokenizer: tiny.chat.tokenizer });
  const agent = createAgent();
  const findings: Findings[] = [];
  const collection = await collect({
    ...{ world, about: lock, agent, limits: { turns: 4 }, members, seed, search },
    tasks: await tasksOf(world, tasks),
    policy: modelPolicy({
      ...{ generator: engine, chat: tiny.chat, contextLength: 2048, constrain: agent.format },
      sampling: { maximumTokens: 12, temperature: 1 },
    }),
    onFindings: (_, one) => findings.push(one),
  });
  const { computedTokens, cachedTokens } = { ...engine.statistics };
  engine.close();
  return { ...collection, findings, computed: computedTokens, cached: cachedTokens };
}

const won = ({ all }: Collection) => all.filter((one) => one.won).length;

/** What an episode says happens when its actions are done. */
async function requireReal(trajectory: Trajectory): Promise<void> {
  const environment = (await openWorld(lock)).environment();
  let shown = (await environment.reset(trajectory.task)).text;
  let last = { won: false, score: 0 };
  for (const { observation, action } of trajectory.turns) {
    expect(observation).toBe(shown);
    const result = await environment.step(action!);
    shown = result.observation.text;
    last = result;
  }
  expect({ won: trajectory.won, score: trajectory.score }).toEqual({
    won: last.won,
    score: last.score,
  });
}

const SEARCHES: Readonly<Record<string, Omit<SearchOptions, "strategy">>> = {
  best_of_n: { width: 10, branches: 1, budget: { states: 40 } },
  beam: { width: 3, branches: 3 },
  tree_of_thoughts: { width: 2, branches: 6 },
  graph_of_thoughts: { width: 2, branches: 6 },
  dfsdt: { branches: 6, hopeless: 0.1 },
  mcts: { widening: 2, budget: { states: 100 } },
};

const withoutTimes = ({ seconds: _, turns, ...one }: Trajectory) => ({
  ...one,
  turns: turns.map(({ seconds: __, ...turn }) => turn),
});

it("every strategy is tried here", () => {
  expect(["sample", ...Object.keys(SEARCHES)]).toEqual(strategyNames);
});

describe.each(Object.entries(SEARCHES))("%s", (strategy, options) => {
  const search = { strategy, ...options };

  it("finds episodes that really happen, can be trained on, and are the same again", async () => {
    const first = await found(search);
    expect(first.all).toHaveLength(6);
    for (const one of first.all) await requireReal(one);
    checkBatch(packTrajectories(first.all, {}));
    for (const { search: cost } of first.all) {
      expect(cost!.strategy).toBe(strategy);
      expect(cost!.states).toBeGreaterThanOrEqual(4);
    }
    expect(first.account.sampledTokens).toBe(
      first.all.reduce((sum, one) => sum + one.search!.tokens, 0),
    );
    const again = await found(search, { world: withoutClone });
    expect(again.all.map(withoutTimes)).toEqual(first.all.map(withoutTimes));
  });

  // What a model from random numbers finds likely says nothing of the lock, and ten episodes seldom hit on it.
  it.skipIf(["beam", "best_of_n"].includes(strategy))(
    "wins more often than one episode does",
    async () => {
      expect(won(await found(search))).toBeGreaterThan(won(await found(undefined)) + 1);
    },
  );

  it("keeps to its budget, and the chosen line is played to its end", async () => {
    const { all } = await found({ ...search, budget: { states: 6 } });
    for (const { search: cost, status } of all) {
      expect(cost!.states).toBeLessThanOrEqual(6 + 4);
      expect(["won", "lost"]).toContain(status);
    }
  });
});

it.each([
  { strategy: "mcts", budget: { states: 40 } },
  { strategy: "best_of_n", width: 6, branches: 3 },
])("a group's members are lines of one search, the best first: %j", async (search) => {
  const { groups, all } = await found(search, { members: 4, tasks: 3 });
  expect(groups).toHaveLength(3);
  for (const { trajectories } of groups) {
    expect(trajectories.map(({ member }) => member)).toEqual([0, 1, 2, 3]);
    expect(new Set(trajectories.map(({ id }) => id)).size).toBe(4);
    for (const one of trajectories) await requireReal(one);
    const best = Math.max(...trajectories.map(({ score }) => score));
    expect(trajectories[0]!.score).toBe(best);
  }
  checkBatch(packTrajectories(all, {}));
});

it("a branch costs its new tokens only: its beginning is in the cache", async () => {
  const { computed, cached, account } = await found({
    strategy: "mcts",
    budget: { states: 40 },
  });
  // Constrained replies ask twice; whole pages of 16 tokens are shared.
  expect(cached).toBeGreaterThan(computed);
  expect(account.sampledTokens).toBeLessThan(computed);
});

it("the tree says which reply led further, and what states are worth", async () => {
  const { findings } = await found({ strategy: "mcts", budget: { states: 60 }, widening: 3 });
  const preferences = findings.flatMap((one) => one.preferences);
  expect(preferences.length).toBeGreaterThan(0);
  for (const { chosen, rejected, margin } of preferences) {
    expect(chosen.slice(0, -1)).toEqual(rejected.slice(0, -1));
    expect(chosen.at(-1)!.action).not.toBe(rejected.at(-1)!.action);
    expect(margin).toBeGreaterThan(0);
  }
  for (const { value, visits } of findings.flatMap((one) => one.values)) {
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThanOrEqual(1);
    expect(visits).toBeGreaterThan(0);
  }
});

it("the model is asked, and its answers count as tokens", async () => {
  const search = { strategy: "tree_of_thoughts", width: 1, branches: 2 } as const;
  const silent = await found(search, { tasks: 1 });
  const asked = await found({ ...search, judge: "model" }, { tasks: 1 });
  await requireReal(asked.all[0]!);
  expect(asked.account.sampledTokens).toBeGreaterThan(silent.account.sampledTokens);
});

describe("mcts chooses", () => {
  const child = (visits: number, total: number, drawn: number) =>
    ({ visits, total, drawn }) as unknown as Node;
  const children = [child(4, 2, 1), child(1, 0, 6), child(5, 3, 3)];
  const node = { visits: 10, total: 5, draws: 10, children } as unknown as Node;

  it.each(["uct", "puct"] as const)("by %s's formula", (selection) => {
    for (const exploration of [0, 0.3, 1, 3]) {
      const worths = children.map(({ visits, total, drawn }) => {
        const bonus =
          selection === "uct"
            ? Math.sqrt(Math.log(10) / visits)
            : ((drawn / 10) * Math.sqrt(10)) / (1 + visits);
        return total / visits + exploration * bonus;
      });
      const best = worths.indexOf(Math.max(...worths));
      expect(children.indexOf(bestChild(node, { exploration, selection }))).toBe(best);
    }
  });
});

describe("what makes no sense is refused with a sentence", () => {
  it("the likeliest of what has no probability", () => {
    const turn = { reply: { sampledLogprobs: [-1, Number.NaN] } } as unknown as Turn;
    expect(() => logProbability([turn])).toThrow("tells no log-probabilities");
    expect(logProbability([{ reply: { sampledLogprobs: [-1, -2] } } as unknown as Turn])).toBe(-3);
  });
  it("a strategy that there is not", async () => {
    await expect(found({ strategy: "mtcs" })).rejects.toThrow("did you mean mcts?");
  });
  it("mcts without a budget", async () => {
    await expect(found({ strategy: "mcts" })).rejects.toThrow("give it one");
  });
  it("a budget of nothing", () => {
    expect(() => createBudget({ tokens: 0 })).toThrow("a budget of 0 tokens");
  });
});
