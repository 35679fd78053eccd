/**
 * @file Keeps what was asked for last.
 */

/** `make`, whose last `size` results are kept by key. */
export function keepingRecent<Input, Result>(
  keyOf: (input: Input) => string,
  size: number,
  make: (input: Input) => Result,
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
    if (kept.size > size) kept.delete(kept.keys().next().value!);
    return result;
  };
}
