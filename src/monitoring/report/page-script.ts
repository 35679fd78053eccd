/**
 * @file The script of the report's page. `drawCharts` runs in the browser, never here: the page
 * contains its source, so that it is checked and formatted like everything else. Therefore it may use
 * nothing but its arguments, the browser and uPlot.
 */

/** What it uses of the browser; the DOM's types would be global to all of src/. */
interface Element {
  readonly clientWidth: number;
  readonly dataset: Record<string, string | undefined>;
  readonly value?: string;
  textContent: string | null;
  querySelectorAll(selector: string): Iterable<Element>;
  closest(selector: string): (Element & { open: boolean }) | null;
  addEventListener(event: string, listener: () => void): void;
}

interface Plot {
  setData(data: unknown[]): void;
  setSize(size: { width: number; height: number }): void;
  redraw(rebuildPaths: boolean, recalcAxes: boolean): void;
  setLegend(shown: { idxs: number[] }): void;
  readonly cursor: { readonly idx: number | null | undefined };
}

declare const document: Element & {
  readonly documentElement: Element;
  getElementById(id: string): Element;
};
declare const uPlot: new (options: unknown, data: unknown[], target: Element) => Plot;
declare const getComputedStyle: (element: Element) => { getPropertyValue(name: string): string };
declare const matchMedia: (query: string) => Pick<Element, "addEventListener">;
declare const ResizeObserver: new (
  listener: (entries: { target: Element }[]) => void,
) => { observe(element: Element): void };

function drawCharts(): void {
  type Values = (number | null)[];
  interface Data {
    steps: number[];
    values: Record<string, Values>;
  }
  const { steps, values } = JSON.parse(document.getElementById("data").textContent ?? "") as Data;
  const height = 220;
  const plots = new Map<Element, { plot: Plot; names: string[] }>();
  let smoothing = 0;

  const color = (name: string) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /** Exponential moving average, corrected for its start; gaps stay gaps. */
  function smooth(column: Values): Values {
    let sum = 0;
    let weight = 0;
    return column.map((value) => {
      if (value === null) return null;
      sum = smoothing * sum + (1 - smoothing) * value;
      weight = smoothing * weight + (1 - smoothing);
      return sum / weight;
    });
  }

  function dataOf(names: string[]): unknown[] {
    return [steps, ...names.map((name) => smooth(values[name]!))];
  }

  function readable(value: number | null): string {
    if (value === null) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  }

  function draw(box: Element): void {
    const names = JSON.parse(box.dataset.names ?? "[]") as string[];
    const axis = {
      stroke: () => color("--faint"),
      grid: { stroke: () => color("--line"), width: 1 },
      ticks: { stroke: () => color("--line"), width: 1, size: 4 },
      font: "12px system-ui, sans-serif",
    };
    const series = names.map((name, i) => {
      const measured = values[name]!.filter((value) => value !== null).length;
      return {
        label: name,
        stroke: () => color(`--curve-${(i % 6) + 1}`),
        width: 1.75,
        spanGaps: true,
        // Lines alone would hide a metric that was measured a few times only.
        points: { show: measured <= 60, size: 5 },
        value: (_: unknown, value: number | null) => readable(value),
      };
    });
    // Away from the mouse the legend has each metric's last value.
    const last = [
      steps.length - 1,
      ...names.map((name) => values[name]!.findLastIndex((value) => value !== null)),
    ];
    const showLast = (plot: Plot) => {
      if (plot.cursor.idx === null || plot.cursor.idx === undefined) plot.setLegend({ idxs: last });
    };
    const options = {
      width: box.clientWidth,
      height,
      cursor: { sync: { key: "step" }, y: false },
      legend: { live: true },
      hooks: { ready: [showLast], setData: [showLast], setCursor: [showLast] },
      scales: { x: { time: false } },
      axes: [
        { ...axis, size: 30 },
        {
          ...axis,
          size: 58,
          values: (_: unknown, ticks: number[]) => ticks.map(readable),
        },
      ],
      series: [
        { label: "step", value: (_: unknown, value: number | null) => value ?? "–" },
        ...series,
      ],
    };
    plots.set(box, { plot: new uPlot(options, dataOf(names), box), names });
    resizes.observe(box);
  }

  const resizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const width = target.clientWidth;
      if (width > 0) plots.get(target)?.plot.setSize({ width, height });
    }
  });

  /** A chart in a closed group has no width: it is drawn when the group is opened. */
  function drawVisible(): void {
    for (const box of document.querySelectorAll(".chart"))
      if (!plots.has(box) && box.closest("details")?.open !== false) draw(box);
  }

  for (const group of document.querySelectorAll("details"))
    group.addEventListener("toggle", drawVisible);
  for (const slider of document.querySelectorAll("#smoothing"))
    slider.addEventListener("input", () => {
      smoothing = Number(slider.value);
      for (const { plot, names } of plots.values()) plot.setData(dataOf(names));
    });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const { plot } of plots.values()) plot.redraw(false, true);
  });
  drawVisible();
}

/** Bundlers that keep functions' names wrap them into a call of `__name`, which a page has not. */
export const PAGE_SCRIPT = `(() => {
const __name = (value) => value;
(${drawCharts})();
})();`;
