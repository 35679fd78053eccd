/**
 * @file Curves as pictures: round ticks, bands over seeds, valid SVG, colours for both backgrounds.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bandOf } from "../../src/monitoring/curves/band.ts";
import { CURVE_COLORS, TEXT_COLOR } from "../../src/monitoring/curves/curves.ts";
import { formatTick, roundTicks } from "../../src/monitoring/curves/ticks.ts";
import { curveSvg } from "../../src/monitoring/index.ts";

/** Throws unless every element is closed in its order and no text has markup of its own. */
function checkMarkup(svg: string): void {
  const open: string[] = [];
  const rest = svg.replace(
    /<(\/?)([a-z]+)((?: [a-z-]+="[^"<>]*")*| [^<>]*?)(\/?)>/gi,
    (_, end: string, name: string, __: string, self: string) => {
      if (end) expect(open.pop()).toBe(name);
      else if (!self) open.push(name);
      return "";
    },
  );
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot|#39);)/);
}

describe("ticks", () => {
  it("are round, evenly apart, few, and span the values", () => {
    const number = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(number, number, fc.integer({ min: 2, max: 12 }), (one, other, count) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        // Closer together than float64 can tell apart at their size is not a range.
        fc.pre(high === low || high - low > Math.abs(high) * 1e-6);
        fc.pre(high === low || high - low > 1e-9);
        const ticks = roundTicks(low, high, count);
        const slack = Math.max(Math.abs(low), Math.abs(high)) * 1e-9;
        expect(ticks[0]).toBeLessThanOrEqual(low + slack);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(high - slack);
        expect(ticks.length).toBeLessThanOrEqual(count + 2);
        const step = ticks[1]! - ticks[0]!;
        const leading = Number((step / 10 ** Math.floor(Math.log10(step) + 1e-6)).toFixed(3));
        expect([1, 2, 5, 10]).toContain(leading);
      }),
    );
  });

  it("are there for the smallest numbers, too", () => {
    expect(roundTicks(9.4e-323, 9.4e-323, 2)).toEqual([-1, 0, 1]);
  });

  it("have no noise of binary fractions", () => {
    expect(roundTicks(0, 1, 10).map(formatTick)).toEqual([
      ...["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"],
    ]);
    expect([0, 1500, 15_000, 2e6, 1e-6, -0.25, 1.5e12].map(formatTick)).toEqual([
      ...["0", "1500", "15k", "2M", "1e-6", "-0.25", "1.5e+12"],
    ]);
  });
});

describe("bands", () => {
  it("are the least, mean and most of the runs at every x", () => {
    const runs = [
      [1, 2, 3],
      [3, 2, 7],
    ].map((values) => values.map((y, x) => ({ x, y })));
    expect(bandOf(runs)).toEqual([
      { x: 0, mean: 2, low: 1, high: 3 },
      { x: 1, mean: 2, low: 2, high: 2 },
      { x: 2, mean: 5, low: 3, high: 7 },
    ]);
  });

  it("go straight between a run's points and do not go on after its end", () => {
    const band = bandOf([
      [
        { x: 0, y: 0 },
        { x: 4, y: 4 },
      ],
      [
        { x: 2, y: 10 },
        { x: 1, y: Number.NaN },
      ],
    ]);
    expect(band).toEqual([
      { x: 0, mean: 0, low: 0, high: 0 },
      { x: 2, mean: 6, low: 2, high: 10 },
      { x: 4, mean: 4, low: 4, high: 4 },
    ]);
  });
});

describe("curveSvg", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant('<a href="&">'));
  const point = fc.record({ x: fc.integer({ min: 0, max: 500 }), y: fc.float() });

  it("is valid and stays within the picture, whatever it is given", () => {
    const run = fc.array(point, { maxLength: 6 });
    const series = fc.record({ name: text, runs: fc.array(run, { maxLength: 3 }) });
    fc.assert(
      fc.property(text, fc.array(series, { maxLength: 8 }), (title, all) => {
        const finite = all.some(({ runs }) => runs.flat().some(({ y }) => Number.isFinite(y)));
        const draw = () => curveSvg({ title, x: title, y: { label: title }, series: all });
        if (!finite) return void expect(draw).toThrow(/no finite point/);
        const svg = draw();
        checkMarkup(svg);
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        for (const [, d] of svg.matchAll(/ d="M([^"]+)"/g))
          for (const [pair] of d!.matchAll(/-?[\d.]+ -?[\d.]+/g)) {
            const [x, y] = pair.split(" ").map(Number) as [number, number];
            expect(x >= 0 && x <= 720 && y >= 0 && y <= 400, pair).toBe(true);
          }
      }),
    );
  });

  it("has a line per series, a band where there are several runs, and their names", () => {
    const run = [0, 1, 2].map((x) => ({ x, y: x / 2 }));
    const svg = curveSvg({
      title: "Success",
      x: "step",
      y: { label: "rate", percent: true, from: 0, to: 1 },
      series: [
        { name: "GiGPO", runs: [run, run.map(({ x, y }) => ({ x, y: y / 2 }))] },
        { name: "control", runs: [run] },
      ],
    });
    expect(svg.match(/fill-opacity/g)).toHaveLength(1);
    expect(svg.match(/stroke-width="2"/g)).toHaveLength(2);
    for (const expected of ["GiGPO (2 runs)", ">control<", ">Success<", ">100%<", ">0%<", ">rate<"])
      expect(svg).toContain(expected);
  });

  it("has colours that can be read on white and on dark grey", () => {
    const luminance = (color: string) => {
      const [red, green, blue] = [1, 3, 5].map((i) => {
        const share = Number.parseInt(color.slice(i, i + 2), 16) / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (one: string, other: string) => {
      const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (high! + 0.05) / (low! + 0.05);
    };
    for (const background of ["#ffffff", "#0d1117"]) {
      for (const color of CURVE_COLORS) expect(contrast(color, background)).toBeGreaterThan(3);
      expect(contrast(TEXT_COLOR, background)).toBeGreaterThan(4.1);
    }
  });
});
