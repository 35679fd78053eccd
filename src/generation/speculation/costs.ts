/**
 * @file How long a step takes by how many tokens it computes, measured while the engine works.
 *
 * A step's weights come from memory, and tokens go through in vectors: some more tokens often cost
 * nothing, and then a whole vector. So times are kept by eights of tokens, not fitted by a line; the line
 * is for eights that were never seen.
 */

/** Tokens of the narrowest vectors that the native pass takes. */
const WIDTH = 8;
/** Measurements before one is believed: the first may be of anything. */
const NEEDED = 3;
/** Other work on the machine only makes a step longer, so shorter times count more. */
const SHORTER = 0.4;
const LONGER = 0.1;
/** After so many steps a time is of another context, or another load: it is measured anew. */
const BELIEVED_STEPS = 2048;

interface Timed {
  seconds: number;
  measured: number;
  step: number;
}

function follow(old: number, seen: number): number {
  const bounded = Math.min(seen, 2 * old);
  return old + (bounded < old ? SHORTER : LONGER) * (bounded - old);
}

export class StepCosts {
  readonly #byEights: (Timed | undefined)[] = [];
  #steps = 0;
  #perPromptToken: number | undefined;

  /** A step in which every sequence drew. */
  addDrawing(tokens: number, seconds: number): void {
    this.#steps++;
    const at = Math.ceil(tokens / WIDTH);
    const known = this.#known(at, 1);
    this.#byEights[at] = {
      seconds: known ? follow(known.seconds, seconds) : seconds,
      measured: (known?.measured ?? 0) + 1,
      step: this.#steps,
    };
  }

  /** A step that computed prompts, too. */
  addPrompt(tokens: number, seconds: number): void {
    const each = seconds / tokens;
    this.#perPromptToken =
      this.#perPromptToken === undefined ? each : follow(this.#perPromptToken, each);
  }

  /**
   * Seconds of a token beside a prompt, and of one that is drawn in a later step of so many requests: what
   * a guess costs, and what it saves if it is right.
   */
  besidePrompts(running: number): { now: number; later: number } | undefined {
    const step = this.secondsOf(running);
    if (this.#perPromptToken === undefined || step === undefined) return undefined;
    return { now: this.#perPromptToken, later: step / running };
  }

  /**
   * The chance of being right from which one more token is worth its time, in a step in which so many draw
   * and nothing else is computed. At least a twentieth.
   */
  leastChance(drawing: number): number {
    const [plain, more] = [this.secondsOf(drawing), this.secondsOf(drawing + WIDTH)];
    if (plain === undefined || more === undefined) return 0.5;
    return Math.max(0.05, Math.min(1, (((more - plain) / WIDTH) * drawing) / plain));
  }

  /** Of a step in which every sequence draws; undefined before anything is known. */
  secondsOf(tokens: number): number | undefined {
    const at = Math.ceil(tokens / WIDTH);
    const own = this.#known(at);
    if (own) return own.seconds;
    let below = at - 1;
    while (below > 0 && !this.#known(below)) below--;
    let above = at + 1;
    while (above < this.#byEights.length && !this.#known(above)) above++;
    const [less, more] = [this.#known(below), this.#known(above)];
    if (less && more)
      return less.seconds + ((more.seconds - less.seconds) * (at - below)) / (above - below);
    if (more) return more.seconds;
    if (!less) return undefined;
    // Half of a step is the weights, and half what is done with them.
    return less.seconds * (0.5 + (0.5 * at) / below);
  }

  #known(at: number, needed = NEEDED): Timed | undefined {
    const timed = this.#byEights[at];
    if (!timed || timed.measured < needed || this.#steps - timed.step > BELIEVED_STEPS)
      return undefined;
    return timed;
  }
}
