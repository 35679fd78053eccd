/**
 * @file The lines of an episode that is played here, for pages that follow it.
 */
import type { LiveLine } from "../../monitoring/index.ts";
import type { FollowedLive } from "../events.ts";

export interface LiveLines extends FollowedLive {
  say(line: LiveLine): void;
  /** Another episode takes its place. */
  clear(): void;
}

/** Milliseconds until a page that was behind is told again. */
const AGAIN = 500;

export function liveLines(): LiveLines {
  let lines: LiveLine[] = [];
  const listeners = new Set<(anew: boolean) => void>();
  const tellAll = (anew: boolean) => {
    for (const listener of listeners) listener(anew);
  };
  return {
    say(line) {
      lines.push(line);
      tellAll(false);
    },
    clear() {
      lines = [];
      tellAll(true);
    },
    follow(tell) {
      let told = 0;
      let isNew = true;
      const listener = (anew: boolean) => {
        if (anew) {
          told = 0;
          isNew = true;
        }
        if (!isNew && told === lines.length) return;
        if (!tell(lines.slice(told), isNew)) return;
        told = lines.length;
        isNew = false;
      };
      listeners.add(listener);
      listener(false);
      const timer = setInterval(() => listener(false), AGAIN);
      return () => {
        clearInterval(timer);
        listeners.delete(listener);
      };
    },
  };
}
