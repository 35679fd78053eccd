/**
 * @file Which guesses a step checks: those that make its tokens cheaper, by what steps have cost and by
 * how often such guesses were right. They change when an answer comes, never what it is.
 */
import { Chances } from "./chances.ts";
import { StepCosts } from "./costs.ts";
import { type Guess, type Guessable, Guesser } from "./guess.ts";
import { AnswerHistory, type HistoryLimits } from "./history.ts";

/** A step takes guesses only if they make a token so much cheaper: estimates are not exact. */
const WORTHWHILE = 1.1;
/** Beside prompts it is this share of the step that they must gain. */
const WORTHWHILE_SHARE = 0.03;
/** When guesses did not pay for so many steps, they are looked for only now and then. */
const LULL = 16;
const NOW_AND_THEN = 8;
/** So often a step goes without guesses, to know what that costs now. */
const PLAIN_EVERY = 64;

/** A step before guesses are added. */
export interface PlannedStep {
  /** Tokens that it computes. */
  readonly tokens: number;
  /** Whether all of them are next tokens of those that draw. */
  readonly onlyDrawing: boolean;
  /** Requests that run, whether they draw in this step or not. */
  readonly running: number;
  /** Whether some of them wait, for pages mostly: nothing is guessed then, as pages are what is short. */
  readonly waiting: boolean;
  /** Guesses that still fit. */
  readonly most: number;
}

export interface Drawer {
  readonly guesser: Guesser;
  readonly guessable: () => Guessable;
}

/** Something to check in a step. */
export interface Checked {
  readonly guess: Guess;
  /** So many of its tokens are computed. */
  readonly count: number;
}

interface Row {
  drawer: number;
  /** That this token and all before it are right. */
  chance: number;
}

export class Speculation {
  readonly history: AnswerHistory;
  readonly costs = new StepCosts();
  readonly #chances = new Chances();
  readonly #always: boolean;
  #steps = 0;
  #unpaid = 0;

  /** `always`: whatever it costs, for tests. */
  constructor(always = false, limits?: HistoryLimits) {
    this.#always = always;
    this.history = new AnswerHistory(limits);
  }

  guesser(): Guesser {
    return new Guesser(this.history, this.#chances);
  }

  /** For each of those that draw, what to check; null: nothing was even looked for. */
  choose(step: PlannedStep, drawers: readonly Drawer[]): Checked[] | null {
    this.#steps++;
    const resting = this.#unpaid >= LULL && this.#steps % NOW_AND_THEN !== 0;
    const skipped = step.waiting || resting || this.#steps % PLAIN_EVERY === 0;
    if (skipped && !this.#always) return null;
    // Half of what can be worth it: the costs may change while something is still learnt.
    const least = this.#always ? 0 : this.costs.leastChance(drawers.length) / 2;
    const begun = performance.now();
    const guesses = drawers.map(({ guesser, guessable }) => guesser.guess(guessable(), least));
    const searching = (performance.now() - begun) / 1000;
    const rows: Row[] = [];
    for (const [drawer, { cells }] of guesses.entries()) {
      let chance = 1;
      for (const cell of cells) {
        chance *= drawers[drawer]!.guesser.chanceOf(cell);
        rows.push({ drawer, chance });
      }
    }
    // Chances only fall within a guess, and equal ones keep their order: a beginning of each is taken.
    rows.sort((a, b) => b.chance - a.chance);
    const taken = this.#count(step, rows, drawers.length, searching);
    this.#unpaid = taken > 0 ? 0 : this.#unpaid + 1;
    const counts = drawers.map(() => 0);
    for (const { drawer } of rows.slice(0, taken)) counts[drawer]!++;
    return guesses.map((guess, i) => ({ guess, count: counts[i]! }));
  }

  /** Learns from what was drawn in the places of a guess, and in the one behind it. */
  learn(guesser: Guesser, guess: Guess, drawn: readonly number[]): void {
    for (const [i, id] of drawn.entries()) {
      const cell = guess.cells[i];
      if (cell === undefined) return;
      const right = guess.ids[i] === id;
      guesser.luck.learn(guesser.chanceOf(cell), right);
      this.#chances.learn(cell, right);
      if (!right) return;
    }
  }

  #count(step: PlannedStep, rows: readonly Row[], drawing: number, searching: number): number {
    const possible = rows.slice(0, Math.max(0, step.most));
    if (this.#always) return possible.length;
    return step.onlyDrawing
      ? this.#bestCount(step.tokens, possible, drawing, searching)
      : this.#countBesidePrompts(step, possible, searching);
  }

  /** So many of the rows that tokens, those that are expected, come fastest. */
  #bestCount(tokens: number, rows: readonly Row[], drawing: number, searching: number): number {
    const plain = this.costs.secondsOf(tokens);
    if (plain === undefined) return 0;
    let fastest = (WORTHWHILE * drawing) / plain;
    let best = 0;
    let expected = drawing;
    for (const [i, { chance }] of rows.entries()) {
      expected += chance;
      const speed = expected / (this.costs.secondsOf(tokens + i + 1)! + searching);
      if (speed > fastest) [fastest, best] = [speed, i + 1];
    }
    return best;
  }

  /** Beside a prompt every token costs the same; one that is drawn later costs its share of a step. */
  #countBesidePrompts(step: PlannedStep, rows: readonly Row[], searching: number): number {
    const costs = this.costs.besidePrompts(step.running);
    if (!costs) return 0;
    const least = (WORTHWHILE * costs.now) / costs.later;
    let gained = -searching - WORTHWHILE_SHARE * step.tokens * costs.now;
    let count = 0;
    for (; count < rows.length && rows[count]!.chance >= least; count++)
      gained += rows[count]!.chance * costs.later - costs.now;
    return gained > 0 ? count : 0;
  }
}
