/**
 * @file Loss scaling for float16, whose small gradients would vanish: the loss is multiplied by a scale,
 * the gradients divided by it. The scale falls when a gradient overflows and rises after a long while
 * without.
 */

const START = 2 ** 16;
const GROWTH_AFTER = 2000;

export interface LossScale {
  readonly value: number;
  succeeded(): void;
  failed(): void;
  state(): { value: number; since: number };
  load(state: { value: number; since: number }): void;
}

/** Without scaling the value is always 1. */
export function createLossScale(enabled: boolean): LossScale {
  let value = enabled ? START : 1;
  let since = 0;
  return {
    get value() {
      return value;
    },
    succeeded() {
      if (!enabled || ++since < GROWTH_AFTER) return;
      value *= 2;
      since = 0;
    },
    failed() {
      if (!enabled) return;
      value = Math.max(1, value / 2);
      since = 0;
    },
    state: () => ({ value, since }),
    load(state) {
      ({ value, since } = state);
    },
  };
}
