/**
 * @file What `npm run bench -- peers` is asked to measure: sections, peers, cases and rounds, because all of it
 * takes an hour.
 */
import { parseArgs } from "node:util";
import { ArgumentError } from "../arguments.ts";
import { GENERATION_CASES, GRPO_CASES, TRAINING_CASES } from "./workloads.ts";

export const SECTIONS = ["generation", "training", "grpo"] as const;
export type Section = (typeof SECTIONS)[number];

export const PEERS = ["ours", "vllm", "llama.cpp", "transformers", "trl"] as const;
export type Peer = (typeof PEERS)[number];

export interface PeersOptions {
  readonly sections: readonly Section[];
  readonly peers: readonly Peer[];
  /** Undefined: all. */
  readonly cases: readonly string[] | undefined;
  /** How often everybody is measured, by turns. */
  readonly rounds: number;
  readonly threads: number;
  /** Of GRPO, timed; one that is not comes before them. */
  readonly iterations: number;
}

const CASES = [GENERATION_CASES, TRAINING_CASES, GRPO_CASES].flatMap((all) => Object.keys(all));

export const PEERS_USAGE = [
  "  --only LIST     of generation, training, grpo (by default all)",
  `  --peers LIST    of ${PEERS.join(", ")} (by default all)`,
  `  --cases LIST    of ${CASES.join(", ")} (by default all)`,
  "  --rounds N      each peer so often, by turns; medians are reported (3)",
  "  --threads N     of each peer (2)",
  "  --iterations N  of GRPO, timed, after one that is not (2)",
].join("\n");

export function peersOptions(words: readonly string[]): PeersOptions {
  const { only, peers, cases, rounds, threads, iterations } = given(words);
  return {
    sections: chosen("--only", only, SECTIONS) ?? SECTIONS,
    peers: chosen("--peers", peers, PEERS) ?? PEERS,
    cases: chosen("--cases", cases, CASES),
    rounds: count("--rounds", rounds ?? "3"),
    threads: count("--threads", threads ?? "2"),
    iterations: count("--iterations", iterations ?? "2"),
  };
}

function given(words: readonly string[]) {
  const text = { type: "string" } as const;
  const options = {
    ...{ only: text, peers: text, cases: text },
    ...{ rounds: text, threads: text, iterations: text },
  };
  try {
    return parseArgs({ args: [...words], options, strict: true }).values;
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

/** In the order of what there is, so that reports always look the same. */
function chosen<Name extends string>(
  option: string,
  list: string | undefined,
  known: readonly Name[],
): Name[] | undefined {
  if (list === undefined) return undefined;
  const names = list.split(",").map((name) => name.trim());
  const stranger = names.find((name) => !known.some((other) => other === name));
  if (stranger !== undefined)
    throw new ArgumentError(`${option}: there is no "${stranger}"; there are ${known.join(", ")}`);
  return known.filter((name) => names.includes(name));
}

function count(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new ArgumentError(`${option}: expected a whole number, 1 or more, got "${text}"`);
  return number;
}
