/**
 * @file Numbers and times as a person reads them, in a width that does not jump.
 */

/** Four significant digits: 0.0123, 1.234, 123.4, 12345, 1.2e-7. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e7 || size < 1e-4) return value.toExponential(1);
  if (size >= 1000) return value.toFixed(0);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4);
}

/** At most four significant digits, and no zeros at the end: 2.14, 7, 0.001. */
export function formatShort(value: number): string {
  const text = formatNumber(value);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

/** Of a share from 0 to 1. */
export function formatPercent(value: number): string {
  return Number.isFinite(value) ? `${(100 * value).toFixed(1)}%` : formatNumber(value);
}

/** 1234567 is 1.2M, 12345 is 12.3k. */
export function formatCount(value: number): string {
  if (!Number.isFinite(value)) return formatNumber(value);
  if (Math.abs(value) >= 999_950) return `${(value / 1e6).toFixed(1)}M`;
  if (Math.abs(value) >= 9_999.5) return `${(value / 1e3).toFixed(1)}k`;
  return value.toFixed(0);
}

/** Seconds as 9.1s, 12m05s, 3h07m, 2d04h. */
export function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "?";
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 59.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
  const hours = Math.round(seconds / 3600);
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}
