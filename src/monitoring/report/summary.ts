/**
 * @file The report's table of before and after.
 */
import { escapeMarkup } from "../escape.ts";
import { formatPercent, formatShort } from "../numbers.ts";
import type { Estimate, SummaryRow } from "./report.ts";

export function summarySection(rows: readonly SummaryRow[]): string {
  if (rows.length === 0) return "";
  const head = ["before", "after", "change"].map((name) => `<th class="number">${name}</th>`);
  return `<h2>Before and after</h2>
<div class="scroll"><table>
<tr><th></th>${head.join("")}</tr>
${rows.map(summaryRow).join("\n")}
</table></div>`;
}

function summaryRow(row: SummaryRow): string {
  const format = row.percent ? formatPercent : formatShort;
  const cells = [row.before, row.after].map(
    (side) => `<td class="number">${cell(side, format)}</td>`,
  );
  return `<tr><td>${escapeMarkup(row.name)}</td>${cells.join("")}${changeCell(row, format)}</tr>`;
}

function cell(side: Estimate | number | undefined, format: (value: number) => string): string {
  if (side === undefined) return "–";
  const { value, low, high } = estimate(side);
  const interval =
    low === undefined || high === undefined
      ? ""
      : `<span class="interval">${format(low)} to ${format(high)}</span>`;
  return `${format(value)}${interval}`;
}

function changeCell(row: SummaryRow, format: (value: number) => string): string {
  const { before, after, percent, moreIsBetter = true } = row;
  if (before === undefined || after === undefined) return `<td class="number">–</td>`;
  const change = estimate(after).value - estimate(before).value;
  const tone =
    change === 0 || !Number.isFinite(change) ? "" : change > 0 === moreIsBetter ? " good" : " bad";
  // A difference of two percentages is in points.
  const text = percent ? `${(100 * change).toFixed(1)} points` : format(change);
  return `<td class="number${tone}">${change > 0 ? "+" : ""}${text}</td>`;
}

function estimate(side: Estimate | number): Estimate {
  return typeof side === "number" ? { value: side } : side;
}
