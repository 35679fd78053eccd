/**
 * @file Groups of charts over metrics, with what one may choose about all of them: axis, smoothing, scale.
 */
import { useState } from "preact/hooks";
import type { Columns } from "../../../src/dashboard/api.ts";
import { defaultGroups } from "../charts.ts";
import { Chart, type Curve, type Mark } from "./chart.tsx";

export interface Measured {
  /** Empty: there is only one, and the metric's name is enough. */
  readonly name: string;
  readonly columns: Columns;
  /** Other runs of the same: their mean is drawn, and a band from the least to the most. */
  readonly others?: readonly Columns[];
}

const AXES = {
  iterations: undefined,
  episodes: "training/episodes",
  tokens: "training/tokens",
  minutes: "timing_s/step",
} as const;
type Axis = keyof typeof AXES;

export function places({ steps, values }: Columns, axis: Axis): number[] {
  const name = AXES[axis];
  if (name === undefined) return [...steps];
  const column = values[name] ?? [];
  let last = 0;
  return steps.map((_, i) => {
    const value = column[i] ?? 0;
    last = axis === "minutes" ? last + value / 60 : Math.max(last, value);
    return last;
  });
}

/** Mean, least and most of several runs at the places of the first. */
export function band(name: string, all: readonly Columns[], axis: Axis, label: string): Curve {
  const first = all[0]!;
  const x = places(first, axis);
  const at = first.steps.map((step) =>
    all.flatMap((one) => one.values[name]?.[one.steps.indexOf(step)] ?? []),
  );
  const of = (pick: (values: number[]) => number) =>
    at.map((values) => (values.length > 0 ? pick(values) : null));
  return {
    name: label,
    x,
    y: of((values) => values.reduce((sum, value) => sum + value, 0) / values.length),
    low: of((values) => Math.min(...values)),
    high: of((values) => Math.max(...values)),
  };
}

export function CurveGroups({
  runs,
  marks = [],
}: {
  runs: readonly Measured[];
  marks?: readonly Mark[];
}) {
  const [axis, setAxis] = useState<Axis>("iterations");
  const [smoothing, setSmoothing] = useState(0);
  const [logarithmic, setLogarithmic] = useState(false);
  const [wanted, setWanted] = useState("");
  const names = [...new Set(runs.flatMap(({ columns }) => Object.keys(columns.values)))];
  const groups = defaultGroups(names)
    .map((group) => ({
      ...group,
      charts: group.charts
        .map((chart) => ({
          ...chart,
          names: chart.names.filter(
            (name) => names.includes(name) && name.toLowerCase().includes(wanted.toLowerCase()),
          ),
        }))
        .filter((chart) => chart.names.length > 0),
    }))
    .filter(({ charts }) => charts.length > 0);
  const moved = movedMarks(marks, runs, axis);
  const curvesOf = (metrics: readonly string[]): Curve[] =>
    runs.flatMap((run, number) =>
      metrics.flatMap((name, k): Curve[] => {
        const y = run.columns.values[name];
        if (!y) return [];
        const label =
          run.name === "" ? name : metrics.length > 1 ? `${run.name} ${name}` : run.name;
        const look = run.name === "" ? {} : { colour: number, isDashed: k > 0 };
        const curve = run.others
          ? band(name, [run.columns, ...run.others], axis, label)
          : { name: label, x: places(run.columns, axis), y };
        return [{ ...curve, ...look }];
      }),
    );
  return (
    <>
      <div class="controls">
        <label>
          over{" "}
          <select value={axis} onChange={(event) => setAxis(event.currentTarget.value as Axis)}>
            {Object.keys(AXES).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          smoothing{" "}
          <input
            type="range"
            min="0"
            max="0.98"
            step="0.02"
            value={smoothing}
            onInput={(event) => setSmoothing(Number(event.currentTarget.value))}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={logarithmic}
            onChange={(event) => setLogarithmic(event.currentTarget.checked)}
          />{" "}
          logarithmic
        </label>
        <input
          type="search"
          placeholder="metric"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
        {marks.some(({ kind }) => kind === "alarm") && (
          <span>
            <span class="bad">●</span> an alarm (see the log)
          </span>
        )}
        {marks.some(({ kind }) => kind === "validation") && <span>┊ a validation</span>}
      </div>
      {groups.map((group) => (
        <Group key={group.title} title={group.title} isOpen={group.open === true || wanted !== ""}>
          {() =>
            group.charts.map(({ title, names: metrics }) => (
              <Chart
                key={title}
                {...{
                  title,
                  smoothing,
                  logarithmic,
                  axis,
                  marks: moved,
                }}
                curves={curvesOf(metrics)}
              />
            ))
          }
        </Group>
      ))}
    </>
  );
}

/** Marks are of iterations, of the one run that there is. */
function movedMarks(
  marks: readonly Mark[],
  runs: readonly Measured[],
  axis: Axis,
): readonly Mark[] {
  const [run] = runs;
  if (axis === "iterations" || !run) return marks;
  const at = places(run.columns, axis);
  return marks.flatMap((mark) => {
    const x = at[run.columns.steps.indexOf(mark.x)];
    return x === undefined ? [] : [{ ...mark, x }];
  });
}

/** What is closed is not drawn. */
function Group(props: {
  title: string;
  isOpen: boolean;
  children: () => preact.ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(props.isOpen);
  const open = isOpen || props.isOpen;
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{props.title}</summary>
      {open && <div class="charts">{props.children()}</div>}
    </details>
  );
}
