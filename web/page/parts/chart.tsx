/**
 * @file A chart of curves over a common axis, with marks, by uPlot.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { short } from "../numbers.ts";

export interface Curve {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
  /** Its band, if it is a mean of several. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** The number of its colour; others of the same colour are dashed. Default: its own. */
  readonly colour?: number;
  readonly isDashed?: boolean;
}

export interface Mark {
  readonly x: number;
  readonly kind: "alarm" | "validation";
}

interface ChartProps {
  readonly title: string;
  readonly curves: readonly Curve[];
  readonly smoothing: number;
  readonly logarithmic: boolean;
  readonly marks?: readonly Mark[];
  readonly axis: string;
}

const HEIGHT = 210;
const COLOURS = 8;
const colour = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Exponential moving average, corrected for its start; gaps stay gaps. */
export function smooth(column: readonly (number | null)[], by: number): (number | null)[] {
  let [sum, weight] = [0, 0];
  return column.map((value) => {
    if (value === null) return null;
    sum = by * sum + (1 - by) * value;
    weight = by * weight + (1 - by);
    return sum / weight;
  });
}

/** All curves over the union of their places. */
function aligned(curves: readonly Curve[], smoothing: number): uPlot.AlignedData {
  const x = [...new Set(curves.flatMap((curve) => [...curve.x]))].sort((a, b) => a - b);
  const place = new Map(x.map((value, i) => [value, i]));
  const column = (curve: Curve, values: readonly (number | null)[]) => {
    const result: (number | null)[] = new Array(x.length).fill(null);
    const drawn = smooth(values, smoothing);
    for (const [i, at] of curve.x.entries()) result[place.get(at)!] = drawn[i] ?? null;
    return result;
  };
  const columns = curves.flatMap((curve) => [
    column(curve, curve.y),
    ...(curve.low && curve.high ? [column(curve, curve.low), column(curve, curve.high)] : []),
  ]);
  return [x, ...columns] as uPlot.AlignedData;
}

function optionsOf(props: ChartProps, width: number): uPlot.Options {
  const axis = {
    stroke: () => colour("--faint"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { stroke: () => colour("--line"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
  };
  const series: uPlot.Series[] = [{ label: props.axis, value: (_, value) => short(value) }];
  const bands: uPlot.Band[] = [];
  for (const [i, curve] of props.curves.entries()) {
    const number = curve.colour ?? i;
    const stroke = () => colour(`--curve-${(number % COLOURS) + 1}`);
    const measured = curve.y.filter((value) => value !== null).length;
    series.push({
      label: curve.name,
      stroke,
      width: 1.75,
      spanGaps: true,
      ...(curve.isDashed && { dash: [6, 4] }),
      // Lines alone would hide what was measured a few times only.
      points: { show: measured <= 60, size: 5 },
      value: (_, value) => short(value),
    });
    if (!curve.low || !curve.high) continue;
    const at = series.length;
    for (const side of ["low", "high"])
      series.push({
        label: `${curve.name}, ${side}`,
        class: "band",
        stroke,
        width: 0.5,
        spanGaps: true,
        points: { show: false },
      });
    bands.push({
      series: [at + 1, at],
      fill: () => `color-mix(in srgb, ${stroke()} 18%, transparent)`,
    });
  }
  return {
    width,
    height: HEIGHT,
    series,
    bands,
    cursor: { sync: { key: props.axis }, y: false },
    scales: { x: { time: false }, y: { distr: props.logarithmic ? 3 : 1 } },
    axes: [
      { ...axis, size: 30 },
      {
        ...axis,
        size: 58,
        values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))),
      },
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, props.marks ?? [])],
      ready: [showLast],
      setData: [showLast],
      setCursor: [showLast],
    },
  };
}

/** Away from the mouse the legend has each curve's last value. */
function showLast(plot: uPlot): void {
  if (plot.cursor.idx !== null && plot.cursor.idx !== undefined) return;
  const last = (values: ArrayLike<number | null | undefined>) => {
    for (let i = values.length - 1; i >= 0; i--)
      if (values[i] !== null && values[i] !== undefined) return i;
    return null;
  };
  plot.setLegend({ idxs: plot.data.map(last) } as never);
}

function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const { x, kind } of marks) {
    const at = plot.valToPos(x, "x", true);
    if (at < bbox.left || at > bbox.left + bbox.width) continue;
    ctx.strokeStyle = colour(kind === "alarm" ? "--bad" : "--line");
    ctx.fillStyle = ctx.strokeStyle;
    ctx.setLineDash(kind === "alarm" ? [4, 4] : [1, 5]);
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    if (kind !== "alarm") continue;
    ctx.beginPath();
    ctx.arc(at, bbox.top + 4, 4, 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.restore();
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const marks = JSON.stringify(props.marks ?? []);
  const shape = `${props.curves.map(({ name, low }) => `${name}${low ? "±" : ""}`).join("\n")} ${props.logarithmic} ${props.axis} ${marks}`;
  const data = aligned(props.curves, props.smoothing);
  // A new picture where what is drawn is another; new numbers go into the one that is there.
  useEffect(() => {
    const target = box.current!;
    const made = new uPlot(optionsOf(props, target.clientWidth), data, target);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      if (target.clientWidth > 0) made.setSize({ width: target.clientWidth, height: HEIGHT });
    });
    resized.observe(target);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => made.redraw(false, true);
    dark.addEventListener("change", redraw);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", redraw);
      made.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [props.curves, props.smoothing]);
  return (
    <figure class="chart">
      <figcaption>{props.title}</figcaption>
      <div ref={box} class="plot" />
    </figure>
  );
}
