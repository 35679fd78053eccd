/**
 * @file A step as one plain line, for logs: the same fields at the same columns.
 */
import { firstOf } from "../metrics.ts";
import { formatSeconds } from "../numbers.ts";
import { FIELDS, REWARD, type RunState, SUCCESS, secondsLeft, VALIDATION } from "./fields.ts";

/** Validation last: it comes and goes, and must not move the others. */
const SHOWN = [REWARD, SUCCESS, ...FIELDS];

const VALUE_WIDTH = 8;

/** A field that some step measured keeps its columns; where this step did not, there is a dash. */
export function plainLine(run: RunState, totalSteps: number): string {
  const parts = [`step ${String(run.step).padStart(String(totalSteps).length)}/${totalSteps}`];
  for (const { label, names, format } of SHOWN) {
    if (firstOf(run.latest, names) === undefined) continue;
    const value = firstOf(run.metrics, names);
    parts.push(`${label} ${(value === undefined ? "-" : format(value)).padStart(VALUE_WIDTH)}`);
  }
  const seconds = run.metrics["timing_s/step"];
  if (seconds !== undefined) parts.push(`time ${formatSeconds(seconds).padStart(VALUE_WIDTH)}`);
  const left = secondsLeft(run, totalSteps);
  if (left !== undefined) parts.push(`left ${formatSeconds(left).padStart(VALUE_WIDTH)}`);
  const validation = firstOf(run.metrics, VALIDATION.names);
  if (validation !== undefined)
    parts.push(`${VALIDATION.label} ${VALIDATION.format(validation).padStart(VALUE_WIDTH)}`);
  for (const [name, value] of Object.entries(run.metrics)) {
    const split = /^val\/(.+)\/success_rate$/.exec(name)?.[1];
    if (split !== undefined)
      parts.push(`${split} ${VALIDATION.format(value).padStart(VALUE_WIDTH)}`);
  }
  return parts.join("  ");
}
