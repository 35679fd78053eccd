/**
 * @file Small things that several views show: states, rates with their intervals, curves in a line of text.
 */
import type { Rate, RunState } from "../../../src/dashboard/api.ts";
import { percent } from "../numbers.ts";

export function State({ state }: { state: RunState }) {
  return (
    <span class={`state ${state.name}`} title={state.reason}>
      {state.name}
    </span>
  );
}

export function RateText({ rate }: { rate: Rate | undefined }) {
  if (!rate) return <span class="faint">–</span>;
  return (
    <span
      class="rate"
      title={`95 %: ${percent(rate.low)} to ${percent(rate.high)}, ${rate.count} episodes`}
    >
      {percent(rate.value)}
      <span class="interval">
        {percent(rate.low)} – {percent(rate.high)}
      </span>
    </span>
  );
}

const [WIDTH, HEIGHT] = [110, 26];

/** Of values from 0 to 1. */
export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const points = values.flatMap((value, i) =>
    value === null
      ? []
      : [`${(i * WIDTH) / Math.max(1, values.length - 1)},${(HEIGHT - 2) * (1 - value) + 1}`],
  );
  if (points.length < 2) return null;
  return (
    <svg
      class="spark"
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label="success over iterations"
    >
      <polyline points={points.join(" ")} />
    </svg>
  );
}

export function Waiting({ error }: { error: string | undefined }) {
  return error ? <p class="bad">{error}</p> : <p class="faint">…</p>;
}

/** Characters that turn the direction of writing: what follows them would be shown as what it is not. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text of an episode as it is, by its characters. */
export function plain(text: string): string {
  return text.replace(TURNING, (one) => `⟨U+${one.charCodeAt(0).toString(16).padStart(4, "0")}⟩`);
}

/** A token's text, with line ends and blanks that would not be seen. */
export function visible(text: string): string {
  if (text.trim() === "") return text.replaceAll("\n", "⏎\n") || "·";
  return plain(text);
}
