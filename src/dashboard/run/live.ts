/**
 * @file Follows the file of a run's newest episodes, while somebody looks. It is small and begun anew with every iteration,
 * so it is read as a whole; its first line says which one it is.
 */
import { readFileSync, statSync } from "node:fs";
import type { LiveLine } from "../../monitoring/index.ts";
import type { FollowedLive } from "../events.ts";

/** Milliseconds between two looks. */
const BEAT = 200;
/** No file of ours is larger; what somebody else put there is not read. */
const LARGEST = 4 * 2 ** 20;

export function followLive(file: string): FollowedLive {
  return {
    follow(tell) {
      let first: string | undefined;
      let told = 0;
      let stamp = "";
      const look = () => {
        const now = stampOf(file);
        if (now === stamp) return;
        const text = textOf(file);
        const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
        lines.pop();
        const anew = lines[0] !== first;
        const from = anew ? 0 : told;
        // A client that is behind is told later, from where it stands.
        if ((anew || lines.length > from) && !tell(lines.slice(from).flatMap(lineOf), anew)) return;
        stamp = now;
        first = lines[0];
        told = lines.length;
      };
      look();
      const timer = setInterval(look, BEAT);
      return () => clearInterval(timer);
    },
  };
}

function stampOf(file: string): string {
  try {
    const { size, mtimeMs } = statSync(file);
    return size <= LARGEST ? `${size} ${mtimeMs}` : "";
  } catch {
    return "";
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** What is no line of ours is left out. */
function lineOf(text: string): LiveLine[] {
  try {
    const line = JSON.parse(text) as LiveLine | null;
    return typeof line?.kind === "string" ? [line] : [];
  } catch {
    return [];
  }
}
