/**
 * @file Who hears how it goes: a terminal, a stream, a function, or nobody.
 */
import {
  NO_PROGRESS,
  openProgress,
  type Progress,
  type TerminalStream,
} from "../monitoring/index.ts";
import { visible } from "../spelling/index.ts";
import type { ProgressChoices } from "./options.ts";

export interface Audience {
  readonly say: (text: string) => void;
  readonly progress: Progress;
  /** Where a run's view is shown; undefined: nowhere. */
  readonly stream: TerminalStream | undefined;
}

export function audienceOf({ progress = true, say }: ProgressChoices): Audience {
  const stream = progress === true ? process.stdout : progress === false ? undefined : progress;
  const line = stream ? openProgress(stream) : NO_PROGRESS;
  return {
    stream,
    progress: line,
    say:
      say ??
      ((text) => {
        line.clear();
        stream?.write(`${visible(text)}\n`);
      }),
  };
}

/** Work that was to be stopped before there was anything to save. */
export class InterruptedError extends Error {
  override name = "InterruptedError";
}

export function throwIfAborted(signal: AbortSignal | undefined, where: string): void {
  if (signal?.aborted)
    throw new InterruptedError(`interrupted ${where}; the same call begins with that again`);
}

export function interruptedWhile(what: string): InterruptedError {
  return new InterruptedError(`interrupted while ${what}; the same call begins with that again`);
}
