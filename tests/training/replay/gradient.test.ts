/**
 * @file What is learned from a replayed episode: its advantages are those of a member of the group, its gradient that of a
 * plain formula with the recorded log-probabilities.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadModel, type Model, saveModel } from "../../../src/models/index.ts";
import { packTrajectories } from "../../../src/rollout/index.ts";
import { backward, tensor, tidy, where, zeros } from "../../../src/torch/index.ts";
import { estimateAdvantages, meanAdvantages } from "../../../src/training/loop/advantages.ts";
import { prepare, withOldLogprobs } from "../../../src/training/loop/prepare.ts";
import { stopwatch } from "../../../src/training/loop/stopwatch.ts";
import { dealtRows } from "../../../src/training/ranks/deal.ts";
import { openReplay } from "../../../src/training/replay/buffer.ts";
import { remember, withReplays } from "../../../src/training/replay/replay.ts";
import { actorSettings, updateActor } from "../../../src/training/workers/actor.ts";
import { createTrainedModel, updateOptions } from "../../../src/training/workers/optimize.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { plainRow, rowCount, trainedPlaces } from "../support/plain.ts";
import {
  FIXED_KL,
  gradientsOf,
  largestDifference,
  optionsOf,
  type SetUp,
  setUp,
  tinyConfig,
  warmTinyFolder,
} from "../support/runs.ts";

const parent = temporaryFolder();
let warm: string;
let made: SetUp;

const SETTINGS = [
  ...["algorithm.replay.enable=True", "env.rollout.n=6", "algorithm.adv_estimator=grpo"],
  ...["trainer.logprob_tolerance=9", "actor_rollout_ref.actor.grad_clip=1e9"],
];
const options = (...own: string[]) =>
  optionsOf(tinyConfig(warm, join(parent, "run"), [...SETTINGS, ...own]));

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
  made = await setUp(tinyConfig(warm, join(parent, "run"), SETTINGS));
}, 120_000);
afterAll(() => made.workers.dispose());

/** What was won counts 10. */
const rewardOf = ({ won, turns }: SetUp["trajectories"][number]) => {
  const total = won ? 10 : 0;
  return { episode: total, turns: new Float64Array(turns.length), total, breakdown: {} };
};

describe("advantages", () => {
  it.each([
    ["grpo", "conversation"],
    ["gigpo", "steps"],
    ["gigpo", "conversation"],
  ])("%s in %s: of a rescued group, as if its success were new", async (estimator, context) => {
    const own = await options(`algorithm.adv_estimator=${estimator}`, `env.context=${context}`);
    const wins = made.trajectories.filter(({ won }) => won);
    const { group } = wins[0]!;
    const inContext = made.trajectories.map((one) => ({
      ...one,
      context: context as "steps" | "conversation",
    }));
    const [won] = inContext.filter((one) => one.group === group && one.won);
    const lost = inContext.filter((one) => one.group === group && !one.won);
    expect(lost.length).toBeGreaterThan(1);
    const estimated = (members: typeof inContext) =>
      estimateAdvantages(
        packTrajectories(members, { anchors: own.advantages.anchors }),
        { rewards: members.map(rewardOf) },
        own.advantages,
        FIXED_KL,
        made.ranks,
      );
    const expected = estimated([...lost, won!]);

    const buffer = openReplay(own.replay!);
    const places = new Map([[group, 3]]);
    const plain = { trajectories: [won!], rewards: [rewardOf(won!)], places: [3], fresh: 1 };
    remember(buffer, { ...plain, metrics: {} }, [1], made.ranks, 1);
    const fresh = { trajectories: lost, rewards: lost.map(rewardOf), places };
    const learned = withReplays(
      fresh as unknown as Parameters<typeof withReplays>[0],
      buffer,
      { options: own, ranks: made.ranks },
      2,
    );
    expect(learned.metrics).toMatchObject({ "replay/rescued_groups": 1, "replay/age_mean": 1 });
    expect(learned.fresh).toBe(lost.length);
    const got = estimated([...learned.trajectories] as typeof inContext);
    expect(got.advantages).toEqual(expected.advantages);
    // GiGPO's steps are compared with those of the same state, whoever took them.
    expect(got.steps).toEqual(expected.steps);
    const batch = packTrajectories(learned.trajectories);
    expect(meanAdvantages(batch, got).at(-1)).toBeGreaterThan(0);
  });
});

/** PPO's loss of all rows, written down plainly: replayed ones against what was recorded. */
function plainLoss(
  model: Model,
  { batch }: SetUp,
  advantages: Float64Array,
  replayed: ReadonlySet<number>,
  correction: string,
) {
  const rows = Array.from({ length: rowCount(batch) }, (_, row) => row);
  const tokens = rows.reduce((sum, row) => sum + trainedPlaces(batch, row).length, 0);
  let loss = zeros([]);
  for (const row of rows) {
    const { places, logprobs } = plainRow(model, batch, row);
    const now = logprobs.detach().toNumbers();
    const recorded = places.map((place) => batch.logprobs[place]!);
    const isOld = replayed.has(row);
    const old = isOld && correction === "ppo" ? recorded : [...now];
    const weights = places.map((_, i) =>
      isOld && correction === "truncated" ? Math.min(2, Math.exp(now[i]! - recorded[i]!)) : 1,
    );
    const gain = tensor(places.map((place) => advantages[place]!));
    const ratio = logprobs.sub(tensor(old)).exp();
    const [free, held] = [ratio.mul(gain).neg(), ratio.clamp(0.8, 1.2).mul(gain).neg()];
    const clipped = where(held.gt(free), held, free);
    const bound = gain.mul(-3);
    const twice = where(bound.lt(clipped), bound, clipped);
    loss = loss.add(where(gain.lt(0), twice, clipped).mul(tensor(weights)).sum());
  }
  return loss.div(tokens);
}

it.each(["ppo", "truncated"])(
  "gradients with %s are those of a plain formula",
  async (correction) => {
    const own = await options(
      `algorithm.replay.correction=${correction}`,
      "actor_rollout_ref.actor.optim.lr=2e-2",
    );
    const { batch, ranks } = made;
    const random = Float64Array.from(batch.ids, (_, i) => Math.sin(3 * i + 1));
    const advantages = random.map((value, i) => (batch.rows.mask[i] ? value : 0));
    const trained = (folder: string) =>
      createTrainedModel(loadModel(folder), own.actor.optimizer, 10, "none", ranks);
    const update = { ...updateOptions(own, "actor", 1) };
    // The policy moves on; what was recorded is of the one before.
    const first = trained(warm);
    updateActor(first, batch, { advantages }, actorSettings(own), update);
    const moved = join(parent, `moved-${correction}`);
    saveModel(first.model, moved, { tokenizerFolder: warm });

    const actor = trained(moved);
    const workers = { ...made.workers, actor };
    const given = { options: own, workers, ranks };
    const replayed = new Set([1, 4, 5]);
    const dealt = dealtRows(Array.from(batch.trajectoryOf), ranks);
    const time = stopwatch();
    const before = prepare(given, batch, dealt, time, replayed);
    const prepared = withOldLogprobs(given, before, advantages, dealt, time, replayed);
    updateActor(actor, batch, { ...prepared, advantages }, actorSettings(own), update);
    const { tensors } = actor.state();
    const got = [...actor.model.trainable.keys()].flatMap((name) =>
      [...tensors.get(`first_moment.${name}`)!.toNumbers()].map((value) => value / 0.1),
    );

    const twin = loadModel(moved);
    tidy(() => backward(plainLoss(twin, made, advantages, replayed, correction)));
    const expected = gradientsOf(twin);
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(1e-2);
    expect(largestDifference(got, expected)).toBeLessThan(1e-6);
    // The recorded log-probabilities mattered.
    expect(Math.abs(prepared.metrics["replay/ratio_mean"]! - 1)).toBeGreaterThan(0.01);
    const wrong = loadModel(moved);
    tidy(() => backward(plainLoss(wrong, made, advantages, new Set(), correction)));
    expect(largestDifference(gradientsOf(wrong), expected)).toBeGreaterThan(1e-4);
    for (const model of [first.model, actor.model, twin, wrong]) model.dispose();
    for (const one of [first, actor]) one.dispose();
  },
);
