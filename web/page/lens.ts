/**
 * @file What tokens can be coloured by: which number, and how it becomes a colour.
 */
import type { EpisodePage } from "../../src/dashboard/api.ts";
import type { TokenColumn } from "../../src/monitoring/tokens/table.ts";

export interface Lens {
  readonly name: string;
  /** signed: around 0. size: from 0 up. share: 0 to 1, where 0 and 1 are kinds. */
  readonly scale: "signed" | "size" | "share";
  /** [tokens]; null: not known. */
  values(episode: EpisodePage): (number | null)[] | undefined;
}

type Numbers = readonly (number | null)[];

const column =
  (name: TokenColumn) =>
  ({ columns }: EpisodePage): (number | null)[] | undefined =>
    columns?.[name] && [...columns[name]];

function combined(
  { columns }: EpisodePage,
  first: TokenColumn,
  second: TokenColumn,
  of: (a: number, b: number) => number,
): (number | null)[] | undefined {
  const [a, b]: (Numbers | undefined)[] = [columns?.[first], columns?.[second]];
  if (!a || !b) return undefined;
  return a.map((value, i) => {
    const other = b[i] ?? null;
    return value === null || other === null ? null : of(value, other);
  });
}

/** An estimate of KL to the reference that is never negative: e^x − x − 1, x = log p_ref − log p. */
const k3 = (logprob: number, reference: number) => {
  const x = Math.min(Math.max(reference - logprob, -20), 20);
  return Math.expm1(x) - x;
};

export const LENSES: readonly Lens[] = [
  { name: "advantage", scale: "signed", values: column("advantage") },
  { name: "advantage: episode part", scale: "signed", values: column("advantage_episode") },
  { name: "advantage: step part", scale: "signed", values: column("advantage_step") },
  {
    name: "surprise (−log p)",
    scale: "size",
    values: ({ turns }) =>
      turns.flatMap(({ logprobs }) => logprobs.map((value) => (value === null ? null : -value))),
  },
  { name: "entropy", scale: "size", values: column("entropy") },
  {
    name: "ratio − 1",
    scale: "signed",
    values: (episode) => combined(episode, "logprob", "old_logprob", (a, b) => Math.expm1(a - b)),
  },
  { name: "clipped", scale: "share", values: column("clipped") },
  { name: "reward", scale: "signed", values: column("reward") },
  { name: "value", scale: "signed", values: column("value") },
  {
    name: "KL to the reference",
    scale: "size",
    values: (episode) => combined(episode, "logprob", "reference_logprob", k3),
  },
  {
    name: "part of the loss",
    scale: "signed",
    values: (episode) => combined(episode, "loss", "weight", (a, b) => a * b),
  },
  { name: "importance weight", scale: "size", values: column("importance") },
  { name: "trained on", scale: "share", values: column("trained") },
  { name: "mini-batch", scale: "size", values: column("mini_batch") },
];

/** The largest size among the values, as the end of the scale. */
export function reach(values: Numbers): number {
  let most = 0;
  for (const value of values) if (value !== null) most = Math.max(most, Math.abs(value));
  return most;
}

export function colourOf(
  value: number | null,
  { scale }: Pick<Lens, "scale">,
  most: number,
): string {
  if (value === null) return "transparent";
  if (scale === "share") return value >= 0.5 ? mixed("--hot", 45) : "transparent";
  const share = most === 0 ? 0 : Math.min(1, Math.abs(value) / most);
  const strength = Math.round(70 * Math.sqrt(share));
  return mixed(scale === "signed" && value < 0 ? "--cold" : "--hot", strength);
}

const mixed = (name: string, percent: number) =>
  `color-mix(in srgb, var(${name}) ${percent}%, transparent)`;
