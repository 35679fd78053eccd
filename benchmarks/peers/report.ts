/**
 * @file From measured times to what people read: medians, and how many times faster ours is. A ratio is the median
 * of the rounds' ratios, because the machine is not equally fast in all rounds.
 */
import { median, table } from "../measure.ts";

/** One case of one round. Everybody does the same work in it, so seconds say who is faster. */
export interface Measured {
  readonly who: string;
  /** The case. */
  readonly what: string;
  readonly round: number;
  readonly seconds: number;
  /** Of the process. */
  readonly peakBytes: number;
  /** What the seconds consist of, where it is known. */
  readonly parts?: Readonly<Record<string, number>>;
  /** Versions and settings. */
  readonly about: string;
}

/** Undefined where it was never measured. */
export function medianOf(
  all: readonly Measured[],
  who: string,
  what: string,
  value: (one: Measured) => number = ({ seconds }) => seconds,
): number | undefined {
  const values = all.filter((one) => one.who === who && one.what === what).map(value);
  return values.length > 0 ? median(values) : undefined;
}

/** How many times faster `ours` is than `other`; of rounds in which both were measured. */
export function timesFaster(
  all: readonly Measured[],
  ours: string,
  other: string,
  what: string,
): number | undefined {
  const inRound = (who: string, round: number) =>
    all.find((one) => one.who === who && one.what === what && one.round === round)?.seconds;
  const ratios = [...new Set(all.map(({ round }) => round))].flatMap((round) => {
    const [own, theirs] = [inRound(ours, round), inRound(other, round)];
    return own !== undefined && theirs !== undefined ? [theirs / own] : [];
  });
  return ratios.length > 0 ? median(ratios) : undefined;
}

/** The fastest of the others, by their medians. */
export function fastest(
  all: readonly Measured[],
  others: readonly string[],
  what: string,
): string | undefined {
  const times = others.flatMap((who) => {
    const seconds = medianOf(all, who, what);
    return seconds === undefined ? [] : [{ who, seconds }];
  });
  return times.sort((a, b) => a.seconds - b.seconds)[0]?.who;
}

export interface SectionReport {
  readonly title: string;
  /** Names of the cases, and what each is. */
  readonly cases: readonly { readonly name: string; readonly about: string }[];
  /** How a case's seconds are shown. */
  readonly shown: (seconds: number, what: string) => string;
  /** At least so many times faster than the best of the others. */
  readonly goal: number;
}

export function namesIn(all: readonly Measured[]): string[] {
  return [...new Set(all.map(({ who }) => who))];
}

export function isOurs(who: string): boolean {
  return who.startsWith("ours");
}

/** A table of figures, and one of ratios for each of our variants. */
export function sectionReport(all: readonly Measured[], section: SectionReport): string {
  const cases = section.cases.filter(({ name }) => all.some(({ what }) => what === name));
  if (cases.length === 0) return "";
  const names = namesIn(all);
  const figures = [
    [section.title, ...names],
    ...cases.map(({ name, about }) => [
      about,
      ...names.map((who) => {
        const seconds = medianOf(all, who, name);
        return seconds === undefined ? "–" : section.shown(seconds, name);
      }),
    ]),
    ...cases.map(({ name }) => [
      `peak memory, ${name}`,
      ...names.map((who) => gigabytes(medianOf(all, who, name, ({ peakBytes }) => peakBytes))),
    ]),
  ];
  return [table(figures), ratioTable(all, section, cases), partsOf(all, cases)]
    .filter((part) => part !== "")
    .join("\n\n");
}

function ratioTable(
  all: readonly Measured[],
  { goal }: SectionReport,
  cases: SectionReport["cases"],
): string {
  const names = namesIn(all);
  const others = names.filter((who) => !isOurs(who));
  const own = names.filter(isOurs);
  if (own.length === 0 || others.length === 0) return "";
  const times = (ratio: number | undefined) =>
    ratio === undefined ? "–" : `${ratio.toFixed(2)} ×`;
  const rows = own.flatMap((ours) =>
    cases.map(({ name, about }) => {
      const best = fastest(all, others, name);
      const ratio = best === undefined ? undefined : timesFaster(all, ours, best, name);
      return [
        `${ours}: ${about}`,
        ...others.map((other) => times(timesFaster(all, ours, other, name))),
        times(ratio),
        `${goal} ×`,
        ratio !== undefined && ratio < goal ? "MISSED" : "",
      ];
    }),
  );
  const heads = others.map((other) => `beside ${other}`);
  return table([["times faster", ...heads, "beside the best", "goal", ""], ...rows]);
}

/** What the seconds consist of, where somebody says so. */
function partsOf(all: readonly Measured[], cases: SectionReport["cases"]): string {
  const lines = namesIn(all).flatMap((who) =>
    cases.flatMap(({ name }) => {
      const one = all.find((other) => other.who === who && other.what === name && other.parts);
      const parts = Object.keys(one?.parts ?? {}).map((part) => {
        const seconds = medianOf(all, who, name, ({ parts: own }) => own?.[part] ?? 0)!;
        return `${part} ${seconds.toFixed(1)} s`;
      });
      return parts.length > 0 ? [`${who}, ${name}: ${parts.join(", ")}`] : [];
    }),
  );
  return lines.join("\n");
}

function gigabytes(bytes: number | undefined): string {
  return bytes === undefined ? "–" : `${(bytes / 1e9).toFixed(2)} GB`;
}
