/**
 * @file The newest episodes of a run as they are played, in a small file of the run's folder that is begun anew with every
 * iteration. Nothing depends on it: what cannot be written is not, and the run goes on.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { BegunEpisode, EpisodeWatch } from "../../rollout/index.ts";
import { type LiveLine, liveWatch, type TokenTexts } from "./lines.ts";

export interface LiveFile {
  /** Begins an iteration; gives who watches its episodes: the first of its groups. */
  iteration(
    iteration: number,
    tokens: TokenTexts,
    isStreamed: boolean,
  ): (episode: BegunEpisode) => EpisodeWatch | undefined;
  close(): void;
}

export interface LiveFileOptions {
  /** Episodes of an iteration that are watched. */
  readonly episodes: number;
  /** Milliseconds between two writes, at least. Default 200. */
  readonly pause?: number;
  /** Bytes of the file at most. Default 1 MB. */
  readonly largest?: number;
  /** Is told, once, that it cannot be written. */
  readonly onLost?: ((sentence: string) => void) | undefined;
}

export function openLiveFile(file: string, options: LiveFileOptions): LiveFile {
  const { episodes, pause = 200, largest = 2 ** 20 } = options;
  let descriptor: number | undefined;
  let waiting: LiveLine[] = [];
  let size = 0;
  let isFull = false;
  let isLost = false;
  /** Whether the file has this iteration, or still the last that was shown. */
  let isShown = false;
  let written = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      // A full disk, a folder that is gone: there is nothing to see until the next iteration.
      if (!isLost)
        options.onLost?.(
          `${file}: cannot be written (${(error as Error).message}); episodes cannot be watched while they are played, ` +
            "and the run goes on",
        );
      isLost = true;
      isFull = true;
      waiting = [];
    }
  }

  function write(): void {
    clearTimeout(timer);
    timer = undefined;
    written = performance.now();
    if (waiting.length === 0) return;
    const text = joined(waiting)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    waiting = [];
    let bytes = Buffer.from(text);
    if (size + bytes.length > largest) {
      isFull = true;
      bytes = Buffer.from(`${JSON.stringify({ kind: "full" } satisfies LiveLine)}\n`);
    }
    attempt(() => {
      descriptor ??= openSync(file, "w");
      if (!isShown) ftruncateSync(descriptor, 0);
      isShown = true;
      // At its place, whatever was truncated before it.
      size += writeSync(descriptor, bytes, 0, bytes.length, size);
    });
  }

  function say(line: LiveLine): void {
    if (isFull) return;
    waiting.push(line);
    if (performance.now() - written >= pause) write();
    // What is drawn holds the process for long: a timer alone would come late, and none would leave the rest.
    else timer ??= setTimeout(write, pause).unref();
  }

  return {
    iteration(iteration, tokens, isStreamed) {
      // What was begun is shown whole, and stays for a pause at least: of iterations that are shorter, only some are shown.
      if (isShown) write();
      waiting = [];
      isFull = false;
      isShown = false;
      size = 0;
      say({ kind: "iteration", iteration, at: new Date().toISOString() });
      return (episode) => {
        if (episode.member > 0 || episode.place >= episodes) return undefined;
        return quiet(liveWatch(episode, tokens, isStreamed, say));
      };
    },
    close() {
      write();
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** Tokens of one reply that wait together are one line. */
function joined(lines: readonly LiveLine[]): LiveLine[] {
  const result: LiveLine[] = [];
  for (const line of lines) {
    const last = result.at(-1);
    if (
      line.kind === "drawn" &&
      last?.kind === "drawn" &&
      last.episode === line.episode &&
      last.turn === line.turn
    )
      result[result.length - 1] = { ...last, tokens: [...last.tokens, ...line.tokens] };
    else result.push(line);
  }
  return result;
}

/** Whatever goes wrong in telling is not the episode's affair. */
function quiet(watch: EpisodeWatch): EpisodeWatch {
  const safely =
    <Given extends unknown[]>(tell: (...given: Given) => void) =>
    (...given: Given) => {
      try {
        tell(...given);
      } catch {
        // Not told.
      }
    };
  const { token } = watch;
  return {
    told: safely(watch.told),
    ...(token && { token: safely(token) }),
    replied: safely(watch.replied),
    acted: safely(watch.acted),
    ended: safely(watch.ended),
  };
}
