/**
 * @file Random streams: seeds, saved states, and streams derived by name and index.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  derivedGenerator,
  deriveSeed,
  Generator,
  memory,
  multinomial,
  rand,
  randint,
  randn,
  randperm,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { MersenneTwister } from "./support/mersenne.ts";
import { bytesOf } from "./support/values.ts";

const fact = (name: string, body: () => void) => it(name, () => tidy(body));
const draw = (generator: Generator, count = 8) => bytesOf(randn([count], generator));

/** Every way to draw, each of which moves the stream differently. */
const DRAWS: [string, (generator: Generator) => Tensor][] = [
  ["randn", (g) => randn([7], g)],
  ["randn, long (another code path)", (g) => randn([100], g)],
  ["rand", (g) => rand([7], g)],
  ["rand float64", (g) => rand([7], g, { dtype: "float64" })],
  ["randint", (g) => randint(0, 1000, [7], g)],
  ["randperm", (g) => randperm(20, g)],
  ["multinomial", (g) => multinomial(tensor([1, 2, 3, 4]), 20, g, true)],
  ["normal_", (g) => zeros([3]).normal_(g, 1, 2)],
  ["uniform_", (g) => zeros([3]).uniform_(g, -1, 1)],
  ["bernoulli_", (g) => zeros([64]).bernoulli_(g, 0.5)],
];

describe("a seed", () => {
  it.each(DRAWS)("gives the same stream: %s", (_name, from) => {
    tidy(() => {
      expect(bytesOf(from(new Generator(42)))).toBe(bytesOf(from(new Generator(42))));
      expect(bytesOf(from(new Generator(42)))).not.toBe(bytesOf(from(new Generator(43))));
      const generator = new Generator(42);
      expect(bytesOf(from(generator))).not.toBe(bytesOf(from(generator)));
    });
  });

  fact("of 32 bits gives the stream that PyTorch gives", () => {
    for (const seed of [0, 1, 42, 2 ** 32 - 1]) {
      const twister = new MersenneTwister(seed);
      const want = Array.from({ length: 1000 }, () => twister.next() % 1000);
      expect([...randint(0, 1000, [1000], new Generator(seed)).toNumbers()]).toEqual(want);
    }
  });

  fact("of 64 bits counts whole", () => {
    const seed = 0x123456789abcdef0n;
    const twister = MersenneTwister.byKeys([0x9abcdef0, 0x12345678]);
    const want = Array.from({ length: 1000 }, () => twister.next() % 1000);
    expect([...randint(0, 1000, [1000], new Generator(seed)).toNumbers()]).toEqual(want);
    expect([...randint(0, 1000, [1000], new Generator(7).seed(seed)).toNumbers()]).toEqual(want);
  });

  fact("may have 64 bits", () => {
    const large = 2n ** 64n - 1n;
    expect(draw(new Generator(large))).toBe(draw(new Generator(large)));
    expect(draw(new Generator(5n))).toBe(draw(new Generator(5)));
    expect(draw(new Generator(2n ** 63n))).not.toBe(draw(new Generator(0)));
  });

  fact("can be given anew", () => {
    const generator = new Generator(1);
    draw(generator);
    expect(generator.seed(7)).toBe(generator);
    expect(draw(generator)).toBe(draw(new Generator(7)));
  });

  fact("of the wrong kind is an error", () => {
    for (const seed of [-1, 1.5, Number.NaN, 2 ** 60])
      expect(() => new Generator(seed)).toThrow(/seed: expected an integer/);
    for (const seed of [-1n, 2n ** 64n])
      expect(() => new Generator(seed)).toThrow("seed: expected an integer from 0 to 2^64 - 1");
    expect(() => new Generator("1" as never)).toThrow("seed: expected an integer");
    expect(() => new Generator(1, "abacus")).toThrow(/abacus/);
  });
});

describe("the state", () => {
  it.each(DRAWS)("saved in mid-stream goes on bit for bit: %s", (_name, from) => {
    tidy(() => {
      const generator = new Generator(3);
      from(generator);
      // An odd number of normals leaves half a pair waiting inside the generator.
      randn([1], generator);
      const saved = generator.save();
      const want = [from(generator), randn([1], generator), from(generator)].map(bytesOf);
      const other = new Generator(99);
      draw(other);
      expect(other.restore(saved)).toBe(other);
      expect([from(other), randn([1], other), from(other)].map(bytesOf)).toEqual(want);
    });
  });

  fact("is a copy, as bytes and as a tensor", () => {
    const generator = new Generator(3);
    const saved = generator.save();
    const state = generator.state;
    expect(state.dtype).toBe("uint8");
    const want = draw(generator);
    generator.restore(saved);
    expect(draw(generator)).toBe(want);
    generator.state = state;
    expect(draw(generator)).toBe(want);
    const part = Buffer.concat([Buffer.from([1, 2, 3]), saved]).subarray(3);
    expect(draw(generator.restore(part))).toBe(want);
  });

  it("that is none is an error", () => {
    const generator = new Generator(1);
    expect(() => generator.restore(Uint8Array.of(1, 2, 3))).toThrow();
    expect(() => generator.restore(new Uint8Array(0))).toThrow();
    expect(() => {
      generator.state = zeros([5]);
    }).toThrow();
    tidy(() => expect(draw(generator)).toBe(draw(new Generator(1))));
  });

  it("leaves no tensors behind, also when it is refused", () => {
    const generator = new Generator(1);
    const before = memory();
    generator.restore(generator.save());
    expect(() => generator.restore(Uint8Array.of(1))).toThrow();
    expect(memory()).toEqual(before);
  });
});

/** deriveSeed(42, "rollout", 3), computed with Python's hashlib. */
const WANTED = 304274039765308565n;

describe("derived streams", () => {
  /** The same by another road: the first eight bytes of the hash as a little-endian number. */
  function expected(text: string): bigint {
    const hex = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return BigInt(`0x${hex.match(/../g)!.reverse().join("")}`) % 2n ** 63n;
  }

  it("are stable for ever", () => {
    const text = '["number:42","string:rollout","number:3"]';
    expect(deriveSeed(42, "rollout", 3)).toBe(expected(text));
    expect(deriveSeed(42, "rollout", 3)).toBe(WANTED);
  });

  it("differ by seed, name and index", () => {
    const seeds = new Set<bigint>();
    for (const seed of [0, 1, 2n ** 63n])
      for (const name of ["", "rollout", "dropout", "1"])
        for (const index of [0, 1, 2, 10]) seeds.add(deriveSeed(seed, name, index));
    expect(seeds.size).toBe(3 * 4 * 4);
    // The parts do not run into each other.
    expect(deriveSeed(1, "2", 3)).not.toBe(deriveSeed(12, "", 3));
    expect(deriveSeed(1, "a", 11)).not.toBe(deriveSeed(1, "a1", 1));
  });

  fact("draw what their seed draws, and nothing like each other", () => {
    expect(draw(derivedGenerator(42, "rollout", 3))).toBe(draw(new Generator(WANTED)));
    const streams = Array.from({ length: 20 }, (_, i) =>
      rand([1000], derivedGenerator(1, "env", i), { dtype: "float64" }).toNumbers(),
    );
    const correlations = streams.slice(1).map((stream, i) => {
      let sum = 0;
      for (let k = 0; k < 1000; k++) sum += (stream[k]! - 0.5) * (streams[i]![k]! - 0.5) * 12;
      return sum / 1000;
    });
    // Four standard deviations of the correlation of 1000 independent pairs.
    for (const correlation of correlations)
      expect(Math.abs(correlation)).toBeLessThan(4 / Math.sqrt(1000));
  });
});
