/**
 * @file Steps: one decision of an agent in its world, and the tokens that it took. The unit of GiGPO
 * and HGPO, of step rewards and of action validity.
 *
 * With rows that are steps, a step is its row (`stepsOfRows`). With rows that are conversations, a
 * step is one agent segment (`agentSegments`, or the rollout's own table, which also knows where two
 * segments touch).
 */
import { checkLength, type Rows, rowCount } from "../rows.ts";

/** Where each step's tokens stand. Steps may come in any order. */
export interface Spans {
  /** [steps] */
  readonly row: Int32Array;
  /** [steps] First token, counted over all rows. */
  readonly start: Int32Array;
  /** [steps] One past the last token. */
  readonly end: Int32Array;
}

export function stepCount(spans: Spans): number {
  return spans.row.length;
}

/** One step per row. */
export function stepsOfRows({ offsets }: Rows): Spans {
  const count = offsets.length - 1;
  return {
    row: Int32Array.from({ length: count }, (_, row) => row),
    start: offsets.slice(0, count),
    end: offsets.slice(1),
  };
}

/** One step per unbroken run of trained tokens. */
export function agentSegments({ offsets, mask }: Rows): Spans {
  const row: number[] = [];
  const start: number[] = [];
  const end: number[] = [];
  for (let i = 0; i + 1 < offsets.length; i++)
    for (let token = offsets[i]!; token < offsets[i + 1]!; token++) {
      if (mask[token] !== 1) continue;
      row.push(i);
      start.push(token);
      while (token < offsets[i + 1]! && mask[token] === 1) token++;
      end.push(token);
    }
  return { row: Int32Array.from(row), start: Int32Array.from(start), end: Int32Array.from(end) };
}

/** Refuses spans that leave their row or share tokens with another step. */
export function checkSpans(who: string, spans: Spans, rows: Rows): void {
  const count = stepCount(spans);
  checkLength(who, "the spans' start", spans.start.length, count);
  checkLength(who, "the spans' end", spans.end.length, count);
  const order = Array.from({ length: count }, (_, step) => step);
  order.sort((a, b) => spans.start[a]! - spans.start[b]! || spans.end[a]! - spans.end[b]!);
  let last = 0;
  for (const step of order) {
    const row = spans.row[step]!;
    const start = spans.start[step]!;
    const end = spans.end[step]!;
    const inside =
      row >= 0 &&
      row < rowCount(rows) &&
      start >= rows.offsets[row]! &&
      start <= end &&
      end <= rows.offsets[row + 1]!;
    if (!inside)
      throw new RangeError(
        `${who}: step ${step} covers the tokens ${start} to ${end}, which is not inside its row ${row}`,
      );
    if (start < last)
      throw new RangeError(`${who}: step ${step} starts at token ${start}, inside another step`);
    last = end;
  }
}

/** [tokens] Each step's value on its trained tokens, 0 elsewhere. */
export function broadcastSteps(rows: Rows, spans: Spans, values: Float64Array): Float64Array {
  const result = new Float64Array(rows.mask.length);
  for (let step = 0; step < values.length; step++)
    for (let token = spans.start[step]!; token < spans.end[step]!; token++)
      if (rows.mask[token] === 1) result[token] = values[step]!;
  return result;
}
