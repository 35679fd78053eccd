/**
 * @file Keeps what was asked for last.
 */

/** `make`, whose last `size` results are kept by key; `drop` is told of those that are not kept any longer. */
export function keepingRecent<Input, Result>(
  keyOf: (input: Input) => string,
  size: number,
  make: (input: Input) => Result,
  drop?: (result: Result) => void,
): (input: Input) => Result {
  // A Map remembers the order in which keys were set: the first is the longest unused.
  const kept = new Map<string, Result>();
  return (input) => {
    const key = keyOf(input);
    const known = kept.get(key);
    if (known !== undefined) {
      kept.delete(key);
      kept.set(key, known);
      return known;
    }
    const result = make(input);
    kept.set(key, result);
    if (kept.size > size) {
      const [oldest, dropped] = kept.entries().next().value!;
      kept.delete(oldest);
      drop?.(dropped);
    }
    return result;
  };
}
