/**
 * @file What may come next in one request: as it came before, in the request's own tokens or in earlier
 * answers; or the only thing that may.
 */
import type { ChoiceCursor } from "../choices.ts";
import { type Cell, type Chances, cellOf, FORCED, Luck, type Source } from "./chances.ts";
import type { AnswerHistory } from "./history.ts";
import { LONGEST_MATCH, type Matches, TokenIndex } from "./token-index.ts";

/** Tokens that are guessed at once, at most: with the one that is known, two of the widest vectors. */
export const LONGEST_GUESS = 15;

/** What a guess must know of a request. */
export interface Guessable {
  /** Its prompt, and its answer so far. */
  readonly ids: readonly number[];
  readonly task: string | undefined;
  readonly stopTokens: readonly number[];
  /** Where its answer is among its choices; a guess walks on with it. Null: it has none. */
  readonly cursor: ChoiceCursor | null;
  /** Tokens that may be guessed: the last one of an answer need not be computed. */
  readonly room: number;
}

export interface Guess {
  readonly ids: number[];
  /** Of each token: what its chance is learnt by. */
  readonly cells: Cell[];
}

interface Next {
  id: number;
  cell: Cell;
}

/** Places that went on as the guess does so far. */
class Trail {
  readonly #source: Source;
  readonly #index: TokenIndex;
  #length: number;
  #places: readonly number[];

  constructor(source: Source, index: TokenIndex, { length, places }: Matches) {
    this.#source = source;
    this.#index = index;
    this.#length = length;
    this.#places = places;
  }

  /** What most of them went on with; of equally many, the latest. */
  next(allowed: readonly number[] | null): Next | null {
    const ids: number[] = [];
    for (const place of this.#places) {
      const id = this.#index.at(place);
      if (id !== undefined && (!allowed || allowed.includes(id))) ids.push(id);
    }
    if (ids.length === 0) return null;
    let best = ids[0]!;
    let most = 0;
    // They are few, and most agree: that is faster than a table.
    for (let i = 0; i < ids.length && most < ids.length - i; i++) {
      let count = 0;
      for (let k = i; k < ids.length; k++) if (ids[k] === ids[i]) count++;
      if (count > most) {
        most = count;
        best = ids[i]!;
      }
    }
    return { id: best, cell: cellOf(this.#source, this.#length, most, this.#places.length) };
  }

  follow(id: number): void {
    const further: number[] = [];
    for (const place of this.#places) if (this.#index.at(place) === id) further.push(place + 1);
    this.#places = further;
    this.#length++;
  }
}

/** Guesses for one request, as long as it runs. */
export class Guesser {
  readonly luck = new Luck();
  readonly #own = new TokenIndex();
  readonly #history: AnswerHistory;
  readonly #chances: Chances;

  constructor(history: AnswerHistory, chances: Chances) {
    this.#history = history;
    this.#chances = chances;
  }

  chanceOf(cell: Cell): number {
    return cell === FORCED ? 1 : Math.min(0.99, this.#chances.of(cell) * this.luck.factor);
  }

  /** `least`: a token is not guessed if the chance that it and all before it are right is lower. */
  guess({ ids, task, stopTokens, cursor, room }: Guessable, least = 0): Guess {
    const guess: Guess = { ids: [], cells: [] };
    const limit = Math.min(room, LONGEST_GUESS);
    const context = ids.slice(-LONGEST_MATCH);
    let trail: Trail | null = null;
    let chance = 1;
    while (guess.ids.length < limit) {
      const allowed = cursor ? cursor.allowed() : null;
      let next: Next | null;
      if (allowed?.length === 1) {
        next = { id: allowed[0]!, cell: FORCED };
      } else {
        next = trail?.next(allowed) ?? null;
        if (!next) {
          trail = this.#trailFrom(ids, context, task, allowed);
          next = trail?.next(allowed) ?? null;
        }
      }
      if (!next || stopTokens.includes(next.id)) break;
      chance *= this.chanceOf(next.cell);
      // One that is not worth its time is still learnt from, if it is the first.
      if (chance < least && guess.ids.length > 0) break;
      cursor?.advance(next.id);
      if (cursor && cursor.finished() !== null) break;
      guess.ids.push(next.id);
      guess.cells.push(next.cell);
      context.push(next.id);
      trail?.follow(next.id);
    }
    return guess;
  }

  /** Of all sources, the one whose next token is likeliest right. */
  #trailFrom(
    ids: readonly number[],
    context: readonly number[],
    task: string | undefined,
    allowed: readonly number[] | null,
  ): Trail | null {
    for (let at = this.#own.length; at < ids.length; at++) this.#own.push(ids[at]!);
    const sources: [Source, TokenIndex | undefined][] = [
      ["task", this.#history.ofTask(task)],
      ["own", this.#own],
      ["any", this.#history.ofAny()],
    ];
    let [best, highest]: [Trail | null, number] = [null, 0];
    for (const [source, index] of sources) {
      const matches = index?.find(context, allowed);
      if (!index || !matches) continue;
      const trail = new Trail(source, index, matches);
      const next = trail.next(allowed);
      const chance = next ? this.chanceOf(next.cell) : 0;
      if (chance > highest) [best, highest] = [trail, chance];
    }
    return best;
  }
}
