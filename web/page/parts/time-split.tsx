/**
 * @file Where the time of the last iterations went, as one bar.
 */
import type { Columns } from "../../../src/dashboard/api.ts";
import { phasesOf } from "../../../src/monitoring/terminal/fields.ts";
import { percent } from "../numbers.ts";

const LAST = 10;

export function TimeSplit({ columns: { values } }: { columns: Columns }) {
  const means = Object.entries(values).flatMap(([name, column]): [string, number][] => {
    if (!name.startsWith("timing_s/")) return [];
    const last = column.slice(-LAST).flatMap((value) => value ?? []);
    const sum = last.reduce((all, value) => all + value, 0);
    return [[name, sum / Math.min(LAST, column.length)]];
  });
  const phases = phasesOf(Object.fromEntries(means));
  const whole = phases.reduce((sum, { seconds }) => sum + seconds, 0);
  if (whole === 0) return null;
  return (
    <div class="split" role="img" aria-label="where the time goes">
      {phases.map(({ name, seconds }, i) => (
        <div
          key={name}
          title={`${name}: ${percent(seconds / whole)}, ${seconds.toFixed(2)} s`}
          style={{ flexGrow: seconds / whole, background: `var(--curve-${(i % 8) + 1})` }}
        >
          {seconds / whole > 0.08 ? `${name} ${percent(seconds / whole)}` : ""}
        </div>
      ))}
    </div>
  );
}
