/**
 * @file Curves as an SVG picture, for READMEs and reports: a line per series, and where a series has
 * several runs (seeds) the mean with the range of the runs shaded around it.
 *
 * Transparent, in colours that are readable on white and on black alike: a picture in a README does
 * not know the page's background.
 */
import { escapeMarkup } from "../escape.ts";
import { type BandPoint, bandOf, type Point } from "./band.ts";
import { formatTick, roundTicks } from "./ticks.ts";

export interface Axis {
  readonly label: string;
  /** Values are shares from 0 to 1, and shown as percent. */
  readonly percent?: boolean;
  /** Where the axis begins and ends at the latest, though the values may go beyond. */
  readonly from?: number;
  readonly to?: number;
}

export interface Series {
  readonly name: string;
  readonly runs: readonly (readonly Point[])[];
}

export interface CurvePicture {
  readonly title: string;
  readonly x: string | Axis;
  readonly y: string | Axis;
  readonly series: readonly Series[];
  /** Pixels; 720 × 400. */
  readonly width?: number;
  readonly height?: number;
}

/** Contrast of at least 3 to white and to GitHub's dark grey; apart from each other when colour-blind. */
export const CURVE_COLORS = ["#3b82d8", "#d9660a", "#1a9a6c", "#c2509f", "#8d7a1c", "#7c6fe0"];
/** As much contrast as both backgrounds allow: 4.3. */
export const TEXT_COLOR = "#767c85";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const SIZE = 13;
/** A letter's mean width, as a share of its size: an SVG cannot measure its texts. */
const LETTER = 0.58;

export function curveSvg(picture: CurvePicture): string {
  const { width = 720, height = 400 } = picture;
  const bands = picture.series.map(({ runs }) => bandOf(runs));
  const points = bands.flat();
  if (points.length === 0)
    throw new Error(`the picture "${picture.title}" has no finite point; expected at least one`);
  const [x, y] = [axisOf(picture.x), axisOf(picture.y)];
  const yTicks = ticksOf(
    y,
    points.flatMap(({ low, high }) => [low, high]),
    height / 70,
  );
  const yTexts = yTicks.map((tick) => tickText(tick, y));
  const left = 38 + Math.max(...yTexts.map(textWidth));
  const legend = legendRows(picture.series, left, width);
  const frame = {
    left,
    right: width - 20,
    top: 44 + legend.rows * 20,
    bottom: height - 48,
  };
  const xs = points.map((point) => point.x);
  const xTicks = ticksOf(x, xs, (frame.right - frame.left) / 90);
  // The curves use the whole width: x ends with the data, not with the next round number.
  const xFrom = Math.min(x.from ?? Number.POSITIVE_INFINITY, least(xs));
  const xTo = Math.max(x.to ?? Number.NEGATIVE_INFINITY, most(xs));
  const toX = scale(xFrom, xTo, frame.left, frame.right);
  const toY = scale(yTicks[0]!, yTicks.at(-1)!, frame.bottom, frame.top);
  const shownX = xTicks.filter((tick) => tick >= xFrom && tick <= xTo);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeMarkup(picture.title)}" font-family="${FONT}" font-size="${SIZE}" fill="${TEXT_COLOR}">`,
    `<text x="${frame.left}" y="24" font-size="${titleSize(picture.title, frame)}" font-weight="600">${escapeMarkup(picture.title)}</text>`,
    ...legend.parts,
    ...yTicks.map((tick, i) => yTick(toY(tick), yTexts[i]!, frame)),
    ...shownX.map((tick) => xTick(toX(tick), tickText(tick, x), frame)),
    `<text x="${(frame.left + frame.right) / 2}" y="${height - 8}" text-anchor="middle">${escapeMarkup(x.label)}</text>`,
    `<text transform="translate(16 ${(frame.top + frame.bottom) / 2}) rotate(-90)" text-anchor="middle">${escapeMarkup(y.label)}</text>`,
    ...bands.map((band, i) => curve(band, picture.series[i]!.runs.length, colorOf(i), toX, toY)),
    "</svg>\n",
  ].join("\n");
}

/** Smaller where it would not fit. */
function titleSize(title: string, { left, right }: Frame): number {
  const fitting = (right - left) / (title.length * LETTER * 1.08);
  return Math.max(9, Math.min(16, Math.floor(fitting)));
}

type Scale = (value: number) => number;

interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Shaded where there are several runs, then the mean; a single point as a dot. */
function curve(band: readonly BandPoint[], runs: number, color: string, x: Scale, y: Scale) {
  const path = (points: readonly (readonly [number, number])[]) =>
    points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L");
  const line = path(band.map((point) => [point.x, point.mean]));
  if (band.length === 0) return "";
  if (band.length === 1) {
    const [point] = band;
    return `<circle cx="${x(point!.x).toFixed(1)}" cy="${y(point!.mean).toFixed(1)}" r="3" fill="${color}"/>`;
  }
  const stroke = `<path d="M${line}" fill="none" stroke="${color}" stroke-width="2" stroke-linejoin="round"/>`;
  if (runs < 2) return stroke;
  const above = path(band.map((point) => [point.x, point.high]));
  const below = path(band.map((point) => [point.x, point.low] as const).reverse());
  return `<path d="M${above}L${below}Z" fill="${color}" fill-opacity="0.2"/>\n${stroke}`;
}

function yTick(y: number, text: string, { left, right }: Frame): string {
  const at = y.toFixed(1);
  return `<path d="M${left} ${at}H${right}" stroke="${TEXT_COLOR}" stroke-opacity="0.25"/><text x="${left - 8}" y="${(y + 4).toFixed(1)}" text-anchor="end">${text}</text>`;
}

function xTick(x: number, text: string, { bottom }: Frame): string {
  const at = x.toFixed(1);
  return `<path d="M${at} ${bottom}v5" stroke="${TEXT_COLOR}"/><text x="${at}" y="${bottom + 19}" text-anchor="middle">${text}</text>`;
}

/** Rows below the title; a picture of one unnamed series has none. */
function legendRows(
  series: readonly Series[],
  left: number,
  width: number,
): { rows: number; parts: string[] } {
  const named = series.filter(({ name }) => name !== "");
  if (named.length === 0) return { rows: 0, parts: [] };
  let [x, row] = [left, 0];
  const parts = named.map(({ name, runs }) => {
    const text = runs.length > 1 ? `${name} (${runs.length} runs)` : name;
    const size = 24 + textWidth(text);
    if (x > left && x + size > width - 20) [x, row] = [left, row + 1];
    const y = 42 + row * 20;
    const color = colorOf(series.findIndex((other) => other.name === name));
    const part = `<path d="M${x} ${y}h16" stroke="${color}" stroke-width="3"/><text x="${x + 22}" y="${y + 4}">${escapeMarkup(text)}</text>`;
    x += size + 18;
    return part;
  });
  return { rows: row + 1, parts };
}

function ticksOf({ from, to }: Axis, values: readonly number[], count: number): number[] {
  const low = Math.min(from ?? Number.POSITIVE_INFINITY, least(values));
  const high = Math.max(to ?? Number.NEGATIVE_INFINITY, most(values));
  return roundTicks(low, high, Math.max(2, Math.floor(count)));
}

function tickText(value: number, { percent }: Axis): string {
  return percent ? `${formatTick(Number((100 * value).toPrecision(12)))}%` : formatTick(value);
}

function axisOf(axis: string | Axis): Axis {
  return typeof axis === "string" ? { label: axis } : axis;
}

function scale(low: number, high: number, start: number, end: number): Scale {
  if (low === high) return () => (start + end) / 2;
  return (value) => start + ((value - low) / (high - low)) * (end - start);
}

function colorOf(i: number): string {
  return CURVE_COLORS[i % CURVE_COLORS.length]!;
}

function textWidth(text: string): number {
  return text.length * SIZE * LETTER;
}

/** Math.min of a spread list fails for very long ones. */
function least(values: readonly number[]): number {
  return values.reduce((best, value) => Math.min(best, value), Number.POSITIVE_INFINITY);
}

function most(values: readonly number[]): number {
  return values.reduce((best, value) => Math.max(best, value), Number.NEGATIVE_INFINITY);
}
