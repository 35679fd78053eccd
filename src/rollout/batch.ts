/**
 * @file From trajectories to the packed batch that is trained on: tokens of all rows behind each other,
 * no padding, a mask on what the policy drew, and a table of the agent's spans.
 *
 * In the context `conversation` a row is an episode (or one of its branches), in `steps` it is a turn. The ids
 * are the recorded ones; nothing is encoded here.
 */
import { isWellFormed, rowsOf, type Trajectory, type Turn } from "./trajectory.ts";

/** The agent's spans: one reply each. All arrays are [spans]. */
export interface SpanTable {
  readonly row: Int32Array;
  /** First token, counted over all rows. */
  readonly start: Int32Array;
  /** One past the last token. */
  readonly end: Int32Array;
  /** Index into `trajectories`. */
  readonly trajectory: Int32Array;
  /** The turn's number in its episode, from 0. */
  readonly turn: Int32Array;
  readonly anchors: readonly string[];
  /** The world's reward of that step. */
  readonly rewards: Float64Array;
  /** 1: valid by the rule that the batch was made with. */
  readonly valid: Uint8Array;
}

export interface Batch {
  /** Where the rows stand, and which tokens were sampled. */
  readonly rows: { readonly offsets: Int32Array; readonly mask: Uint8Array };
  /** [tokens] */
  readonly ids: Int32Array;
  /** [tokens] Place in the row. */
  readonly positions: Int32Array;
  /** [tokens] As recorded, under the model; 0 where the mask is 0. */
  readonly logprobs: Float64Array;
  /** [tokens] As recorded, under the distribution that was drawn from; 0 where the mask is 0. */
  readonly sampledLogprobs: Float64Array;
  /** By token, counted over all rows: the ids that could be drawn there, where not all could. */
  readonly allowed: ReadonlyMap<number, readonly number[]>;
  /** [rows] Index into `trajectories`. */
  readonly trajectoryOf: Int32Array;
  /** [rows] The number of the row's first turn in its episode: the turn in `steps`; 0 in `conversation`. */
  readonly order: Int32Array;
  readonly spans: SpanTable;
  readonly trajectories: readonly Trajectory[];
}

/** Which fact makes an action invalid. */
export type ValidityRule = "form" | "admissible" | "both";

export function isValidTurn(turn: Turn, rule: ValidityRule): boolean {
  const formed = isWellFormed(turn);
  // Where the world does not know, an action that could be read is taken for admissible.
  const admissible = turn.action !== null && turn.admissible !== false;
  if (rule === "form") return formed;
  return rule === "admissible" ? admissible : formed && admissible;
}

/**
 * By what steps are taken for the same state: by what the agent is told, or by where it is. An action that
 * the world does not know changes nothing, so the step after it has the state of the step before, though
 * what the agent is told ("Nothing happens.") is the same everywhere.
 */
export type AnchorRule = "observation" | "state";

/** The anchor of each turn of an episode. */
export function anchorsOf(turns: readonly Turn[], rule: AnchorRule): string[] {
  const anchors: string[] = [];
  for (const [i, { anchor }] of turns.entries()) {
    const before = turns[i - 1];
    const stays = rule === "state" && before !== undefined && !isValidTurn(before, "admissible");
    anchors.push(stays ? anchors[i - 1]! : anchor);
  }
  return anchors;
}

export interface BatchOptions {
  /** Default "both". */
  readonly validity?: ValidityRule;
  /** Default "observation". */
  readonly anchors?: AnchorRule;
}

export function packTrajectories(
  trajectories: readonly Trajectory[],
  { validity = "both", anchors: anchorRule = "observation" }: BatchOptions = {},
): Batch {
  const idle = trajectories.find(({ turns }) => turns.length === 0);
  if (idle)
    throw new RangeError(
      `episode ${idle.id} (${idle.status}) has no turn to train on; keep to those that isTrainable allows`,
    );
  const pieces = trajectories.map((trajectory) => ({ rows: rowsOf(trajectory) }));
  const all = pieces.flatMap(({ rows }) => rows);
  const spanCount = all.reduce((sum, turns) => sum + turns.length, 0);
  const lengths = all.map((turns) =>
    turns.reduce((sum, { promptIds, reply }) => sum + promptIds.length + reply.ids.length, 0),
  );
  const tokens = lengths.reduce((sum, length) => sum + length, 0);

  const offsets = new Int32Array(all.length + 1);
  const mask = new Uint8Array(tokens);
  const ids = new Int32Array(tokens);
  const positions = new Int32Array(tokens);
  const logprobs = new Float64Array(tokens);
  const sampledLogprobs = new Float64Array(tokens);
  const allowed = new Map<number, readonly number[]>();
  const trajectoryOf = new Int32Array(all.length);
  const order = new Int32Array(all.length);
  const column = () => new Int32Array(spanCount);
  const spans = { row: column(), start: column(), end: column() };
  const of = { trajectory: column(), turn: column() };
  const anchors = trajectories.flatMap(({ turns }) => anchorsOf(turns, anchorRule));
  const rewards = new Float64Array(spanCount);
  const valid = new Uint8Array(spanCount);

  let at = 0;
  let row = 0;
  let span = 0;
  for (const [trajectory, { rows }] of pieces.entries()) {
    let number = 0;
    for (const turns of rows) {
      trajectoryOf[row] = trajectory;
      order[row] = number;
      const begin = at;
      for (const turn of turns) {
        ids.set(turn.promptIds, at);
        at += turn.promptIds.length;
        const { reply } = turn;
        ids.set(reply.ids, at);
        logprobs.set(reply.logprobs, at);
        sampledLogprobs.set(reply.sampledLogprobs, at);
        for (const [i, list] of reply.allowed?.entries() ?? []) if (list) allowed.set(at + i, list);
        mask.fill(1, at, at + reply.ids.length);
        spans.row[span] = row;
        spans.start[span] = at;
        at += reply.ids.length;
        spans.end[span] = at;
        of.trajectory[span] = trajectory;
        of.turn[span] = number++;
        rewards[span] = turn.reward;
        valid[span] = isValidTurn(turn, validity) ? 1 : 0;
        span++;
      }
      for (let token = begin; token < at; token++) positions[token] = token - begin;
      offsets[++row] = at;
    }
  }
  return {
    rows: { offsets, mask },
    ids,
    positions,
    logprobs,
    sampledLogprobs,
    allowed,
    trajectoryOf,
    order,
    spans: { ...spans, ...of, anchors, rewards, valid },
    trajectories,
  };
}
