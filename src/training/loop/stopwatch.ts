/**
 * @file Where the time of an iteration goes, by phase. For metrics only: nothing is decided by it.
 */
import type { Metrics } from "../../algorithms/index.ts";

export interface Stopwatch {
  phase<Value>(name: string, run: () => Value): Value;
  asyncPhase<Value>(name: string, run: () => Promise<Value>): Promise<Value>;
  /** Adds the phases of another, which measured what belongs to this one at another time. */
  add(other: Stopwatch): void;
  /** Seconds by phase. */
  readonly phases: ReadonlyMap<string, number>;
  /** timing_s/NAME for each phase, and timing_s/step for everything. */
  metrics(): Metrics;
}

export function stopwatch(): Stopwatch {
  const begun = performance.now();
  const seconds = new Map<string, number>();
  const more = (name: string, value: number) => seconds.set(name, (seconds.get(name) ?? 0) + value);
  const add = (name: string, since: number) => more(name, (performance.now() - since) / 1000);
  return {
    phase(name, run) {
      const since = performance.now();
      try {
        return run();
      } finally {
        add(name, since);
      }
    },
    async asyncPhase(name, run) {
      const since = performance.now();
      try {
        return await run();
      } finally {
        add(name, since);
      }
    },
    phases: seconds,
    add(other) {
      for (const [name, value] of other.phases) more(name, value);
    },
    metrics() {
      const metrics: Metrics = {};
      for (const [name, value] of seconds) metrics[`timing_s/${name}`] = value;
      metrics["timing_s/step"] = (performance.now() - begun) / 1000;
      return metrics;
    },
  };
}
