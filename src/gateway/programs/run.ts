/**
 * @file What starting a program takes, whichever way it is started.
 */
import type { Json } from "../../environments/index.ts";
import type { ModelAccess, ProgramAnswer, ProgramTask } from "./define.ts";

export interface Start<Data extends Json = Json> {
  /** The world's, for messages. */
  readonly name: string;
  readonly task: ProgramTask<Data>;
  readonly access: ModelAccess;
  readonly seed: number;
  readonly signal: AbortSignal;
}

export type Run<Data extends Json = Json> = (start: Start<Data>) => Promise<ProgramAnswer>;

/** Of commands. */
export interface RunOptions {
  readonly folder?: string | undefined;
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/**
 * What a program's last words say: its reward, where the last line is JSON that has one (a number, or an object with
 * `reward`, `score` or `won`); otherwise all of it is a text.
 */
export function lastWords(text: string): ProgramAnswer {
  const last = text.trimEnd().split("\n").at(-1)!.trim();
  let value: unknown;
  try {
    value = JSON.parse(last);
  } catch {
    return text.trim();
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return text.trim();
  const known = ["reward", "score", "won", "output"].some((key) => Object.hasOwn(value, key));
  return known ? (value as ProgramAnswer) : text.trim();
}
