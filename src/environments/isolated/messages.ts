/**
 * @file What a world's process is asked and what it answers: a line of JSON each, over a pipe of their own.
 * Standard output stays the world's.
 *
 * A second pipe has the numbers of requests, each written at once before the world is called for it: whatever
 * ends or freezes the process then is that request's doing.
 */
import { StringDecoder } from "node:string_decoder";
import type { Json, Observation, Task } from "../environment.ts";

/** The pipes' numbers in the world's process. */
export const PIPE = 3;
export const MARKS = 4;
/** Bytes of a line at most: several times what an observation may hold. */
export const LONGEST_LINE = 32 * 2 ** 20;

export type Request =
  | {
      readonly call: "open";
      readonly world: string;
      readonly options: Readonly<Record<string, unknown>>;
      /** Of its own randomness, where it has an option for that and nobody has set it. */
      readonly seed?: number | undefined;
    }
  | { readonly call: "tasks"; readonly split: string }
  /** Tasks of a split from an index on: as many as the process likes to send at once. */
  | { readonly call: "list"; readonly split: string; readonly from: number }
  | { readonly call: "reset"; readonly environment: number; readonly task: Task }
  | { readonly call: "step"; readonly environment: number; readonly action: string }
  | { readonly call: "close"; readonly environment: number }
  | {
      readonly call: "act";
      readonly expert: number;
      readonly seed: number;
      readonly observation: SentObservation;
    }
  | { readonly call: "acted"; readonly expert: number; readonly action: string }
  | { readonly call: "solution"; readonly task: Task }
  | { readonly call: "ping" }
  /** Closes the world and ends the process. */
  | { readonly call: "end" };

/** An observation with its list made, or with the reason why it could not be. */
export interface SentObservation extends Omit<Observation, "admissible"> {
  readonly admissible?: readonly string[];
  readonly noActions?: string;
}

/** `id` names the request that is answered. */
export type Reply =
  | { readonly id: number; readonly value: Json }
  | { readonly id: number; readonly error: string }
  /** Something went wrong outside of an environment's calls. */
  | { readonly fault: string; readonly environment: number };

/** What an "open" is answered with. */
export interface OpenedWorld {
  readonly definition: {
    readonly name: string;
    readonly aliases: readonly string[];
    readonly summary: string;
    readonly briefing?: string;
    readonly maximumSteps: number;
    readonly types: readonly string[];
    readonly options: { readonly [name: string]: Json };
  };
  readonly name: string;
  readonly source?: string;
  readonly splits: readonly string[];
  readonly tools?: readonly Json[];
  /** Undefined: it has no expert. */
  readonly expert?: { readonly acted: boolean; readonly thought: boolean };
  readonly solution: boolean;
}

/** Cuts a stream into lines. False: a line is longer than may be, and nothing more is read. */
export function lineReader(onLine: (line: string) => void): (chunk: Buffer) => boolean {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let length = 0;
  return (chunk) => {
    const pieces = decoder.write(chunk).split("\n");
    for (const [i, piece] of pieces.entries()) {
      length += piece.length;
      if (length > LONGEST_LINE) return false;
      parts.push(piece);
      if (i === pieces.length - 1) break;
      const line = parts.join("");
      parts = [];
      length = 0;
      onLine(line);
    }
    return true;
  };
}
