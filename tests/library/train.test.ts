/**
 * @file `train`: it goes on where it was stopped, whoever stopped it; it tells of what happens; and it keeps
 * to its folder.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  InterruptedError,
  type Metrics,
  openTrajectoryStore,
  type Run,
  rewardFunction,
  type TrainOptions,
  type Trajectory,
  train,
  type Validation,
} from "../../src/library/index.ts";
import { resultsOf } from "../training/support/processes.ts";
import { NEW_MODEL, QUICK, warmModel } from "./support.ts";

const parent = mkdtempSync(join(tmpdir(), "openmanus-library-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));
const ITERATIONS = 5;
let model: string;
/** A run that nobody disturbed, with its validations. */
let undisturbed: Run;

const options = (name: string, own: Partial<TrainOptions> = {}): TrainOptions => ({
  ...QUICK,
  model,
  iterations: ITERATIONS,
  folder: join(parent, name),
  ...own,
});

beforeAll(async () => {
  model = await warmModel(parent);
  undisturbed = await train(options("undisturbed"));
});

/** Weights, state, metrics and episodes. */
const results = (name: string) => resultsOf(join(parent, name), ITERATIONS);

describe("a run goes on", () => {
  it("when it is called again, and is bitwise the run that was not disturbed", async () => {
    expect(undisturbed).toMatchObject({ resumedFrom: 0, interrupted: false, stopped: undefined });
    const first = await train(options("again", { iterations: 2 }));
    expect(first.state.step).toBe(2);
    const second = await train(options("again"));
    expect(second).toMatchObject({ resumedFrom: 2, state: { step: ITERATIONS } });
    expect(results("again")).toEqual(results("undisturbed"));
    expect(results("again").metrics).toHaveLength(ITERATIONS);
    const start = readFileSync(join(model, "model.safetensors")).toString("base64");
    expect(results("again").weights["actor/model.safetensors"] === start).toBe(false);
  });

  it("after a signal, which lets the iteration finish", async () => {
    const stopping = new AbortController();
    const aborted = await train(
      options("aborted", {
        signal: stopping.signal,
        // In the middle of the third iteration.
        onEpisode: ({ step }) => void (step === 3 && stopping.abort()),
      }),
    );
    expect(aborted).toMatchObject({ interrupted: true, state: { step: 3 } });
    expect(aborted.model).toMatch(/step-000003/);
    const rest = await train(options("aborted"));
    expect(rest).toMatchObject({ interrupted: false, resumedFrom: 3 });
    expect(results("aborted")).toEqual(results("undisturbed"));
  });

  it("with processes that only play, while it learns", async () => {
    const played = (players: number): Partial<TrainOptions> => ({
      settings: {
        trainer: { threads: 1 },
        actor_rollout_ref: { rollout: { players, one_step_off: true } },
        algorithm: { rollout_correction: { rollout_is: "token" } },
      },
    });
    await train(options("ahead", played(0)));
    const stopping = new AbortController();
    await train(
      options("players", {
        ...played(1),
        signal: stopping.signal,
        onIteration: (iteration) => void (iteration === 2 && stopping.abort()),
      }),
    );
    const rest = await train(options("players", played(1)));
    expect(rest).toMatchObject({ resumedFrom: 3, state: { step: ITERATIONS } });
    const weights = (name: string) => results(name).weights["actor/model.safetensors"];
    expect(weights("ahead")).toBeDefined();
    expect(weights("players") === weights("ahead")).toBe(true);
    expect(weights("players") === weights("undisturbed")).toBe(false);
  }, 120_000);

  it("not at all when the signal comes first, and nothing is trained", async () => {
    const run = await train(options("before", { signal: AbortSignal.abort() }));
    expect(run).toMatchObject({ interrupted: true, state: { step: 0 }, model: undefined });
    await expect(run.evaluate()).rejects.toThrow(/nothing was trained yet; there is no policy/);
    expect((await run.evaluate({ model: "start", tasks: 2 })).tasks).toBe(2);
  });

  it("is not interrupted by a signal in its last iteration: that is the end anyway", async () => {
    const stopping = new AbortController();
    const run = await train(
      options("late", {
        iterations: 1,
        signal: stopping.signal,
        onEpisode: () => stopping.abort(),
      }),
    );
    expect(run).toMatchObject({ interrupted: false, state: { step: 1 } });
  });

  it("with what is there when it has nothing left to do", async () => {
    const again = await train(options("undisturbed"));
    expect(again).toMatchObject({ resumedFrom: ITERATIONS, state: undisturbed.state });
    expect(again.model).toBe(undisturbed.model);
  });

  it("only as itself: what would make it another run is refused, what changes its course is said", async () => {
    await expect(
      train(options("undisturbed", { rewards: [rewardFunction("other", 1, () => 1)] })),
    ).rejects.toThrow(
      /is of a run with another configuration.*:\n {2}.*\(another reward: .*[\s\S]*Choose another folder/,
    );
    const said: string[] = [];
    await train(
      options("again", { learningRate: 2e-3, iterations: 6, say: (text) => said.push(text) }),
    );
    expect(said.join("\n")).toMatch(
      /iteration 5: settings changed: .*optim\.lr from 0\.001 to 0\.002 \(from here on the run takes another course/,
    );
    expect(said.join("\n")).toMatch(
      /settings changed: trainer\.total_epochs from 5 to 6 \(.*the run is the same\)/,
    );
  });
});

describe("a new model and its warm start", () => {
  const fresh = (name: string, own: Partial<TrainOptions> = {}) =>
    options(name, {
      model: NEW_MODEL,
      warmStart: { episodes: 20, epochs: 1 },
      iterations: 1,
      ...own,
    });
  const made = (name: string) => statSync(join(parent, name, "warm/model.safetensors")).mtimeMs;

  it("are made once, and made again by a run that begins anew", async () => {
    const run = await train(fresh("fresh"));
    expect(run.start).toBe(join(parent, "fresh/warm"));
    const before = made("fresh");
    await train(fresh("fresh", { iterations: 2 }));
    expect(made("fresh")).toBe(before);
    const anew = await train(
      fresh("fresh", { restart: true, warmStart: { episodes: 30, epochs: 1 } }),
    );
    expect(anew).toMatchObject({ resumedFrom: 0, state: { step: 1 } });
    expect(made("fresh")).toBeGreaterThan(before);
  });

  it("that is interrupted leaves nothing half made, and the next call begins with it", async () => {
    const stopping = new AbortController();
    const call = fresh("stopped", {
      signal: stopping.signal,
      say: (text) => void (text.startsWith("the expert solved") && stopping.abort()),
    });
    await expect(train(call)).rejects.toThrow(InterruptedError);
    expect(existsSync(join(parent, "stopped/warm"))).toBe(false);
    const run = await train(fresh("stopped"));
    expect(run.state.step).toBe(1);
  });
});

it("validates other splits besides, which choose nothing and change nothing", async () => {
  const asked = { iterations: 2, validation: { every: 2, tasks: 4 } } as const;
  const plain = await train(options("one-split", asked));
  const validations: Validation[] = [];
  const both = await train(
    options("two-splits", {
      ...asked,
      validation: { ...asked.validation, also: ["train"] },
      onValidation: (_, validation) => void validations.push(validation),
    }),
  );
  const { weights } = resultsOf(join(parent, "one-split"), 2);
  expect(resultsOf(join(parent, "two-splits"), 2).weights).toEqual(weights);
  expect(both.state.best).toEqual(plain.state.best);
  expect(validations.map(({ episodes }) => episodes.length)).toEqual([4, 4]);
  for (const { metrics } of validations) {
    expect(metrics["val/train/episodes"]).toBe(4);
    expect(metrics["val/train/success_rate"]).toBeGreaterThanOrEqual(0);
  }
  await expect(
    train(options("no-split", { ...asked, validation: { also: ["nights"] } })),
  ).rejects.toThrow('there is no split "nights"; there are');
  expect(existsSync(join(parent, "no-split", "metrics.jsonl"))).toBe(false);
});

it("hooks hear of every episode, iteration and validation", async () => {
  const episodes: Trajectory[] = [];
  const iterations: [number, Metrics][] = [];
  const validations: [number, Validation][] = [];
  const order: string[] = [];
  const run = await train(
    options("hooks", {
      iterations: 3,
      validation: { every: 2, tasks: 4 },
      onEpisode: (trajectory) => void episodes.push(trajectory),
      onIteration: (iteration, metrics) => {
        order.push(`iteration ${iteration}`);
        iterations.push([iteration, metrics]);
      },
      onValidation: (iteration, validation) => {
        order.push(`validation ${iteration}`);
        validations.push([iteration, validation]);
      },
    }),
  );
  expect(order).toEqual([
    ...["validation 0", "iteration 1", "validation 2", "iteration 2"],
    ...["validation 3", "iteration 3"],
  ]);
  expect(episodes).toHaveLength(3 * 3 * 3);
  expect(episodes.map(({ step }) => step)).toEqual(
    [1, 2, 3].flatMap((step) => Array(9).fill(step)),
  );
  const store = openTrajectoryStore(join(run.folder, "trajectories"));
  const stored = store.episodes().map(({ id }) => id);
  store.close();
  expect(new Set(episodes.map(({ id }) => id))).toEqual(new Set(stored));
  for (const [iteration, metrics] of iterations) {
    const own = episodes.filter(({ step }) => step === iteration);
    const rate = own.filter(({ won }) => won).length / own.length;
    expect(metrics["episode/success_rate"]).toBeCloseTo(rate, 10);
  }
  for (const [, { episodes: played, successRate }] of validations) {
    expect(played).toHaveLength(4);
    expect(successRate).toBe(played.filter(({ won }) => won).length / 4);
  }
});

it("only one of two calls at once gets the folder, and the other is told", async () => {
  const calls = await Promise.allSettled([train(options("two")), train(options("two"))]);
  const failed = calls.filter((result) => result.status === "rejected");
  expect(failed).toHaveLength(1);
  expect(String(failed[0]!.reason)).toMatch(
    /FolderError: .*two: process \d+ is at work in this folder\. Wait for it, or choose another/,
  );
  expect(readdirSync(join(parent, "two"))).not.toContain("run.lock");
  expect(results("two")).toEqual(results("undisturbed"));
});
