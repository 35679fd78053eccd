/**
 * @file So many at once; the others wait in the order in which they came.
 */

export type Limiter = <Value>(signal: AbortSignal, run: () => Promise<Value>) => Promise<Value>;

export function limiter(most: number): Limiter {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (signal, run) => {
    while (running >= most) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      if (signal.aborted) throw signal.reason;
    }
    running++;
    try {
      return await run();
    } finally {
      running--;
      waiting.shift()?.();
    }
  };
}
