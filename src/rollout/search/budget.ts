/**
 * @file What a search may cost, counted the same way for every strategy: tokens that the policy drew, steps of the
 * world, seconds.
 */

export interface BudgetOptions {
  /** Drawn tokens, of replies and of judgements. */
  readonly tokens?: number | undefined;
  /** Turns that were played: states of the world that were reached. */
  readonly states?: number | undefined;
  /** With it a search depends on the machine, and is not the same twice. */
  readonly seconds?: number | undefined;
}

export interface Budget {
  readonly tokens: number;
  readonly states: number;
  readonly seconds: number;
  /** Whether there is a limit at all. */
  readonly isLimited: boolean;
  /** Whether anything more may be begun. What has begun is finished. */
  readonly isLeft: boolean;
  /** So many states at most may be begun now. */
  readonly statesLeft: number;
  spend(cost: { readonly tokens?: number; readonly states?: number }): void;
}

export function createBudget(options: BudgetOptions, now = () => performance.now()): Budget {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !(value > 0))
      throw new RangeError(
        `search: a budget of ${value} ${name}, expected a number above 0, or none`,
      );
  const begun = now();
  const spent = { tokens: 0, states: 0 };
  const seconds = () => (now() - begun) / 1000;
  return {
    isLimited: Object.values(options).some((limit) => limit !== undefined),
    get tokens() {
      return spent.tokens;
    },
    get states() {
      return spent.states;
    },
    get seconds() {
      return seconds();
    },
    get isLeft() {
      return (
        spent.tokens < (options.tokens ?? Infinity) &&
        spent.states < (options.states ?? Infinity) &&
        (options.seconds === undefined || seconds() < options.seconds)
      );
    },
    get statesLeft() {
      return this.isLeft ? (options.states ?? Infinity) - spent.states : 0;
    },
    spend({ tokens = 0, states = 0 }) {
      spent.tokens += tokens;
      spent.states += states;
    },
  };
}
