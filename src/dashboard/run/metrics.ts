/**
 * @file A run's metrics as columns that grow while the run writes.
 */
import type { Columns } from "../api.ts";
import { followLines } from "./lines.ts";

export interface MetricsTable {
  /** Reads what is new. Returns whether anything is, and whether earlier steps changed. */
  update(): { readonly grown: boolean; readonly anew: boolean };
  readonly steps: readonly number[];
  /** [steps] of one metric; undefined: never measured. */
  column(name: string): readonly (number | null)[] | undefined;
  /** Of steps after this one. */
  columns(after?: number): Columns;
}

/** Six digits are more than a screen shows, and keep answers small. */
const shortened = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? Number(value.toPrecision(6)) : null;

export function openMetricsTable(file: string): MetricsTable {
  const followed = followLines(file);
  let steps: number[] = [];
  let values = new Map<string, (number | null)[]>();

  function take(line: string): void {
    let parsed: Record<string, unknown>;
    try {
      parsed = JSON.parse(line) as Record<string, unknown>;
    } catch {
      return;
    }
    const { step, ...metrics } = parsed ?? {};
    if (typeof step !== "number") return;
    const at = steps.length;
    steps.push(step);
    for (const [name, value] of Object.entries(metrics)) {
      const column = values.get(name) ?? [];
      while (column.length < at) column.push(null);
      column.push(shortened(value));
      values.set(name, column);
    }
  }

  return {
    get steps() {
      return steps;
    },
    update() {
      const { lines, anew } = followed.read();
      if (anew) {
        steps = [];
        values = new Map();
      }
      for (const line of lines) take(line);
      return { grown: lines.length > 0, anew };
    },
    column: (name) => values.get(name),
    columns(after = Number.NEGATIVE_INFINITY) {
      const first = steps.findIndex((step) => step > after);
      const from = first < 0 ? steps.length : first;
      const part = (column: readonly (number | null)[]) =>
        Array.from({ length: steps.length - from }, (_, i) => column[from + i] ?? null);
      return {
        steps: steps.slice(from),
        values: Object.fromEntries([...values].map(([name, column]) => [name, part(column)])),
      };
    },
  };
}
