/**
 * @file What alarms say of recorded runs: of broken ones, which is first and whether it names what is wrong; of healthy ones,
 * each is a false one.
 */
import { type AlarmEvent, NO_ALARMS, watchAlarms } from "../../src/evaluation/index.ts";
import type { RecordedRun } from "./record.ts";

export interface Judged {
  readonly name: string;
  readonly kind: "healthy" | "broken";
  readonly seed: number;
  readonly iterations: number;
  /** Alarms that began, in their order. */
  readonly alarms: readonly { readonly name: string; readonly iteration: number }[];
  readonly expected: readonly string[];
  /** The first of the expected ones. */
  readonly named: { readonly name: string; readonly iteration: number } | undefined;
  /** Success in training at the first iteration and at the last. */
  readonly success: readonly [number, number];
  readonly seconds: number;
  readonly error: string | undefined;
}

/** As in a run with the usual settings. */
const OPTIONS = { maxKl: 10, minEntropy: 0.001, ignored: [] };

export function judged({ run, lines, seconds, error }: RecordedRun): Judged {
  let state = NO_ALARMS;
  const events: AlarmEvent[] = [];
  const options = { ...OPTIONS, comparesGroups: !run.name.endsWith("PPO") };
  for (const { step, metrics } of lines) {
    const watched = watchAlarms(state, step, metrics, options);
    state = watched.state;
    events.push(...watched.events);
  }
  const alarms = events
    .filter(({ kind }) => kind === "begins")
    .map(({ name, iteration }) => ({ name, iteration }));
  const expected: readonly string[] = run.expected ?? [];
  const rates = lines.flatMap(({ metrics }) => metrics["episode/success_rate"] ?? []);
  return {
    name: run.name,
    kind: run.expected ? "broken" : "healthy",
    seed: run.seed,
    iterations: Math.max(0, lines.at(-1)?.step ?? 0),
    ...{ alarms, expected, seconds, error },
    named: alarms.find(({ name }) => expected.includes(name)),
    success: [rates[0] ?? 0, rates.at(-1) ?? 0],
  };
}
