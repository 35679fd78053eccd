/**
 * @file What an agent is told of its past in the context `steps`, where every turn has a prompt of its
 * own. (In the context `conversation` the past is the conversation.)
 */
import type { SummaryOptions } from "./summary.ts";

/** One turn that is over. */
export interface PastStep {
  /** Counted from 1. */
  readonly number: number;
  readonly observation: string;
  /** What was done; for a reply that could not be read, the reply's beginning. */
  readonly action: string;
  /** What the reply noted for later, in a format with a field for that. */
  readonly note?: string | undefined;
}

/** The past of one episode. Never shared between episodes. */
export interface History {
  record(step: PastStep): void;
  /** A paragraph for the next prompt; empty when there is nothing to tell. */
  text(present: Present): string | Promise<string>;
}

/** What the agent has before it now. */
export interface Present {
  readonly task: string;
  readonly observation: string;
  readonly signal?: AbortSignal | undefined;
}

export interface WindowOptions {
  readonly kind: "window";
  /** The last so many steps, word for word. Default 2. */
  readonly length?: number;
}

export interface MemoryOptions {
  readonly kind: "memory";
  /** Entries that are recalled for a prompt. Default 3. */
  readonly recalled?: number;
  /** Steps that are shown word for word besides. Default 1. */
  readonly length?: number;
  /** Where each episode's file goes; without it, the memory is kept in this process. */
  readonly folder?: string;
}

/** A history of one's own: a new one for every episode. */
export type MakeHistory = (episode: string) => History;

export type HistoryOptions = WindowOptions | SummaryOptions | MemoryOptions;

/** As the documents write a step of the past. */
export function stepLine({ number, observation, action }: PastStep): string {
  return `[Observation ${number}: '${observation}', Action ${number}: '${action}']`;
}

/** The steps that a window shows. */
export function windowText(steps: readonly PastStep[], length: number): string {
  const shown = length > 0 ? steps.slice(-length) : [];
  if (shown.length === 0) return "";
  const count = steps.length === shown.length ? "" : `, of ${steps.length} so far`;
  const title =
    shown.length === 1 ? `Your last step${count}:` : `Your last ${shown.length} steps${count}:`;
  return [title, ...shown.map(stepLine)].join("\n");
}

export function windowHistory({ length = 2 }: Omit<WindowOptions, "kind">): History {
  if (!(length >= 0 && (Number.isInteger(length) || length === Infinity)))
    throw new RangeError(`history: the window's length must be a whole number, got ${length}`);
  const steps: PastStep[] = [];
  return {
    record: (step) => void steps.push(step),
    text: () => windowText(steps, length),
  };
}
