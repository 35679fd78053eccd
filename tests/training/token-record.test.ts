/**
 * @file What is kept of single tokens, against plain formulas over the checkpoints and trajectories of the same run: the
 * microscope shows what the update really used.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { loadModel, packSequences, valueModelFrom, values } from "../../src/models/index.ts";
import {
  readTokens,
  recordedSteps,
  type TokenColumn,
  type TokenTable,
} from "../../src/monitoring/index.ts";
import { type Batch, packTrajectories, type Trajectory } from "../../src/rollout/index.ts";
import { noGrad, tidy } from "../../src/torch/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { plainRow, rowCount } from "./support/plain.ts";
import { tinyRun, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;
beforeAll(async () => {
  warm = await warmTinyFolder(parent);
});

const SETTINGS = [
  "trainer.token_record_groups=-1",
  "trainer.save_freq=1",
  "trainer.max_actor_ckpt_to_keep=9",
  "actor_rollout_ref.actor.use_invalid_action_penalty=False",
  // Rows without a signal, too, are computed.
  "actor_rollout_ref.actor.entropy_coeff=0.001",
];

/** The iteration's trained episodes as they were recorded, and the model that played them. */
function iteration(run: string, episodes: readonly Trajectory[], step: number) {
  const played = episodes.filter((one) => one.step === step && one.dropped === undefined);
  const table = readTokens(join(run, "tokens"), step)!;
  const byId = new Map(played.map((one) => [one.id, one]));
  const batch = packTrajectories(table.episodes.map(({ id }) => byId.get(id)!));
  const name = `step-${String(step - 1).padStart(6, "0")}`;
  const before = (part: string) => (step === 1 ? warm : join(run, "checkpoints", name, part));
  return { batch, table, played, before };
}

/** The columns in the batch's places [tokens]; NaN elsewhere. */
function placed({ columns }: TokenTable, { rows }: Batch, column: TokenColumn): Float64Array {
  const result = new Float64Array(rows.mask.length).fill(Number.NaN);
  let at = 0;
  for (let token = 0; token < result.length; token++)
    if (rows.mask[token]) result[token] = columns[column]![at++]!;
  expect(at).toBe(columns[column]!.length);
  return result;
}

function expectClose(found: ArrayLike<number>, expected: ArrayLike<number>, what: string): void {
  expect(found.length, what).toBe(expected.length);
  for (let i = 0; i < found.length; i++)
    expect(Math.abs(found[i]! - expected[i]!), `${what} ${i}`).toBeLessThan(1e-5);
}

const mean = (numbers: readonly number[]) =>
  numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
const deviation = (numbers: readonly number[]) =>
  Math.sqrt(
    numbers.reduce((sum, value) => sum + (value - mean(numbers)) ** 2, 0) / (numbers.length - 1),
  );
const totalOf = ({ rewards }: Trajectory) =>
  Object.values(rewards!).reduce((sum, value) => sum + value, 0);

describe("what is kept of tokens", () => {
  it.each([
    ["grpo", []],
    ["gigpo", []],
    ["gae", ["critic.optim.lr=1e-3"]],
    ["grpo, in several updates", ["actor_rollout_ref.actor.ppo_mini_batch_size=5"]],
  ])("%s: is what plain formulas give", { timeout: 120_000 }, async (name, own) => {
    const estimator = name.split(",")[0]!;
    const { run, episodes, metrics } = await tinyRun(parent, warm, [
      ...SETTINGS,
      `algorithm.adv_estimator=${estimator}`,
      ...own,
    ]);
    const all = episodes();
    expect(recordedSteps(join(run, "tokens"))).toEqual([1, 2]);
    for (const step of [1, 2]) {
      const { batch, table, before } = iteration(run, all, step);
      const column = (what: TokenColumn) => placed(table, batch, what);
      const [logprobs, old, entropies] = [
        column("logprob"),
        column("old_logprob"),
        column("entropy"),
      ];
      const updates = metrics[step - 1]!["actor/updates"]!;
      expect(updates).toBe(name.includes("several") ? 2 : 1);

      // The policy before the iteration.
      const model = loadModel(before("actor"));
      for (let row = 0; row < rowCount(batch); row++)
        tidy(() =>
          noGrad(() => {
            const plain = plainRow(model, batch, row);
            const at = (values: Float64Array) => plain.places.map((place) => values[place]!);
            expectClose(at(old), plain.logprobs.toNumbers(), "old log-probability");
            if (table.columns.mini_batch!.some((number) => number > 0)) return;
            expectClose(at(logprobs), plain.logprobs.toNumbers(), "log-probability");
            expectClose(at(entropies), plain.entropies.toNumbers(), "entropy");
          }),
        );
      model.dispose();
      if (updates > 1) expect(logprobs.some((value, i) => value !== old[i])).toBe(true);

      // What the loss used adds up to what was logged.
      const sums = new Map<number, number>();
      const { loss, weight, mini_batch: miniBatch } = table.columns;
      for (let i = 0; i < loss!.length; i++)
        sums.set(miniBatch![i]!, (sums.get(miniBatch![i]!) ?? 0) + loss![i]! * weight![i]!);
      expect(mean([...sums.values()])).toBeCloseTo(metrics[step - 1]!["actor/pg_loss"]!, 5);

      // The loss of each token, by PPO's formula.
      const [advantages, losses] = [column("advantage"), column("loss")];
      for (let i = 0; i < losses.length; i++) {
        if (!batch.rows.mask[i]) continue;
        const ratio = Math.exp(logprobs[i]! - old[i]!);
        const clipped = Math.min(Math.max(ratio, 0.8), 1.2);
        const expected = Math.max(-advantages[i]! * ratio, -advantages[i]! * clipped);
        const bounded = advantages[i]! < 0 ? Math.min(-3 * advantages[i]!, expected) : expected;
        expect(losses[i]).toBeCloseTo(bounded, 5);
      }

      // Rewards and advantages.
      const rewards = column("reward");
      const { offsets } = batch.rows;
      for (let row = 0; row < rowCount(batch); row++) {
        let sum = 0;
        for (let i = offsets[row]!; i < offsets[row + 1]!; i++)
          if (batch.rows.mask[i]) sum += rewards[i]!;
        expect(sum).toBeCloseTo(totalOf(batch.trajectories[row]!), 5);
      }
      if (estimator === "gae") expectGae(batch, table, before("critic"));
      else expectGroups(batch, table, estimator === "gigpo");
    }
  });

  it("a few groups: those with something to learn first; none, where it is off", async () => {
    const two = await tinyRun(parent, warm, ["trainer.token_record_groups=1"]);
    const table = readTokens(join(two.run, "tokens"), 1)!;
    const groups = new Set(table.episodes.map(({ id }) => id.split("#")[0]));
    expect(table.episodes.length).toBe(3);
    expect(groups.size).toBe(1);
    const none = await tinyRun(parent, warm, ["trainer.token_record_groups=0"]);
    expect(existsSync(join(none.run, "tokens"))).toBe(false);
  });
});

/** GRPO: the total among those of the group. GiGPO: less the group's mean, and the same of returns in the same state. */
function expectGroups(batch: Batch, table: TokenTable, isGigpo: boolean): void {
  const { trajectories, spans } = batch;
  const advantages = placed(table, batch, "advantage");
  const totals = trajectories.map(totalOf);
  const turns = trajectories.map(({ turns }) => turns);
  const returnOf = (episode: number, turn: number) =>
    turns[episode]!.slice(turn).reduce((sum, one, i) => sum + 0.95 ** i * one.reward, 0);
  for (let span = 0; span < spans.row.length; span++) {
    const [episode, turn] = [spans.trajectory[span]!, spans.turn[span]!];
    const { group } = trajectories[episode]!;
    const members = trajectories.flatMap((one, i) => (one.group === group ? [i] : []));
    const token = spans.start[span]!;
    if (!isGigpo) {
      const others = members.map((i) => totals[i]!);
      const expected = (totals[episode]! - mean(others)) / (deviation(others) + 1e-6);
      expect(advantages[token]).toBeCloseTo(expected, 4);
      continue;
    }
    // verl-agent counts an episode once per row; here a row is an episode's span.
    const counted = members.flatMap((i) => turns[i]!.map(() => totals[i]!));
    const ofEpisode = totals[episode]! - mean(counted);
    const { anchor } = turns[episode]![turn]!;
    const same = members.flatMap((i) =>
      turns[i]!.flatMap((one, k) => (one.anchor === anchor ? [returnOf(i, k)] : [])),
    );
    const own = returnOf(episode, turn);
    const ofStep = same.length > 1 ? own - mean(same) : 0;
    expect(placed(table, batch, "advantage_episode")[token]).toBeCloseTo(ofEpisode, 4);
    expect(placed(table, batch, "advantage_step")[token]).toBeCloseTo(ofStep, 4);
    expect(advantages[token]).toBeCloseTo(ofEpisode + ofStep, 4);
    const recorded = table.episodes[episode]!.turns[turn]!;
    expect(recorded.return).toBeCloseTo(own, 5);
    expect(recorded.tokens).toBe(spans.end[span]! - token);
    const shared = table.episodes.flatMap((one, i) =>
      one.turns.flatMap((each, k) =>
        each.stepGroup === recorded.stepGroup ? [turns[i]![k]!.anchor] : [],
      ),
    );
    expect(new Set(shared)).toEqual(new Set([anchor]));
    expect(shared.length).toBe(same.length);
  }
}

/** From the last trained token to the first, with the critic's values; then whitened over the batch. */
function expectGae(batch: Batch, table: TokenTable, critic: string): void {
  const { offsets, mask } = batch.rows;
  const [rewards, recorded] = [placed(table, batch, "reward"), placed(table, batch, "value")];
  const model = valueModelFrom(critic);
  const places: number[] = [];
  const plain: number[] = [];
  const raw: number[] = [];
  for (let row = 0; row < rowCount(batch); row++) {
    const ids = batch.ids.subarray(offsets[row]!, offsets[row + 1]!);
    const all = tidy(() => noGrad(() => values(model, packSequences([ids])).toNumbers()));
    let [advantage, next] = [0, 0];
    const own: [number, number, number][] = [];
    for (let i = offsets[row + 1]! - 1; i >= offsets[row]!; i--) {
      if (!mask[i]) continue;
      const value = all[i - offsets[row]! - 1]!;
      advantage += rewards[i]! + next - value;
      next = value;
      own.unshift([i, value, advantage]);
    }
    for (const [i, value, raised] of own) {
      places.push(i);
      plain.push(value);
      raw.push(raised);
    }
  }
  model.dispose();
  expectClose(
    places.map((place) => recorded[place]!),
    plain,
    "value",
  );
  const returns = placed(table, batch, "return");
  expectClose(
    places.map((place) => returns[place]!),
    raw.map((value, i) => value + plain[i]!),
    "return",
  );
  const advantages = placed(table, batch, "advantage");
  const spread = deviation(raw);
  for (const [i, place] of places.entries())
    expect(advantages[place]).toBeCloseTo((raw[i]! - mean(raw)) / spread, 3);
}
