/**
 * @file The live view as lines: pure, so that it can be read and tested without a terminal.
 */
import { firstOf } from "../metrics.ts";
import { formatPercent, formatSeconds } from "../numbers.ts";
import {
  FIELDS,
  type Field,
  phasesOf,
  REWARD,
  type RunState,
  SUCCESS,
  secondsLeft,
  VALIDATION,
} from "./fields.ts";
import { lineWidth, type Piece, renderLine, type Style } from "./style.ts";

export interface ViewOptions {
  readonly title: string;
  readonly totalSteps: number;
  /** What the run does at the moment. */
  readonly doing: string;
  /** Columns. */
  readonly width: number;
  readonly color: boolean;
}

export function viewLines(run: RunState, options: ViewOptions): string[] {
  const { width, color } = options;
  const lines = [
    headLine(run, options),
    progressLine(run, options),
    ...rewardLines(run, width),
    ...fieldLines(run, width),
    timeLine(run, width),
  ];
  return lines
    .filter((pieces) => pieces.length > 0)
    .map((pieces) => renderLine(pieces, width, color));
}

function headLine({ step }: RunState, { title, totalSteps, doing }: ViewOptions): Piece[] {
  const name: Piece[] = title ? [{ text: title, style: "bold" }, { text: "  " }] : [];
  const now: Piece[] = doing ? [{ text: `  ${doing}`, style: "cyan" }] : [];
  return [...name, { text: `step ${step} of ${totalSteps}` }, ...now];
}

function progressLine(run: RunState, { totalSteps, width }: ViewOptions): Piece[] {
  const share = totalSteps > 0 ? Math.min(1, run.step / totalSteps) : 1;
  const left = secondsLeft(run, totalSteps);
  const times: Piece[] =
    left === undefined ? [] : [dim("  left "), { text: formatSeconds(left), style: "bold" }];
  const ending: Piece[] = [
    { text: ` ${formatPercent(share).padStart(6)}` },
    dim("  elapsed "),
    { text: formatSeconds(run.elapsed) },
    ...times,
  ];
  const room = Math.max(8, Math.min(40, width - lineWidth(ending)));
  const full = Math.round(share * room);
  return [{ text: "█".repeat(full), style: "green" }, dim("░".repeat(room - full)), ...ending];
}

/** The small curves get what the numbers leave, and are left out where that is next to nothing. */
function rewardLines(run: RunState, width: number): Piece[][] {
  const curves: Readonly<Record<string, readonly number[]>> = {
    [REWARD.label]: run.rewards,
    [SUCCESS.label]: run.successes,
  };
  const parts = [REWARD, SUCCESS, VALIDATION].flatMap((field) => {
    const value = firstOf(run.latest, field.names);
    return value === undefined ? [] : [{ field, pieces: labelled(field, value, "bold") }];
  });
  for (const { field, pieces } of parts)
    if (field === VALIDATION) pieces.push(dim(` at step ${run.validated}`));
  const numbers = lineWidth(joinParts(parts.map(({ pieces }) => pieces)));
  const drawn = parts.filter(({ field }) => (curves[field.label]?.length ?? 0) > 1);
  const room = Math.floor((width - numbers) / Math.max(1, drawn.length)) - 1;
  if (room >= 6)
    for (const { field, pieces } of drawn)
      pieces.push(dim(` ${sparkline(curves[field.label]!.slice(-room))}`));
  return wrapParts(
    parts.map(({ pieces }) => pieces),
    width,
  );
}

/** At most two lines. */
function fieldLines(run: RunState, width: number): Piece[][] {
  const parts = FIELDS.flatMap((field) => {
    const value = firstOf(run.latest, field.names);
    return value === undefined ? [] : [labelled(field, value)];
  });
  return wrapParts(parts, width).slice(0, 2);
}

const PHASE_STYLES: readonly Style[] = ["blue", "magenta", "yellow", "cyan", "green", "red"];

/** The last step's time as a bar, a colour per phase; their names from the largest share down. */
function timeLine({ metrics }: RunState, width: number): Piece[] {
  const phases = phasesOf(metrics);
  const total = phases.reduce((sum, { seconds }) => sum + seconds, 0);
  if (!(total > 0)) return [];
  const room = Math.max(8, Math.min(30, Math.floor(width / 3)));
  const bar: Piece[] = [];
  const names: { share: number; pieces: Piece[] }[] = [];
  let until = 0;
  let drawn = 0;
  for (const [i, { name, seconds }] of phases.entries()) {
    const style = PHASE_STYLES[i % PHASE_STYLES.length]!;
    until += seconds;
    const end = Math.round((until / total) * room);
    // Neighbours differ in their shade too: without colour the bar must still show the phases.
    bar.push({ text: (i % 2 === 0 ? "█" : "▒").repeat(end - drawn), style });
    drawn = end;
    const share = Math.round((100 * seconds) / total);
    if (share > 0) names.push({ share, pieces: [{ text: name, style }, { text: ` ${share}%` }] });
  }
  names.sort((one, other) => other.share - one.share);
  return [dim("time "), ...bar, { text: "  " }, ...joinParts(names.map(({ pieces }) => pieces))];
}

const TICKS = "▁▂▃▄▅▆▇█";

/** The values as a small curve. */
export function sparkline(values: readonly number[]): string {
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  if (values.length < 2) return "";
  return values
    .map((value) => TICKS[range > 0 ? Math.round(((value - least) / range) * 7) : 3])
    .join("");
}

function labelled({ label, format }: Field, value: number, style?: Style): Piece[] {
  const text = format(value);
  return [dim(`${label} `), style ? { text, style } : { text }];
}

function dim(text: string): Piece {
  return { text, style: "dim" };
}

/** As many parts to a line as fit. */
function wrapParts(parts: readonly (readonly Piece[])[], width: number): Piece[][] {
  const lines: (readonly Piece[])[][] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last && lineWidth(joinParts([...last, part])) <= width) last.push(part);
    else lines.push([part]);
  }
  return lines.map(joinParts);
}

function joinParts(parts: readonly (readonly Piece[])[]): Piece[] {
  return parts.flatMap((part, i) => (i === 0 ? part : [{ text: "  " }, ...part]));
}
