/**
 * @file Axes with round numbers.
 */

/** About `count` round numbers (1, 2 or 5 times a power of ten apart) that span low to high. */
export function roundTicks(low: number, high: number, count: number): number[] {
  const [from, to] = low === high ? widened(low) : [low, high];
  const step = roundStep((to - from) / Math.max(1, count));
  const first = Math.floor(from / step + 1e-9);
  const last = Math.ceil(to / step - 1e-9);
  // From whole multiples: adding steps up would give 0.30000000000000004.
  return Array.from({ length: last - first + 1 }, (_, i) => rounded((first + i) * step));
}

/** Below this there are too few digits left to be a tenth apart. */
const SMALLEST = 1e-290;

function widened(value: number): [number, number] {
  const margin = Math.abs(value) < SMALLEST ? 1 : Math.abs(value) * 0.1;
  return [value - margin, value + margin];
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const multiple = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * (1 - 1e-9)) ?? 10;
  return multiple * power;
}

function rounded(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}

/** 1500 is 1.5k, 2000000 is 2M; tiny ones in scientific notation. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) return trimmed(value.toExponential(2));
  if (size >= 1e6) return `${trimmed((value / 1e6).toFixed(3))}M`;
  if (size >= 1e4) return `${trimmed((value / 1e3).toFixed(3))}k`;
  return trimmed(value.toFixed(6));
}

/** Without zeros after the point. */
function trimmed(text: string): string {
  return text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
}
