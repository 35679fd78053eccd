/**
 * @file Walks through checkpointed segments: several of them, `grad`, and those that cannot be made.
 */
import { describe, expect, it } from "vitest";
import { backward, checkpoint, grad, type Tensor, tensor, tidy } from "../../src/torch/index.ts";
import {
  checkpointed,
  expectNoTensorsLeft,
  layer,
  leaves,
  plainly,
  type Run,
} from "./support/segments.ts";
import { bytesOf } from "./support/values.ts";

expectNoTensorsLeft();

describe("several walks", () => {
  it("retainGraph: a second backward adds the same again", () => {
    tidy(() => {
      const [x, a, b] = leaves(3);
      const loss = checkpoint(layer(b!), [checkpoint(layer(a!), [x!])]).sum();
      loss.backward({ retainGraph: true });
      const once = [x, a, b].map((leaf) => leaf!.grad!.mul(2));
      loss.backward();
      for (const [i, leaf] of [x, a, b].entries())
        expect(bytesOf(leaf!.grad!)).toBe(bytesOf(once[i]!));
    });
  });

  it("without it, a second backward is an error and not half a gradient", () => {
    tidy(() => {
      const [x, w] = leaves(2);
      const loss = checkpoint(layer(w!), [x!]).sum();
      loss.backward();
      expect(() => loss.backward()).toThrow(
        /a second time through a checkpointed segment; say retainGraph/,
      );
      expect(() => grad(loss, [w!])).toThrow(/second time/);
    });
  });

  it("two losses, each with its segments, in either order", () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ])
      tidy(() => {
        const [x, a, b] = leaves(3);
        const losses = [
          checkpoint(layer(a!), [x!]).sum(),
          checkpoint(layer(b!), [x!]).square().sum(),
        ];
        for (const i of order) losses[i]!.backward();
        const got = [x, a, b].map((leaf) => leaf!.grad!.toNumbers());
        const [x2, a2, b2] = leaves(3);
        const plain = [layer(a2!)(x2!).sum(), layer(b2!)(x2!).square().sum()];
        for (const i of order) plain[i]!.backward();
        expect(got).toEqual([x2, a2, b2].map((leaf) => leaf!.grad!.toNumbers()));
      });
  });

  it("a segment that gets no gradient stays out of it, and can get one later", () => {
    tidy(() => {
      const [x, a, b] = leaves(3);
      const used = checkpoint(layer(a!), [x!]);
      const other = checkpoint(layer(b!), [x!]);
      used.sum().backward();
      expect(b!.grad).toBeNull();
      other.sum().backward();
      expect(b!.grad).not.toBeNull();
    });
  });

  it("several outputs with gradients given", () => {
    const run = (way: Run) =>
      tidy(() => {
        const [x, w] = leaves(2);
        const h = way(layer(w!), [x!]);
        const other = x!.mul(2);
        backward([h, other], { gradients: [other.detach(), other.detach()] });
        return [bytesOf(x!.grad!), bytesOf(w!.grad!)];
      });
    expect(run(checkpointed)).toEqual(run(plainly));
  });
});

describe("grad", () => {
  const ways: [string, (run: Run, all: Tensor[]) => [Tensor, Tensor[]]][] = [
    [
      "inputs and parameters",
      (run, [x, a, b]) => [run(layer(b!), [run(layer(a!), [x!])]).sum(), [x!, a!, b!]],
    ],
    [
      "residual",
      (run, [x, a, b]) => {
        const h = x!.mul(2);
        return [
          h
            .add(run(layer(a!), [h]))
            .mm(b!)
            .sum(),
          [x!, a!, h],
        ];
      },
    ],
    [
      "the output of a segment",
      (run, [x, a, b]) => {
        const h = run(layer(a!), [x!]);
        return [run(layer(b!), [h]).mul(h).sum(), [h, a!]];
      },
    ],
    ["the same input twice", (run, [x, a]) => [run(layer(a!), [x!]).sum(), [x!, x!]]],
    [
      "segments inside segments",
      (run, [x, a, b]) => [
        run((p) => run(layer(b!), [run(layer(a!), [p!])]).add(p!), [x!]).sum(),
        [x!, a!, b!],
      ],
    ],
    [
      "a computed tensor that the function closes over",
      (run, [x, a]) => {
        const computed = a!.exp();
        const first = run((p) => p!.mm(computed).tanh(), [x!]);
        return [run((p) => p!.mm(computed).tanh(), [first]).sum(), [x!, a!, computed]];
      },
    ],
    [
      "an earlier segment's output that a later one closes over",
      (run, [x, a, b]) => {
        const first = run(layer(a!), [x!]);
        return [run((p) => p!.mm(first).tanh(), [b!]).sum(), [x!, a!, b!]];
      },
    ],
  ];

  it.each(ways)("of %s", (_name, build) => {
    const bits = (run: Run) =>
      tidy(() => {
        const all = leaves(3);
        const [loss, inputs] = build(run, all);
        const found = grad(loss, inputs);
        expect(all.map((leaf) => leaf.grad)).toEqual([null, null, null]);
        return found.map((each) => each.toNumbers());
      });
    const want = bits(plainly);
    for (const [i, got] of bits(checkpointed).entries())
      for (const [j, value] of got.entries()) expect(value).toBeCloseTo(want[i]![j]!, 5);
  });

  it("unused inputs are an error, or null", () => {
    tidy(() => {
      const [x, a, b] = leaves(3);
      const loss = () => checkpoint(layer(a!), [x!]).sum();
      expect(() => grad(loss(), [x!, b!])).toThrow("input 1 is not used by the outputs");
      const [got, none] = grad(loss(), [x!, b!], { allowUnused: true });
      expect(got).not.toBeNull();
      expect(none).toBeNull();
    });
  });

  it("leaves other losses' segments alone", () => {
    tidy(() => {
      const [x, a, b] = leaves(3);
      const other = checkpoint(layer(b!), [x!]).sum();
      grad(checkpoint(layer(a!), [x!]).sum(), [a!]);
      other.backward();
      expect(b!.grad).not.toBeNull();
    });
  });

  it("can be taken twice with retainGraph; second derivatives are refused", () => {
    tidy(() => {
      const [x, a] = leaves(2);
      const loss = checkpoint(layer(a!), [x!]).sum();
      const [first] = grad(loss, [a!], { retainGraph: true });
      const [second] = grad(loss, [a!], { retainGraph: true });
      expect(bytesOf(first!)).toBe(bytesOf(second!));
      expect(() => grad(loss, [a!], { createGraph: true })).toThrow(/second derivatives/);
    });
  });
});

describe("what cannot be computed again is an error", () => {
  it("an input changed in place after the segment", () => {
    tidy(() => {
      const [x, w] = leaves(2);
      const input = x!.mul(2);
      const loss = checkpoint(layer(w!), [input]).sum();
      input.add_(1);
      expect(() => loss.backward()).toThrow(
        /input 0 of a checkpointed segment, float32\[4,4\], was changed in place/,
      );
    });
  });

  it("an input changed in place by the segment itself", () => {
    tidy(() => {
      const [x] = leaves(1);
      const loss = checkpoint((p) => p!.mul_(2), [x!.mul(1)]).sum();
      expect(() => loss.backward()).toThrow(/changed in place/);
    });
  });

  it("an exception of the function comes through, forward and backward, and leaves all as it was", () => {
    tidy(() => {
      const [x, w] = leaves(2);
      expect(() => checkpoint(() => x!.mm(tensor([1])), [x!])).toThrow("aten::mm");
      let runs = 0;
      const loss = checkpoint(
        (p) => {
          if (++runs === 2) throw new Error("mine");
          return layer(w!)(p!);
        },
        [x!],
      ).sum();
      expect(() => loss.backward()).toThrow("mine");
      // The third run succeeds, and the failed walk left no gradient behind to be counted twice.
      loss.backward();
      const got = bytesOf(w!.grad!);
      w!.grad = null;
      x!.mm(w!).tanh().sum().backward();
      expect(bytesOf(w!.grad!)).toBe(got);
    });
  });
});
