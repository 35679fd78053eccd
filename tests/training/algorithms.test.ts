/**
 * @file Everything that the configuration can name trains: each estimator, each policy loss, and what stands
 * around them (rejection, resampling, the variance proxy, overlong replies).
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { advantageEstimators, policyLosses } from "../../src/algorithms/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { tinyRun, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const trained = (...own: string[]) => tinyRun(parent, warm, own);

const SEVERAL = "actor_rollout_ref.actor.ppo_mini_batch_size=4";

describe.each(Object.keys(advantageEstimators))("the estimator %s", (name) => {
  it.each(["conversation", "steps"])("trains in the context %s", async (context) => {
    const { metrics, said } = await trained(
      `algorithm.adv_estimator=${name}`,
      `env.context=${context}`,
    );
    expect(said).toEqual([]);
    expect(metrics).toHaveLength(2);
    for (const one of metrics) expect(Number.isFinite(one["actor/grad_norm"])).toBe(true);
    // Of a group with two equally good rows, pass@k learns nothing.
    if (name !== "grpo_passk")
      expect(Math.max(...metrics.map((one) => one["actor/grad_norm"]!))).toBeGreaterThan(0);
  });
});

describe.each(Object.keys(policyLosses))("the policy loss %s", (name) => {
  it("trains, with one update and with several, in passes of any size", async () => {
    const loss = `actor_rollout_ref.actor.policy_loss.loss_mode=${name}`;
    for (const own of [[], [SEVERAL, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=60"]]) {
      const { metrics, said } = await trained(loss, "algorithm.adv_estimator=grpo", ...own);
      expect(said).toEqual([]);
      expect(metrics[1]!["actor/grad_norm"]).toBeGreaterThan(0);
      expect(metrics[1]!["actor/updates"]).toBe(own.length === 0 ? 1 : 2);
    }
  });

  it("is the same run again", async () => {
    const loss = `actor_rollout_ref.actor.policy_loss.loss_mode=${name}`;
    const [first, second] = [await trained(loss, SEVERAL), await trained(loss, SEVERAL)];
    expect(second.metrics[1]!["actor/grad_norm"]).toBe(first.metrics[1]!["actor/grad_norm"]);
  });
});

describe("around them", () => {
  it("rejection leaves tokens out on which rollout and training disagree", async () => {
    const strict = await trained(
      "algorithm.rollout_correction.rollout_rs=token_k1,seq_max_k3",
      "algorithm.rollout_correction.rollout_rs_threshold=1.5,0.5",
    );
    // Here both are the same to rounding: nothing is rejected, and it says so.
    expect(strict.metrics[0]!["rollout_corr/rollout_rs_masked_fraction"]).toBe(0);
    // Drawn otherwise than trained, what is recorded is of another distribution.
    const bounds = "algorithm.rollout_correction.rollout_rs_threshold=1.0000001";
    const tight = await trained("algorithm.rollout_correction.rollout_rs=token_k1", bounds);
    const share = tight.metrics[0]!["rollout_corr/rollout_rs_masked_fraction"]!;
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThanOrEqual(1);
  });

  it("a rejection that is none is refused with what there is", async () => {
    await expect(trained("algorithm.rollout_correction.rollout_rs=token_k9")).rejects.toThrow(
      /unknown option token_k9; expected token_k1/,
    );
  });

  it.each(["pow", "max_min", "max_random"])("PF-PPO draws rows again by %s", async (method) => {
    const { metrics } = await trained(
      "algorithm.use_pf_ppo=True",
      `algorithm.pf_ppo.reweight_method=${method}`,
      "algorithm.adv_estimator=gae",
    );
    expect(metrics[1]!["actor/grad_norm"]).toBeGreaterThan(0);
    expect(metrics[1]!["critic/grad_norm"]).toBeGreaterThan(0);
  });

  it("the gradient's signal and noise", async () => {
    const { metrics } = await trained("actor_rollout_ref.actor.calculate_sum_pi_squared=True");
    const [one] = metrics;
    const norm = one!["actor/grad_norm"]!;
    expect(one!["variance_proxy/proxy1_signal_strength"]).toBeCloseTo(norm ** 2, 8);
    expect(one!["variance_proxy/proxy2_total_power"]).toBeGreaterThan(0);
    expect(one!["variance_proxy/expected_w"]).toBeGreaterThan(0);
  });

  it("overlong replies lose reward", async () => {
    const { run } = await trained(
      "reward_model.overlong_buffer.enable=True",
      "reward_model.overlong_buffer.len=6",
      "reward_model.overlong_buffer.penalty_factor=3",
    );
    for (const { turns, rewards } of readTrajectories(join(run, "trajectories"))) {
      const lost = turns.reduce((sum, { reply }) => sum - (3 * reply.ids.length) / 6, 0);
      expect(rewards!.overlong).toBeCloseTo(lost, 9);
    }
  });
});
