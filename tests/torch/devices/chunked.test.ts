/**
 * @file What is computed a part at a time on devices, against the twins of plain operators: values and gradients. The
 * operators are for any device, so most is compared on the CPU; parts are many where tensors are large.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { chunkedAttention, chunkedLogprob } from "../../../src/torch/devices/chunked.ts";
import {
  type AttentionOptions,
  attention,
  Generator,
  grad,
  randn,
  stock,
  type Tensor,
  tensor,
  tidy,
  tokenLogprob,
} from "../../../src/torch/index.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin } from "../../support/standin.ts";

beforeAll(async () => {
  await loadStandin();
}, BUILD_TIMEOUT);

const generator = new Generator(5);
const integers = (values: readonly number[]) => tensor([...values], { dtype: "int64" });

function difference(a: Tensor, b: Tensor): number {
  return tidy(() => a.toDevice("cpu").sub(b.toDevice("cpu")).abs().amax().item());
}

/** Results and gradients of both, compared. */
function agree(
  inputs: readonly Tensor[],
  one: (...inputs: Tensor[]) => Tensor[],
  other: (...inputs: Tensor[]) => Tensor[],
  tolerance: number,
): void {
  const all = [one, other].map((compute) => {
    const outputs = compute(...inputs);
    const loss = outputs
      .map((output, i) =>
        output
          .mul(
            output
              .detach()
              .add(i + 1)
              .cos(),
          )
          .sum(),
      )
      .reduce((sum, part) => sum.add(part));
    return [...outputs, ...grad(loss, inputs)];
  });
  for (const [i, found] of all[0]!.entries())
    expect(difference(found, all[1]![i]!), `result ${i}`).toBeLessThan(tolerance);
}

describe.each(["cpu", DEVICE])("attention in parts, on %s", (device) => {
  const make = (shape: number[]) =>
    randn(shape, generator, { dtype: "float64" }).toDevice(device).requiresGrad_();

  it.each<[string, number[], AttentionOptions, number[]?]>([
    ["several sequences", [0, 5, 5, 12, 13], {}],
    ["a scale and a window", [0, 9, 20], { scale: 0.3, window: 4 }],
    ["runs that go on from others", [0, 6, 8, 8, 13, 14], {}, [-1, 0, 1, 1, 3]],
    ["the same with a window", [0, 6, 8, 9, 13, 14], { window: 5 }, [-1, 0, -1, 1, 0]],
    ["no tokens", [0], {}],
  ])("%s", (_, bounds, options, parents) =>
    tidy(() => {
      const tokens = bounds.at(-1)!;
      const inputs = [make([tokens, 4, 6]), make([tokens, 2, 6]), make([tokens, 2, 6])];
      const how = { ...options, ...(parents && { parents: integers(parents) }) };
      const lengths = integers(bounds);
      if (tokens === 0) {
        const [q, k, v] = inputs as [Tensor, Tensor, Tensor];
        expect(chunkedAttention(q, k, v, lengths, how).shape).toEqual([0, 4, 6]);
        return;
      }
      agree(
        inputs,
        (q, k, v) => [chunkedAttention(q!, k!, v!, lengths, how)],
        (q, k, v) => [stock.attention(q!, k!, v!, lengths, how)],
        1e-12,
      );
    }),
  );
});

it("attention takes no memory for all tokens with all tokens, and is cut rightly", () =>
  tidy(() => {
    // 4 heads · 4096² scores would be 67 million numbers; a part has 16.
    const tokens = 4096;
    const [q, k, v] = [4, 1, 1].map((heads) => randn([tokens, heads, 8], generator)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const lengths = integers([0, 7, tokens]);
    for (const options of [{}, { window: 100 }]) {
      const found = chunkedAttention(q, k, v, lengths, options);
      expect(difference(found, attention(q, k, v, lengths, options))).toBeLessThan(1e-4);
    }
  }));

describe.each(["cpu", DEVICE])("log-probabilities in parts, on %s", (device) => {
  // More words than a part has, so that sums go on from part to part.
  it.each([1, 0.7])("and entropies, temperature %d", (temperature) =>
    tidy(() => {
      const words = 8192 + 500;
      const inputs = [
        randn([6, 5], generator, { dtype: "float64" }),
        randn([words, 5], generator, { dtype: "float64" }),
      ].map((input) => input.toDevice(device).requiresGrad_());
      const targets = integers([0, 8191, 8192, words - 1, 77, 8300]).toDevice(device);
      agree(
        inputs,
        (hidden, weight) => {
          const found = chunkedLogprob(hidden!, weight!, targets, { temperature });
          return [found.logprob, found.entropy!];
        },
        (hidden, weight) => {
          const found = stock.tokenLogprob(hidden!, weight!, targets, { temperature });
          return [found.logprob, found.entropy!];
        },
        1e-10,
      );
    }),
  );

  it("short floats are summed in float32, and only what is wanted gets a gradient", () =>
    tidy(() => {
      const hidden = randn([4, 16], generator).toDevice(device, "bfloat16");
      const weight = randn([50, 16], generator).toDevice(device, "bfloat16");
      const targets = integers([1, 2, 3, 49]).toDevice(device);
      hidden.requiresGrad_();
      const found = chunkedLogprob(hidden, weight, targets, { entropy: false });
      expect(found.entropy).toBeNull();
      const wide = [hidden, weight].map((x) => x.detach().toDevice("cpu", "float32"));
      const exact = tokenLogprob(wide[0]!, wide[1]!, targets.toDevice("cpu"));
      expect(found.logprob.dtype).toBe("float32");
      expect(difference(found.logprob, exact.logprob)).toBeLessThan(1e-4);
      const [own] = grad(found.logprob.sum(), [hidden]);
      expect(own!.dtype).toBe("bfloat16");
    }));
});
