/**
 * @file How fast this machine is: the rate of a matrix product and the cost of one small operator.
 *
 * Machines are noisy: each figure is the best of several rounds, which is what the machine can do.
 */
import { noGrad } from "./autograd.ts";
import { rand } from "./creation.ts";
import { Generator } from "./generator.ts";
import { tidy } from "./lifetime.ts";

/** Billions of floating-point operations per second of an n × n × n float32 matrix product. */
export function measureGemm(size = 1024, rounds = 5): number {
  return noGrad(() =>
    tidy(() => {
      const generator = new Generator(1);
      const a = rand([size, size], generator);
      const b = rand([size, size], generator);
      const repeats = Math.max(1, Math.round(1e9 / (2 * size ** 3)));
      const seconds = best(rounds, () => {
        for (let i = 0; i < repeats; i++) a.mm(b).dispose();
      });
      return (repeats * 2 * size ** 3) / seconds / 1e9;
    }),
  );
}

/** Microseconds of one small addition through the typed API, results freed by tidy. */
export function measureOperator(rounds = 15): number {
  const inner = 1000;
  return noGrad(() =>
    tidy(() => {
      const generator = new Generator(1);
      const a = rand([2, 3], generator);
      const b = rand([2, 3], generator);
      const batch = () =>
        tidy(() => {
          for (let i = 0; i < inner; i++) a.add(b);
        });
      for (let i = 0; i < 20; i++) batch();
      const seconds = best(rounds, () => {
        for (let i = 0; i < 10; i++) batch();
      });
      return (seconds / (10 * inner)) * 1e6;
    }),
  );
}

/** The shortest of several runs, in seconds. */
export function best(rounds: number, body: () => void): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    body();
    shortest = Math.min(shortest, (performance.now() - start) / 1000);
  }
  return shortest;
}
