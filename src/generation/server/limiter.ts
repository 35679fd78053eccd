/**
 * @file At most so many at once; the others wait in order of arrival.
 */

export interface Limiter {
  /** Waits for a place; the returned function gives it back. Rejects when the signal aborts. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function createLimiter(limit: number): Limiter {
  let inside = 0;
  const waiting: (() => void)[] = [];
  const leave = () => {
    const next = waiting.shift();
    if (next) next();
    else inside--;
  };
  const place = () => {
    let given = true;
    return () => {
      if (given) leave();
      given = false;
    };
  };
  return {
    async enter(signal) {
      signal.throwIfAborted();
      if (inside < limit) {
        inside++;
        return place();
      }
      return new Promise((resolve, reject) => {
        const turn = () => {
          signal.removeEventListener("abort", giveUp);
          resolve(place());
        };
        const giveUp = () => {
          waiting.splice(waiting.indexOf(turn), 1);
          reject(signal.reason);
        };
        waiting.push(turn);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
  };
}
