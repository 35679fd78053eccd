/**
 * @file Keeps what an update used and computed of single tokens, for some groups of an iteration: what the dashboard's
 * microscope shows. The numbers are those of the update, not computed again.
 */
import type { TokenColumn, TokenFolder, TokenTable } from "../../monitoring/index.ts";
import { joinTables } from "../../monitoring/index.ts";
import type { Batch } from "../../rollout/index.ts";
import type { TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { TokenWatch } from "../workers/actor.ts";
import type { EstimatedAdvantages } from "./advantages.ts";
import type { Prepared } from "./prepare.ts";
import type { Stopwatch } from "./stopwatch.ts";

export interface TokenRecord {
  readonly watch: TokenWatch;
  /** On rank 0: writes what all ranks have. */
  store(
    estimated: EstimatedAdvantages,
    prepared: Prepared,
    folder: TokenFolder | undefined,
    iteration: number,
  ): void;
}

/**
 * Undefined: nothing is kept. `places`: by trajectory, the group's place among those of all ranks. What it takes is told
 * to `time`, in part inside of the update's phase.
 */
export function tokenRecord(
  options: TrainingOptions,
  batch: Batch,
  totals: readonly number[],
  places: readonly number[],
  ranks: Ranks,
  time: Stopwatch,
): TokenRecord | undefined {
  const { tokenGroups, keepTrajectories } = options.run;
  if (tokenGroups === 0 || !keepTrajectories) return undefined;
  const chosen = chosenGroups(tokenGroups, totals, places, ranks);
  const isKept = batch.trajectories.map((_, i) => chosen.has(places[i]!));
  const tokens = batch.ids.length;
  const column = () => new Float32Array(tokens).fill(Number.NaN);
  const seen: Partial<Record<TokenColumn, Float32Array>> = {};
  const into = (name: TokenColumn, at: Int32Array, values: ArrayLike<number>) => {
    seen[name] ??= column();
    const target = seen[name];
    for (let i = 0; i < at.length; i++) target[at[i]!] = values[i]!;
  };
  const timed = <Value>(work: () => Value) => time.phase("token_record", work);
  return {
    watch: {
      wants: (rows) => rows.some((row) => isKept[batch.trajectoryOf[row]!]),
      // A token of several epochs has the numbers of the last.
      see: (tokens) =>
        timed(() => {
          const pass = tokens();
          into("logprob", pass.places, pass.logprobs);
          into("old_logprob", pass.places, pass.oldLogprobs);
          into("entropy", pass.places, pass.entropies);
          into("loss", pass.places, pass.losses);
          into("weight", pass.places, pass.weights);
          into(
            "mini_batch",
            pass.places,
            new Float64Array(pass.places.length).fill(pass.miniBatch),
          );
          if (pass.clipped) into("clipped", pass.places, pass.clipped);
        }),
    },
    store: (estimated, prepared, folder, iteration) =>
      timed(() => {
        const table = tableOf(options, batch, isKept, seen, estimated, prepared, iteration);
        const parts = ranks.toFirst({ table, places: places.filter((_, i) => isKept[i]) });
        if (folder) folder.write(inOrder(parts));
      }),
  };
}

/**
 * So many groups, spread over the batch: first those in which the members differ, because the others have nothing to
 * show. The same whatever the number of ranks.
 */
function chosenGroups(
  count: number,
  totals: readonly number[],
  places: readonly number[],
  ranks: Ranks,
): ReadonlySet<number> {
  const spread = new Map<number, { least: number; most: number }>();
  for (const part of ranks.gather({ totals, places }))
    for (const [i, place] of part.places.entries()) {
      const total = part.totals[i]!;
      const { least, most } = spread.get(place) ?? { least: total, most: total };
      spread.set(place, { least: Math.min(least, total), most: Math.max(most, total) });
    }
  const all = [...spread].sort(([a], [b]) => a - b);
  if (count < 0 || count >= all.length) return new Set(spread.keys());
  const telling = all.filter(([, { least, most }]) => most > least);
  const silent = all.filter(([, { least, most }]) => !(most > least));
  const first = evenly(telling, Math.min(count, telling.length));
  return new Set([...first, ...evenly(silent, count - first.length)].map(([place]) => place));
}

function evenly<Value>(values: readonly Value[], count: number): Value[] {
  return Array.from({ length: count }, (_, i) => values[Math.floor((i * values.length) / count)]!);
}

function tableOf(
  { advantages: { name }, actor }: TrainingOptions,
  batch: Batch,
  isKept: readonly boolean[],
  seen: Partial<Record<TokenColumn, Float32Array>>,
  estimated: EstimatedAdvantages,
  prepared: Prepared,
  step: number,
): TokenTable {
  const { spans, trajectories } = batch;
  const columns: Partial<Record<TokenColumn, ArrayLike<number> | undefined>> = {
    trained: batch.rows.mask,
    ...seen,
    ...(prepared.oldLogprobs && !seen.old_logprob && { old_logprob: prepared.oldLogprobs }),
    reward: estimated.rewards,
    advantage: estimated.advantages,
    advantage_episode: estimated.parts.episode,
    advantage_step: estimated.parts.step,
    ...(prepared.values && { value: prepared.values, return: estimated.returns }),
    reference_logprob: prepared.referenceLogprobs,
    importance: prepared.importanceWeights,
  };
  const kept: number[] = [];
  const episodes = trajectories.flatMap(({ id }, i) => {
    if (!isKept[i]) return [];
    const turns = spanOrder(batch, i).map((span) => {
      for (let token = spans.start[span]!; token < spans.end[span]!; token++) kept.push(token);
      return {
        tokens: spans.end[span]! - spans.start[span]!,
        return: estimated.steps.returns[span]!,
        ...(estimated.steps.groups && { stepGroup: estimated.steps.groups[span]! }),
      };
    });
    return [{ id, turns }];
  });
  const {
    clipRatio = 0.2,
    clipRatioLow = clipRatio,
    clipRatioHigh = clipRatio,
  } = actor.lossOptions;
  return {
    step,
    about: {
      estimator: name,
      loss: actor.loss.name,
      aggregation: actor.loss.kind.aggregation ?? actor.aggregation ?? "token-mean",
      clip_low: clipRatioLow,
      clip_high: clipRatioHigh,
      kl_coefficient: actor.kl?.coefficient ?? 0,
      entropy_coefficient: actor.entropy,
    },
    episodes,
    columns: Object.fromEntries(
      Object.entries(columns).flatMap(([column, values]) =>
        values ? [[column, Float32Array.from(kept, (token) => values[token]!)]] : [],
      ),
    ),
  };
}

/** An episode's spans, turn by turn. */
function spanOrder({ spans }: Batch, trajectory: number): number[] {
  const found: number[] = [];
  for (let span = 0; span < spans.row.length; span++)
    if (spans.trajectory[span] === trajectory) found.push(span);
  return found.sort((a, b) => spans.turn[a]! - spans.turn[b]!);
}

/** Groups in the order in which one process would play them. */
function inOrder(parts: readonly { table: TokenTable; places: readonly number[] }[]): TokenTable {
  const rank = new Map<string, number>();
  for (const { table, places } of parts)
    for (const [i, { id }] of table.episodes.entries()) rank.set(id, places[i]!);
  const whole = joinTables(parts.map(({ table }) => table));
  if (parts.length === 1) return whole;
  let at = 0;
  const pieces = whole.episodes.map((episode) => {
    const start = at;
    for (const { tokens } of episode.turns) at += tokens;
    return { episode, start, end: at };
  });
  pieces.sort((a, b) => rank.get(a.episode.id)! - rank.get(b.episode.id)!);
  return {
    ...whole,
    episodes: pieces.map(({ episode }) => episode),
    columns: Object.fromEntries(
      Object.entries(whole.columns).map(([name, values]) => [
        name,
        Float32Array.from(
          pieces.flatMap(({ start, end }) => Array.from(values.subarray(start, end))),
        ),
      ]),
    ),
  };
}
