/**
 * @file What the commands about worlds share: `NAME key=value …` on the command line, and progress.
 */
import { type PlacedWorld, placeWorld } from "../../environments/index.ts";
import { visibleLine } from "../../spelling/index.ts";
import { UsageError, wholeNumber } from "./usage.ts";

/** The name comes first, then options of the world as key=value, and what else the command takes. */
export function worldWords(words: readonly string[]): {
  name: string;
  options: Record<string, string>;
  others: readonly string[];
} {
  const [name, ...rest] = words;
  if (name === undefined) throw new UsageError("which world? openmanus-rl env list names them.");
  const options: Record<string, string> = {};
  const others: string[] = [];
  for (const word of rest) {
    const [, key, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
    if (key === undefined || value === undefined) others.push(word);
    else options[key] = value;
  }
  return { name, options, others };
}

/** `isolate`: processes of the world's own, as --isolate says; without it, none. */
export async function opened(
  name: string,
  options: Readonly<Record<string, string>>,
  { isolate, stepSeconds }: { isolate?: string | undefined; stepSeconds?: number | undefined } = {},
): Promise<PlacedWorld> {
  const processes = isolate === undefined ? 0 : wholeNumber("isolate", isolate, 1);
  return placeWorld(name, options, { isolate: { processes, stepSeconds } });
}

/** A line that is written over on a terminal, and nothing elsewhere. */
export function progressLine(): { show(text: string): void; clear(): void } {
  const { stderr } = process;
  let last = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      if (!stderr.isTTY || performance.now() - last < 100) return;
      last = performance.now();
      stderr.write(`\r\x1b[2K${visibleLine(text)}`);
    },
    clear() {
      if (stderr.isTTY) stderr.write("\r\x1b[2K");
    },
  };
}
