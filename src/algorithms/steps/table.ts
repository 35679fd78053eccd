/**
 * @file Steps: one decision of an agent in its world, and the tokens that it took. The unit of GiGPO
 * and HGPO, of step rewards and of action validity.
 *
 * With rows that are steps, a step is its row (`stepsOfRows`). With rows that are conversations, a
 * step is one agent span (`agentSpans`, or the rollout's own table, which also knows where two
 * spans touch).
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
  const row = new Int32Array(offsets.length - 1);
  for (let step = 0; step < row.length; step++) row[step] = step;
  return { row, start: offsets.slice(0, row.length), end: offsets.slice(1) };
}

/** One step per unbroken run of trained tokens. */
export function agentSpans({ offsets, mask }: Rows): Spans {
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
  const order = inOrder(spans);
  let last = 0;
  for (let place = 0; place < count; place++) {
    const step = order[place]!;
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

/** [steps] The steps by where they start; mostly they stand so already. */
function inOrder(spans: Spans): Int32Array {
  const { start, end } = spans;
  const order = new Int32Array(start.length);
  let sorted = true;
  for (let step = 0; step < order.length; step++) {
    order[step] = step;
    if (step > 0 && (start[step - 1]! > start[step]! || end[step - 1]! > end[step]!))
      sorted = false;
  }
  return sorted ? order : order.sort((a, b) => start[a]! - start[b]! || end[a]! - end[b]!);
}

/** [tokens] Each step's value on its trained tokens, 0 elsewhere. */
export function broadcastSteps(
  { mask }: Rows,
  { start, end }: Spans,
  values: Float64Array,
): Float64Array {
  const result = new Float64Array(mask.length);
  for (let step = 0; step < values.length; step++) {
    const value = values[step]!;
    const stop = end[step]!;
    for (let token = start[step]!; token < stop; token++)
      if (mask[token] === 1) result[token] = value;
  }
  return result;
}
