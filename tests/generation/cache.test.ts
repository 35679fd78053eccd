/**
 * @file The accounting of pages under random use: no page is lost or used twice, and what a sequence
 * finds in its pages is what was computed for its tokens.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PagePool } from "../../src/generation/cache/pages.ts";
import { CachedSequence } from "../../src/generation/cache/sequence.ts";

const SIZE = 4;

type Command =
  | { kind: "become"; who: number; ids: number[] }
  | { kind: "compute"; who: number; tokens: number }
  | { kind: "append"; who: number; id: number }
  | { kind: "adopt"; who: number }
  | { kind: "evict"; who: number }
  | { kind: "invalidate" };

const who = fc.nat({ max: 4 });
/** Few different tokens: beginnings are often shared. */
const token = fc.nat({ max: 1 });
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant("become" as const),
    who,
    ids: fc.array(token, { minLength: 1, maxLength: 24 }),
  }),
  fc.record({ kind: fc.constant("compute" as const), who, tokens: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ kind: fc.constant("append" as const), who, id: token }),
  fc.record({ kind: fc.constant("adopt" as const), who }),
  fc.record({ kind: fc.constant("evict" as const), who }),
  fc.record({ kind: fc.constant("invalidate" as const) }),
);

/** The pool with a memory that holds, for each token, all tokens up to it and the weights' version. */
class Simulation {
  readonly pool: PagePool;
  readonly sequences: CachedSequence[];
  readonly memory: (string | undefined)[];
  version = 0;

  constructor(pages: number) {
    this.pool = new PagePool(pages, SIZE);
    this.memory = new Array<string | undefined>(pages * SIZE);
    this.sequences = Array.from({ length: 5 }, () => new CachedSequence(this.pool));
  }

  run(command: Command): void {
    if (command.kind === "invalidate") {
      this.version++;
      this.pool.invalidate();
      for (const sequence of this.sequences) sequence.evict();
      return;
    }
    const sequence = this.sequences[command.who]!;
    if (command.kind === "become") {
      sequence.setTokens(command.ids);
      // The last token's output is always needed.
      expect(sequence.computed).toBeLessThan(command.ids.length);
      expect(sequence.ids).toEqual(command.ids);
    } else if (command.kind === "append") sequence.ids.push(command.id);
    else if (command.kind === "adopt") sequence.adoptShared();
    else if (command.kind === "evict") sequence.evict();
    else this.#compute(sequence, command.tokens);
  }

  #compute(sequence: CachedSequence, tokens: number): void {
    const end = Math.min(sequence.ids.length, sequence.computed + tokens);
    const [pages, available] = [[...sequence.pages], this.pool.available];
    if (!sequence.reserve(end)) {
      expect(sequence.pages).toEqual(pages);
      expect(this.pool.available).toBe(available);
      return;
    }
    for (let i = sequence.computed; i < end; i++) {
      const page = sequence.pages[Math.floor(i / SIZE)]!;
      expect(this.pool.isPrivate(page)).toBe(true);
      this.memory[page * SIZE + (i % SIZE)] = this.#content(sequence, i);
    }
    sequence.markComputed(end);
  }

  #content(sequence: CachedSequence, i: number): string {
    return `${this.version}:${sequence.ids.slice(0, i + 1)}`;
  }

  check(): void {
    const users = new Map<number, number>();
    for (const sequence of this.sequences) {
      expect(new Set(sequence.pages).size).toBe(sequence.pages.length);
      expect(sequence.pages.length * SIZE).toBeGreaterThanOrEqual(sequence.computed);
      for (const page of sequence.pages) users.set(page, (users.get(page) ?? 0) + 1);
      for (let i = 0; i < sequence.computed; i++) {
        const page = sequence.pages[Math.floor(i / SIZE)]!;
        expect(this.memory[page * SIZE + (i % SIZE)]).toBe(this.#content(sequence, i));
      }
    }
    expect(this.pool.available).toBe(this.pool.pages - users.size);
  }
}

describe("pages", () => {
  it("are never lost, never used twice, and hold what they should", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 14 }),
        fc.array(command, { maxLength: 60 }),
        (pages, commands) => {
          const simulation = new Simulation(pages);
          for (const each of commands) {
            simulation.run(each);
            simulation.check();
          }
          for (const sequence of simulation.sequences) sequence.evict();
          expect(simulation.pool.available).toBe(pages);
          // Every page can be had, once.
          const all = Array.from({ length: pages }, () => simulation.pool.allocate());
          expect(new Set(all).size).toBe(pages);
          expect(all).not.toContain(null);
          expect(simulation.pool.allocate()).toBeNull();
        },
      ),
      { seed: 20_240_601, numRuns: 400 },
    );
  });

  it("that nobody uses are found until their room is needed, oldest first", () => {
    const pool = new PagePool(2, SIZE);
    const [a, b] = [pool.allocate()!, pool.allocate()!];
    pool.publish(a, "a");
    pool.publish(b, "b");
    pool.release(a);
    pool.release(b);
    expect(pool.find("a")).toBe(a);
    pool.release(a);
    // b is unused for longest now.
    expect(pool.allocate()).toBe(b);
    expect(pool.find("b")).toBeNull();
    expect(pool.find("a")).toBe(a);
  });

  it("cannot be released more often than used", () => {
    const pool = new PagePool(1, SIZE);
    const page = pool.allocate()!;
    pool.release(page);
    expect(() => pool.release(page)).toThrow(/released but has no user/);
  });
});
