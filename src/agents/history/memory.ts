/**
 * @file File memory: every step and every note of one episode goes into a file, a line each; before a
 * turn, the lines that have most to do with the present are recalled.
 *
 * A line counts by the rare words that it shares with the task and the observation (a word counts
 * log(1 + lines / lines with it)); of equal lines the newest comes first.
 */
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { wordsOf } from "../words.ts";
import {
  type History,
  type MemoryOptions,
  type PastStep,
  stepLine,
  windowText,
} from "./history.ts";

/** One episode's memory. */
export class FileMemory {
  readonly #lines: { text: string; words: ReadonlySet<string> }[] = [];
  readonly #linesWith = new Map<string, number>();
  readonly #file: string | undefined;

  /** Without a file it is kept in this process only. A file of that name is begun anew. */
  constructor(file?: string) {
    this.#file = file;
    if (file !== undefined) rmSync(file, { force: true });
  }

  get size(): number {
    return this.#lines.length;
  }

  store(text: string): void {
    const line = text.replace(/\s+/g, " ").trim();
    if (line === "") return;
    const words = new Set(wordsOf(line));
    this.#lines.push({ text: line, words });
    for (const word of words) this.#linesWith.set(word, (this.#linesWith.get(word) ?? 0) + 1);
    if (this.#file !== undefined) appendFileSync(this.#file, `${line}\n`);
  }

  /** The lines that share most with the query, best first; none that shares nothing. */
  search(query: string, limit: number, among = this.#lines.length): string[] {
    const wanted = new Set(wordsOf(query));
    const weight = (word: string) => Math.log(1 + this.#lines.length / this.#linesWith.get(word)!);
    return this.#lines
      .slice(0, among)
      .map(({ text, words }, place) => {
        let score = 0;
        for (const word of wanted) if (words.has(word)) score += weight(word);
        return { text, score, place };
      })
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || b.place - a.place)
      .slice(0, limit)
      .map(({ text }) => text);
  }
}

export function memoryHistory(
  { recalled = 3, length = 1, folder }: Omit<MemoryOptions, "kind">,
  episode: string,
): History {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const file = folder === undefined ? undefined : join(folder, fileName(episode));
  const memory = new FileMemory(file);
  const steps: PastStep[] = [];
  /** Lines of the memory before those of the steps that are shown word for word. */
  const before: number[] = [];
  return {
    record(step) {
      steps.push(step);
      before.push(memory.size);
      memory.store(stepLine(step));
      if (step.note) memory.store(`[Note ${step.number}: ${step.note}]`);
    },
    text({ task, observation }) {
      // With no step shown word for word, all lines are searched.
      const among = before[Math.max(0, before.length - length)] ?? memory.size;
      const lines = memory.search(`${task} ${observation}`, recalled, among);
      const recall = lines.length > 0 ? ["From your memory:", ...lines] : [];
      return [...recall, windowText(steps, length)].filter(Boolean).join("\n");
    },
  };
}

/** Readable, short enough for every file system, and another for every episode. */
function fileName(episode: string): string {
  const hash = createHash("sha256").update(episode).digest("hex").slice(0, 12);
  return `${episode.replace(/[^\w.-]+/g, "_").slice(0, 80)}-${hash}.md`;
}
