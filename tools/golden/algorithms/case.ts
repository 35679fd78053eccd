/**
 * @file One golden case: reading its fields, packing its padded matrices into rows, and comparing.
 */
import type { Numbers, Rows } from "../../../src/algorithms/index.ts";
import { compareNumbers } from "../compare.ts";

export interface GoldenCase {
  name: string;
  in: Record<string, unknown>;
  out: Record<string, unknown>;
}

export interface Report {
  problems: string[];
  remark?: string;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asCase(value: unknown, number: number): GoldenCase {
  if (
    !isRecord(value) ||
    typeof value.name !== "string" ||
    !isRecord(value.in) ||
    !isRecord(value.out)
  )
    throw new TypeError(`case ${number + 1}: expected { name, in, out }`);
  return { name: value.name, in: value.in, out: value.out };
}

/** The inputs of a case, by type. */
export class Inputs {
  private readonly fields: Record<string, unknown>;

  constructor(fields: Record<string, unknown>) {
    this.fields = fields;
  }

  has(name: string): boolean {
    return this.fields[name] !== undefined;
  }

  number(name: string, fallback?: number): number {
    const value = this.fields[name] ?? fallback;
    if (typeof value !== "number") throw new TypeError(`input ${name}: expected a number`);
    return value;
  }

  boolean(name: string, fallback: boolean): boolean {
    return Boolean(this.fields[name] ?? fallback);
  }

  text(name: string, fallback?: string): string {
    const value = this.fields[name] ?? fallback;
    if (typeof value !== "string") throw new TypeError(`input ${name}: expected a text`);
    return value;
  }

  list<Item>(name: string): Item[] {
    const value = this.fields[name];
    if (!Array.isArray(value)) throw new TypeError(`input ${name}: expected a list`);
    return value as Item[];
  }

  numbers(name: string): Float64Array {
    return Float64Array.from(this.list<number>(name));
  }

  /** A padded matrix, flat. */
  matrix(name: string): Float64Array {
    return flatten(this.list<number[]>(name));
  }

  /** The padded matrices' rows: all of one width, padding masked. */
  rows(): Rows {
    const mask = this.list<number[]>("mask");
    const offsets = new Int32Array(mask.length + 1);
    for (const [row, tokens] of mask.entries()) offsets[row + 1] = offsets[row]! + tokens.length;
    return { offsets, mask: Uint8Array.from(flatten(mask)) };
  }

  /**
   * Rewards whose sums over trained tokens are the reference's scores: it also counts rewards of
   * tokens that are not trained, so those move to the row's last trained one.
   */
  outcomeRewards(name: string): Float64Array {
    const rewards = this.matrix(name);
    const { offsets, mask } = this.rows();
    for (let row = 0; row + 1 < offsets.length; row++) {
      const last = mask.subarray(offsets[row]!, offsets[row + 1]!).lastIndexOf(1) + offsets[row]!;
      for (let token = offsets[row]!; last >= offsets[row]! && token < offsets[row + 1]!; token++)
        if (mask[token] === 0) rewards[last]! += rewards[token]!;
    }
    return rewards;
  }

  /** The width of the padded matrices. */
  width(): number {
    return this.list<number[]>("mask")[0]?.length ?? 0;
  }
}

export function flatten(matrix: readonly (readonly number[])[]): Float64Array {
  return Float64Array.from(matrix.flat());
}

/** Compares tokens under the mask; ours must be 0 elsewhere. */
export function compareTokens(what: string, ours: Numbers, theirs: unknown, rows: Rows): string[] {
  if (!Array.isArray(theirs)) return [`${what}: the case has no such output`];
  const expected = flatten(theirs as number[][]);
  if (expected.length !== ours.length)
    return [`${what}: ${ours.length} values, the reference has ${expected.length}`];
  const stray = ours.findIndex((value, i) => rows.mask[i] === 0 && value !== 0);
  const under = (values: Numbers) => Array.from(values).map((v, i) => (rows.mask[i] === 1 ? v : 0));
  return [
    ...compareNumbers(what, under(ours), under(expected)),
    ...(stray >= 0 ? [`${what}[${stray}]: ${ours[stray]} under mask 0, expected 0`] : []),
  ];
}

/** Compares every number of the outputs that we have under that name. */
export function compareMetrics(
  ours: Record<string, number>,
  out: Record<string, unknown>,
): string[] {
  return Object.entries(out).flatMap(([name, expected]) => {
    if (typeof expected !== "number") return [];
    const value = ours[name];
    return value === undefined
      ? [`${name}: we have no such output`]
      : compareNumbers(name, [value], [expected]);
  });
}
