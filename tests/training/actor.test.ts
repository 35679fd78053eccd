/**
 * @file The actor and the critic against plain formulas: log-probabilities and values of every token, one
 * update's gradients and weights, whatever the passes, mini-batches and spans.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../../src/environments/index.ts";
import { loadModel, packSequences, values } from "../../src/models/index.ts";
import { backward, clearGradients, noGrad, tidy } from "../../src/torch/index.ts";
import type { TrainingOptions } from "../../src/training/index.ts";
import { actorSettings, batchLogprobs, updateActor } from "../../src/training/workers/actor.ts";
import { batchValues, updateCritic } from "../../src/training/workers/critic.ts";
import {
  createTrainedModel,
  type TrainedModel,
  type UpdateOptions,
  updateOptions,
} from "../../src/training/workers/optimize.ts";
import { temporaryFolder } from "../rollout/support.ts";
import {
  plainActorLoss,
  plainCriticLoss,
  plainRow,
  rowCount,
  trainedPlaces,
} from "./support/plain.ts";
import {
  gradientsOf,
  largestDifference,
  optionsOf,
  type SetUp,
  setUp,
  tinyConfig,
  warmTinyFolder,
  weightsOf,
} from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;
let made: SetUp;
/** [tokens] Numbers as they come in training, but arbitrary. */
let inputs: Record<"advantages" | "oldLogprobs" | "referenceLogprobs", Float64Array>;

const SETTINGS = [
  "algorithm.adv_estimator=gae",
  "actor_rollout_ref.actor.grad_clip=1e9",
  "actor_rollout_ref.actor.optim.weight_decay=0.1",
  "critic.grad_clip=1e9",
  "critic.optim.lr=1e-3",
];
const config = (...own: string[]) => tinyConfig(warm, join(parent, "run"), [...SETTINGS, ...own]);
const options = (...own: string[]) => optionsOf(config(...own));

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
  made = await setUp(config());
  const random = seededRandom("inputs");
  const { logprobs, rows } = made.batch;
  const noisy = (by: number) =>
    logprobs.map((value, i) => (rows.mask[i] ? value + by * (2 * random.unit() - 1) : 0));
  inputs = {
    // Wide enough that both clips, and the dual one, bite.
    oldLogprobs: noisy(2),
    referenceLogprobs: noisy(0.5),
    advantages: logprobs.map((_, i) => (rows.mask[i] ? 2 * random.unit() - 1 : 0)),
  };
});
afterAll(() => made.workers.dispose());

const allRows = () => Array.from({ length: rowCount(made.batch) }, (_, row) => row);

/** A fresh copy of the model with its optimiser. */
function freshActor({ actor }: TrainingOptions = made.options): TrainedModel {
  const model = loadModel(warm);
  return createTrainedModel(model, actor.optimizer, 10, "none", made.ranks);
}

/** The gradients of the first update, from AdamW's first moment: (1 − β₁) g. */
function firstGradients(trained: TrainedModel): number[] {
  const { tensors } = trained.state();
  return [...trained.model.trainable.keys()].flatMap((name) =>
    [...tensors.get(`first_moment.${name}`)!.toNumbers()].map((value) => value / 0.1),
  );
}

describe("log-probabilities and values", () => {
  it.each([
    [1, 100_000],
    [0.7, 100_000],
    [1.6, 40],
    [1, 1],
  ])("at temperature %f in passes of %i tokens are those of all logits", (temperature, tokens) => {
    const { workers, batch } = made;
    const got = batchLogprobs(workers.actor.model, batch, {
      temperature,
      tokensPerPass: tokens,
      sharePrefixes: true,
      autocast: "none",
    });
    for (const row of allRows())
      tidy(() => {
        const { places, logprobs } = noGrad(() =>
          plainRow(workers.actor.model, batch, row, temperature),
        );
        const own = places.map((place) => got[place]!);
        expect(largestDifference(own, logprobs.toNumbers())).toBeLessThan(1e-5);
      });
    expect(got.every((value, i) => made.batch.rows.mask[i] === 1 || value === 0)).toBe(true);
  });

  it("are what the rollout recorded", () => {
    const { workers, batch } = made;
    const settings = {
      temperature: 1,
      tokensPerPass: 8192,
      sharePrefixes: true,
      autocast: "none",
    } as const;
    const got = batchLogprobs(workers.actor.model, batch, settings);
    expect(largestDifference(got, batch.logprobs)).toBeLessThan(1e-5);
  });

  it.each([100_000, 50])("values, in passes of %i tokens", (tokensPerPass) => {
    const { model } = made.workers.critic!;
    noGrad(() => tidy(() => model.parameters.get("score.weight")!.fill_(0.1)));
    const { batch } = made;
    const got = batchValues(model, batch, {
      ...{ tokensPerPass, sharePrefixes: true, autocast: "none" },
    });
    for (const row of allRows())
      tidy(() => {
        const [start, end] = [batch.rows.offsets[row]!, batch.rows.offsets[row + 1]!];
        const all = noGrad(() => values(model, packSequences([batch.ids.subarray(start, end)])));
        const numbers = all.toNumbers();
        for (const place of trainedPlaces(batch, row))
          expect(got[place]).toBeCloseTo(numbers[place - start - 1]!, 5);
      });
  });
});

describe("an update of the actor", () => {
  const kinds: [name: string, settings: string[]][] = [
    ["plain", []],
    ["with entropy and KL", ["use_kl_loss=True", "kl_loss_coef=0.3", "entropy_coeff=0.05"]],
  ];
  it.each(kinds)(
    "%s: gradients and weights are those of the plain formulas",
    async (_, settings) => {
      const own = await options(
        ...settings.map((one) => `actor_rollout_ref.actor.${one}`),
        "actor_rollout_ref.rollout.temperature=1.3",
      );
      const actor = freshActor(own);
      const twin = loadModel(warm);
      const isWhole = settings.length > 0;
      tidy(() =>
        backward(
          plainActorLoss(twin, made.batch, allRows(), {
            ...inputs,
            temperature: 1.3,
            ...(isWhole && { entropyWeight: 0.05, klWeight: 0.3 }),
          }),
        ),
      );
      const expected = gradientsOf(twin);
      const before = weightsOf(twin);
      const { metrics } = updateActor(
        actor,
        made.batch,
        inputs,
        actorSettings(own),
        updateOptions(own, "actor", 1),
      );
      expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(1e-2);
      expect(largestDifference(firstGradients(actor), expected)).toBeLessThan(1e-6);
      const norm = Math.hypot(...expected);
      expect(metrics["actor/grad_norm"]).toBeCloseTo(norm, 5);
      expect(metrics["actor/pg_clipfrac"]).toBeGreaterThan(0.05);
      // AdamW's first step: m̂ = g and v̂ = g².
      const lr = 1e-3;
      const after = before.map((weight, i) => {
        const g = expected[i]!;
        return weight * (1 - lr * 0.1) - (lr * g) / (Math.abs(g) + 1e-8);
      });
      // Where a gradient is as small as rounding, its sign is not known.
      const sure = expected.flatMap((g, i) => (Math.abs(g) > 1e-5 ? [i] : []));
      const got = weightsOf(actor.model);
      expect(sure.length).toBeGreaterThan(1000);
      for (const i of sure) expect(Math.abs(got[i]! - after[i]!)).toBeLessThan(2e-6);
      clearGradients(twin.trainable);
      for (const one of [actor.model, twin]) one.dispose();
      actor.dispose();
    },
  );

  /** One update (or several) with changed options. */
  function updated(changes: Partial<UpdateOptions>, own = made.options, given = inputs) {
    const actor = freshActor(own);
    const how = { ...updateOptions(own, "actor", 1), ...changes };
    const { metrics, updates } = updateActor(actor, made.batch, given, actorSettings(own), how);
    const result = {
      gradients: firstGradients(actor),
      weights: weightsOf(actor.model),
      metrics,
      updates,
    };
    actor.dispose();
    actor.model.dispose();
    return result;
  }

  it.each([1, 60, 200])("does not depend on passes: %i tokens each", (tokensPerPass) => {
    const whole = updated({ tokensPerPass: 1e6 });
    const cut = updated({ tokensPerPass });
    expect(largestDifference(cut.gradients, whole.gradients)).toBeLessThan(1e-6);
    for (const [name, value] of Object.entries(whole.metrics))
      expect(cut.metrics[name], name).toBeCloseTo(value, 5);
  });

  it.each(["seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"])(
    "does not depend on passes in %s either",
    async (mode) => {
      const own = await options(`actor_rollout_ref.actor.loss_agg_mode=${mode}`);
      const whole = updated({ tokensPerPass: 1e6 }, own);
      const cut = updated({ tokensPerPass: 60 }, own);
      expect(largestDifference(cut.gradients, whole.gradients)).toBeLessThan(1e-6);
    },
  );

  it("several mini-batches: each row once per epoch, the passes do not matter", () => {
    const whole = updated({ miniBatchRows: 2, epochs: 2, tokensPerPass: 1e6 });
    const cut = updated({ miniBatchRows: 2, epochs: 2, tokensPerPass: 1 });
    expect(whole.updates).toBe(2 * Math.round(rowCount(made.batch) / 2));
    // AdamW divides by the gradient's own size: rounding is larger here than in gradients.
    expect(largestDifference(cut.weights, whole.weights)).toBeLessThan(1e-4);
  });

  it("what rows begin with in common may be computed once, or for each of them", () => {
    const [once, each] = [true, false].map((sharePrefixes) => updated({ sharePrefixes }));
    expect(largestDifference(once!.gradients, each!.gradients)).toBeLessThan(1e-6);
    for (const [name, value] of Object.entries(each!.metrics))
      expect(once!.metrics[name], name).toBeCloseTo(value, 5);
  });

  it.each([
    ["some rows", (row: number) => row % 3 !== 0],
    ["all rows", () => true],
  ])("%s without a signal are not computed; weights are as if they were", (_, isIdle) => {
    const { rows } = made.batch;
    const advantages = inputs.advantages.slice();
    const idle = allRows().filter(isIdle);
    for (const row of idle) advantages.fill(0, rows.offsets[row]!, rows.offsets[row + 1]!);
    const { actor } = made.options;
    const loss = { ...actor.loss, kind: { ...actor.loss.kind, needsSignal: false } };
    const all = { ...made.options, actor: { ...actor, loss } };
    const given = { ...inputs, advantages };
    // Several updates: what the first leaves in the moments moves the weights in the second.
    const how = { miniBatchRows: 4, epochs: 2 };
    const [few, full] = [made.options, all].map((own) => updated(how, own, given));
    expect(few!.updates).toBe(full!.updates);
    expect(largestDifference(few!.weights, full!.weights)).toBeLessThan(1e-5);
    expect(few!.metrics["actor/idle_rows"]).toBeCloseTo(idle.length / allRows().length, 10);
    expect(full!.metrics["actor/idle_rows"]).toBe(0);
    expect(few!.metrics["actor/pg_loss"]).toBeCloseTo(full!.metrics["actor/pg_loss"]!, 6);
    // A mean over what is computed, not over zeros for the rest.
    expect(few!.metrics["actor/entropy"]).toBeGreaterThan(0.5 * full!.metrics["actor/entropy"]!);
  });

  it("every row is computed where entropy or KL are part of the loss", async () => {
    for (const setting of ["entropy_coeff=0.01", "use_kl_loss=True"]) {
      const own = await options(`actor_rollout_ref.actor.${setting}`);
      const advantages = inputs.advantages.map(() => 0);
      const { metrics, gradients } = updated({}, own, { ...inputs, advantages });
      expect(metrics["actor/idle_rows"]).toBe(0);
      expect(Math.hypot(...gradients)).toBeGreaterThan(1e-4);
    }
  });

  it("gradient checkpointing gives the same gradients", async () => {
    const plain = updated({});
    const own = await options("actor_rollout_ref.model.enable_gradient_checkpointing=True");
    expect(largestDifference(updated({}, own).gradients, plain.gradients)).toBeLessThan(1e-7);
  });

  it("clips gradients of a large norm", () => {
    const free = updated({});
    const clipped = updated({ gradientClip: 0.01 });
    const norm = Math.hypot(...free.gradients);
    expect(norm).toBeGreaterThan(0.1);
    expect(Math.hypot(...clipped.gradients)).toBeCloseTo(0.01, 5);
    expect(clipped.metrics["actor/grad_norm"]).toBeCloseTo(norm, 5);
  });
});

describe("an update of the critic", () => {
  it.each([1e6, 60])("is that of the plain formulas, in passes of %i tokens", (tokensPerPass) => {
    const own = made.options;
    const { critic } = made.workers;
    const { model } = critic!;
    noGrad(() => tidy(() => model.parameters.get("score.weight")!.fill_(0.1)));
    const settings = { tokensPerPass: 8192, sharePrefixes: true, autocast: "none" } as const;
    // As if the values had moved since: some beyond the clip range.
    const oldValues = batchValues(model, made.batch, settings).map(
      (v, i) => v + ((i % 7) - 3) / 4.1,
    );
    const returns = inputs.advantages.map((value) => 3 * value);
    tidy(() =>
      backward(plainCriticLoss(model, made.batch, allRows(), { returns, oldValues, range: 0.5 })),
    );
    const expected = gradientsOf(model);
    clearGradients(model.trainable);
    const trained = createTrainedModel(model, own.critic.optimizer, 10, "none", made.ranks);
    const how = { ...updateOptions(own, "critic", 1), tokensPerPass };
    const given = { returns, oldValues };
    const { metrics } = updateCritic(trained, made.batch, given, own.critic, "none", how);
    expect(metrics["critic/vf_clipfrac"]).toBeGreaterThan(0);
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(1e-2);
    expect(largestDifference(firstGradients(trained), expected)).toBeLessThan(2e-6);
    trained.dispose();
  });
});

describe("schedules", () => {
  it("go by iterations, smoothly within one", async () => {
    const own = await options(
      "actor_rollout_ref.actor.optim.lr=1",
      "actor_rollout_ref.actor.optim.warmup_style=linear",
      "actor_rollout_ref.actor.optim.lr_warmup_steps=2",
    );
    const actor = freshActor(own);
    const rates = [1, 2, 3, 10].map((step) => {
      const how = { ...updateOptions(own, "actor", step), miniBatchRows: 1000 };
      return updateActor(actor, made.batch, inputs, actorSettings(own), how).metrics["actor/lr"]!;
    });
    expect(rates).toEqual([0, 0.5, 1, 1 - 7 / 8]);
    actor.dispose();
    actor.model.dispose();
  });
});
