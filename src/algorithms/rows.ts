/**
 * @file Rows: the shape in which every algorithm sees a batch. Tokens of all rows stand behind each
 * other in flat arrays, without padding; `offsets` says where each row starts, `mask` which tokens
 * the agent sampled and training may change.
 *
 * A row is a whole conversation (agent spans with observations between them, mask 0) or one step
 * of one. Values under mask 0 never matter: they are not summed, not checked and not written.
 * Sums run in float64.
 */

/** Numbers per token or per row. */
export type Numbers = Float32Array | Float64Array;

/** What names a group (one task) or a trajectory (one episode). */
export type Id = number | string;

/** One id per row, or per step. */
export type Ids = ArrayLike<Id>;

export interface Rows {
  /** [rows + 1] Where each row starts; the last entry is the number of tokens. */
  readonly offsets: Int32Array;
  /** [tokens] 1: sampled by the agent and trained; 0: prompt, observation, rejected. */
  readonly mask: Uint8Array;
}

/** What every advantage estimator gives. Both are 0 where the mask is 0. */
export interface Advantages {
  /** [tokens] */
  advantages: Float64Array;
  /** [tokens] What a critic would be trained on; the same array where an estimator has no critic. */
  returns: Float64Array;
  /** What the advantages are the sum of, by name, each [tokens]. For people who look at them. */
  parts?: Readonly<Record<string, Float64Array>>;
  /** [steps] Steps with the same number were compared with each other. For people who look at them. */
  stepGroups?: Int32Array;
}

/** A value that would have spoiled everything computed from it, and where it stands. */
export class NonFiniteError extends RangeError {
  /** The row it stands in. */
  readonly row: number;
  /** Its place in the row; -1 for a value of the whole row. */
  readonly token: number;

  constructor(what: string, value: number, row: number, token: number) {
    const place = token < 0 ? `row ${row}` : `row ${row}, token ${token}`;
    super(
      `${what} of ${place} is ${value}, expected a finite number. Find out what produced it, or ` +
        "leave that row out of the batch.",
    );
    this.name = "NonFiniteError";
    this.row = row;
    this.token = token;
  }
}

export function rowCount(rows: Rows): number {
  return rows.offsets.length - 1;
}

export function tokenCount(rows: Rows): number {
  return rows.mask.length;
}

/** Refuses offsets and masks that do not fit together. */
export function checkRows(who: string, { offsets, mask }: Rows): void {
  if (offsets.length === 0 || offsets[0] !== 0)
    throw new RangeError(`${who}: offsets must have rows + 1 entries and start with 0`);
  for (let row = 1; row < offsets.length; row++)
    if (offsets[row]! < offsets[row - 1]!)
      throw new RangeError(
        `${who}: row ${row - 1} ends at ${offsets[row]} before it starts at ${offsets[row - 1]}`,
      );
  if (offsets[offsets.length - 1] !== mask.length)
    throw new RangeError(
      `${who}: offsets end at ${offsets[offsets.length - 1]}, the mask has ${mask.length} tokens`,
    );
  let seen = 0;
  for (let token = 0; token < mask.length; token++) seen |= mask[token]!;
  if (seen <= 1) return;
  const token = mask.findIndex((value) => value > 1);
  throw new RangeError(`${who}: the mask of token ${token} is ${mask[token]}, not 0 or 1`);
}

export function checkLength(who: string, name: string, actual: number, expected: number): void {
  if (actual !== expected)
    throw new RangeError(`${who}: ${name} has ${actual} entries, expected ${expected}`);
}

/** Refuses token values of the wrong length, and non-finite ones where the mask is 1. */
export function checkTokens(who: string, name: string, values: Numbers, rows: Rows): void {
  const { mask, offsets } = rows;
  checkLength(who, name, values.length, mask.length);
  for (let token = 0; token < mask.length; token++)
    if (mask[token] === 1 && !Number.isFinite(values[token]!)) {
      const row = rowOf(offsets, token);
      throw new NonFiniteError(`${who}: ${name}`, values[token]!, row, token - offsets[row]!);
    }
}

/** Refuses values per row of the wrong length, and non-finite ones. */
export function checkPerRow(who: string, name: string, values: Numbers, count: number): void {
  checkLength(who, name, values.length, count);
  for (let row = 0; row < count; row++)
    if (!Number.isFinite(values[row]!))
      throw new NonFiniteError(`${who}: ${name}`, values[row]!, row, -1);
}

/** The row that a token stands in. */
export function rowOf(offsets: Int32Array, token: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! <= token) low = middle;
    else high = middle;
  }
  return low;
}

/** [rows] How many tokens of each row are trained. */
export function trainedTokens({ offsets, mask }: Rows): Int32Array {
  const counts = new Int32Array(offsets.length - 1);
  for (let row = 0; row < counts.length; row++) {
    let count = 0;
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++) count += mask[token]!;
    counts[row] = count;
  }
  return counts;
}

/** [rows] Sums over the trained tokens of each row: with rewards, the rows' scores. */
export function sumPerRow({ offsets, mask }: Rows, values: Numbers): Float64Array {
  const sums = new Float64Array(offsets.length - 1);
  for (let row = 0; row < sums.length; row++) {
    let sum = 0;
    const end = offsets[row + 1]!;
    for (let token = offsets[row]!; token < end; token++)
      if (mask[token] === 1) sum += values[token]!;
    sums[row] = sum;
  }
  return sums;
}

/** [tokens] Each row's value on its trained tokens, 0 elsewhere. */
export function broadcast({ offsets, mask }: Rows, perRow: Float64Array): Float64Array {
  const values = new Float64Array(mask.length);
  for (let row = 0; row < perRow.length; row++)
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
      if (mask[token] === 1) values[token] = perRow[row]!;
  return values;
}

/** Checks a batch of rewards and gives the rows' scores: how every outcome estimator starts. */
export function scoresOf(who: string, rows: Rows, rewards: Numbers): Float64Array {
  checkRows(who, rows);
  checkLength(who, "the rewards", rewards.length, rows.mask.length);
  const scores = sumPerRow(rows, rewards);
  // A reward that is not finite makes its row's sum so: look for it only then.
  let bad = 0;
  while (bad < scores.length && Number.isFinite(scores[bad]!)) bad++;
  if (bad === scores.length) return scores;
  checkTokens(who, "the reward", rewards, rows);
  throw new NonFiniteError(`${who}: the sum of rewards`, scores[bad]!, bad, -1);
}
