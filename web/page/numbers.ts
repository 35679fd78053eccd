/**
 * @file Numbers as people read them.
 */

export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

export function duration(minutes: number): string {
  if (minutes < 1) return `${Math.round(60 * minutes)} s`;
  if (minutes < 60) return `${minutes.toFixed(minutes < 10 ? 1 : 0)} min`;
  const hours = Math.floor(minutes / 60);
  return `${hours} h ${Math.round(minutes - 60 * hours)} min`;
}

/** The last two parts of a path. */
export function shortPath(path: string): string {
  return path.split("/").filter(Boolean).slice(-2).join("/");
}
