/**
 * @file What was answered before, by task: bounded, the oldest goes first.
 */
import { LONGEST_MATCH, TokenIndex } from "./token-index.ts";

export interface HistoryLimits {
  /** Tokens of one task. */
  readonly perTask: number;
  /** Tokens of all tasks together; each takes some twelve bytes. */
  readonly inAll: number;
}

export const HISTORY_LIMITS: HistoryLimits = { perTask: 16_384, inAll: 2 ** 21 };

interface Remembered {
  /** Each with the tokens before it, by which it is found; oldest first. */
  texts: (readonly number[])[];
  index: TokenIndex;
}

/** The answers of any task, for tasks that are new: not a name that a task can have. */
const ANY = Symbol("any task");
type Key = string | typeof ANY;

export class AnswerHistory {
  readonly #limits: HistoryLimits;
  /** Least recently added to first. */
  readonly #tasks = new Map<Key, Remembered>();
  #tokens = 0;

  constructor(limits = HISTORY_LIMITS) {
    this.#limits = limits;
  }

  /** Tokens that are remembered now. */
  get tokens(): number {
    return this.#tokens;
  }

  /** `ids` are a prompt and its answer, which begins at `begin`. */
  add(task: string | undefined, ids: readonly number[], begin: number): void {
    const text = ids.slice(Math.max(0, begin - LONGEST_MATCH)).slice(-this.#limits.perTask);
    this.#addTo(ANY, text);
    if (task !== undefined) this.#addTo(task, text);
    while (this.#tokens > this.#limits.inAll) {
      const oldest = [...this.#tasks.keys()].find((key) => key !== ANY) ?? ANY;
      this.#drop(oldest);
    }
  }

  ofTask(task: string | undefined): TokenIndex | undefined {
    return task === undefined ? undefined : this.#tasks.get(task)?.index;
  }

  ofAny(): TokenIndex | undefined {
    return this.#tasks.get(ANY)?.index;
  }

  /** Forgets a task, or everything. */
  forget(task?: string): void {
    for (const key of task === undefined ? [...this.#tasks.keys()] : [task]) this.#drop(key);
  }

  #addTo(key: Key, text: readonly number[]): void {
    const known = this.#tasks.get(key) ?? { texts: [], index: new TokenIndex() };
    const before = known.index.length;
    known.texts.push(text);
    append(known.index, text);
    if (known.index.length > this.#limits.perTask) shorten(known, this.#limits.perTask / 2);
    this.#tokens += known.index.length - before;
    this.#tasks.delete(key);
    this.#tasks.set(key, known);
  }

  #drop(key: Key): void {
    this.#tokens -= this.#tasks.get(key)?.index.length ?? 0;
    this.#tasks.delete(key);
  }
}

function append(index: TokenIndex, text: readonly number[]): void {
  for (const id of text) index.push(id);
  index.endText();
}

/** Keeps the latest texts, about so many tokens: half of what is allowed, so that this is rare. */
function shorten(known: Remembered, tokens: number): void {
  let first = known.texts.length - 1;
  let kept = known.texts[first]!.length;
  while (first > 0 && kept + known.texts[first - 1]!.length <= tokens)
    kept += known.texts[--first]!.length;
  known.texts = known.texts.slice(first);
  known.index = new TokenIndex();
  for (const text of known.texts) append(known.index, text);
}
