/**
 * @file The success table for people.
 */
import type { SuccessRow, SuccessTable } from "./success.ts";

const HEADINGS = ["", "episodes", "won", "success", "95 %", "score", "reward", "turns", "valid"];

/** A line per kind of task, one for all, and how the episodes ended. */
export function successReport({ all, types, statuses, leftOut }: SuccessTable): string {
  const rows = [
    HEADINGS,
    ...types.map(({ type, ...row }) => [type, ...cells(row)]),
    [types.length > 0 ? "all" : "", ...cells(all)],
  ];
  const ends = Object.entries(statuses)
    .sort(([, a], [, b]) => b - a)
    .map(([status, count]) => `${count} ${status}`);
  const remark =
    leftOut > 0 ? ` (${leftOut} of them not the agent's doing, left out of the table)` : "";
  return `${aligned(rows)}\n\nended: ${ends.join(", ") || "none"}${remark}`;
}

function cells({ episodes, won, rate, interval, score, reward, turns, validity }: SuccessRow) {
  return [
    String(episodes),
    String(won),
    percent(rate),
    `${percent(interval.low)} – ${percent(interval.high)}`,
    rounded(score, 3),
    rounded(reward, 2),
    rounded(turns, 1),
    percent(validity),
  ];
}

function percent(share: number): string {
  return Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`;
}

function rounded(value: number, digits: number): string {
  return Number.isNaN(value) ? "–" : value.toFixed(digits);
}

/** Columns as wide as their widest entry; the first from the left, the numbers from the right. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
