/**
 * @file Checkpointed segments give the gradients that the same computation gives without them.
 */
import { afterEach, describe, expect, it } from "vitest";
import {
  autocast,
  backward,
  checkpoint,
  dispose,
  dropout,
  Generator,
  grad,
  memory,
  noGrad,
  randn,
  type Tensor,
  tensor,
  tidy,
} from "../../src/torch/index.ts";
import { native } from "../../src/torch/native.ts";
import { collectUntil } from "./support/garbage.ts";
import { bytesOf, expectNumbers, expectTensor } from "./support/values.ts";

/** Runs a segment: as it is, or checkpointed. */
type Run = <Outputs extends Tensor | Tensor[]>(
  segment: (...inputs: Tensor[]) => Outputs,
  inputs: readonly Tensor[],
  generators?: readonly Generator[],
) => Outputs;

const plainly: Run = (segment, inputs) => segment(...inputs);
const checkpointed: Run = (segment, inputs, generators = []) =>
  checkpoint(segment, inputs, { generators });

/** Leaves from a seed: [4, 4] matrices, the same for both ways. */
function leaves(count: number): Tensor[] {
  const generator = new Generator(11);
  return Array.from({ length: count }, () => randn([4, 4], generator).mul(0.7).requiresGrad_());
}

type LossOf = (run: Run, leaves: Tensor[]) => Tensor;

/** The loss and every leaf's gradient. */
function results(run: Run, count: number, lossOf: LossOf): Float64Array[] {
  return tidy(() => {
    const all = leaves(count);
    const loss = lossOf(run, all);
    loss.backward();
    return [loss, ...all.map((leaf) => leaf.grad!)].map((each) => each.toNumbers());
  });
}

function expectSame(count: number, lossOf: LossOf): void {
  expectClose(count, 0, lossOf);
}

function expectClose(count: number, tolerance: number, lossOf: LossOf): void {
  const want = results(plainly, count, lossOf);
  const got = results(checkpointed, count, lossOf);
  for (const [i, values] of want.entries()) {
    expect(values.some((value) => value !== 0)).toBe(true);
    expectNumbers(got[i]!, values, tolerance);
  }
}

const layer = (weight: Tensor) => (x: Tensor) => x.mm(weight).tanh();

// Every test leaves as many tensors as it found.
const before = memory();
afterEach(() => expect(memory()).toEqual(before));

describe("gradients are bit for bit those without checkpoints", () => {
  it("one segment", () => {
    expectSame(2, (run, [x, w]) => run(layer(w!), [x!]).sum());
  });

  it("several segments in a row, with work between and after", () => {
    expectSame(4, (run, [x, a, b, c]) => {
      const first = run(layer(a!), [x!.mul(2)]);
      const second = run(layer(b!), [first.add(1)]);
      return run(layer(c!), [second]).square().mean();
    });
  });

  it("a parameter in several segments and outside", () => {
    expectSame(2, (run, [x, w]) => {
      const first = run(layer(w!), [x!]);
      return run(layer(w!), [first]).mm(w!).sum();
    });
  });

  it("a stack of residual blocks", () => {
    expectSame(7, (run, [x, ...weights]) => {
      let h = x!;
      for (const weight of weights) h = h.add(run(layer(weight), [h]));
      return h.square().mean();
    });
  });

  it("several inputs and outputs", () => {
    expectSame(3, (run, [x, y, w]) => {
      const [a, b] = run((p, q) => [p!.mm(w!), q!.mul(p!)], [x!, y!]) as [Tensor, Tensor];
      return a.mul(b).sum();
    });
  });

  it("an output that nobody uses", () => {
    expectSame(2, (run, [x, w]) => run((p) => [p!.mm(w!), p!.exp()], [x!])[0]!.sum());
  });

  it("an output used twice, also by a later segment", () => {
    expectSame(2, (run, [x, w]) => {
      const h = run(layer(w!), [x!]);
      return run(layer(w!), [h]).mul(h).sum();
    });
  });

  it("an integer output beside a float one", () => {
    expectSame(1, (run, [x]) => {
      const [values, indices] = run((p) => [p!.square(), p!.argmax(1)], [x!]) as [Tensor, Tensor];
      return values.gather(1, indices.unsqueeze(1)).sum();
    });
  });

  it("an input that needs no gradient", () => {
    expectSame(1, (run, [w]) => run((p) => p!.mm(w!).tanh(), [tensor([[1, 2, 3, 4]])]).sum());
  });

  it("a segment without inputs", () => {
    expectSame(1, (run, [w]) => run(() => w!.exp(), []).sum());
  });

  it("the same input twice", () => {
    expectSame(1, (run, [x]) => run((p, q) => p!.mul(q!), [x!, x!]).sum());
  });

  it("a segment that returns its input, or a view of it", () => {
    expectSame(2, (run, [x, w]) =>
      run((p) => p!, [x!.mm(w!)])
        .square()
        .sum(),
    );
    expectSame(2, (run, [x, w]) =>
      run((p) => [p!, p!.t()], [x!.mm(w!)])[1]!
        .square()
        .sum(),
    );
    expectSame(1, (run, [x]) =>
      run((p) => p!, [x!])
        .square()
        .sum(),
    );
  });

  it("a segment that returns a parameter", () => {
    expectSame(2, (run, [x, w]) => {
      const [h, same] = run((p) => [p!.mm(w!), w!], [x!]) as [Tensor, Tensor];
      return h.mul(same).sum();
    });
  });

  it("a segment that returns one tensor twice", () => {
    expectSame(2, (run, [x, w]) => {
      const [a, b] = run(
        (p) => {
          const h = p!.mm(w!);
          return [h, h];
        },
        [x!],
      ) as [Tensor, Tensor];
      return a.mul(2).add(b.square()).sum();
    });
  });

  it("segments inside segments", () => {
    expectSame(3, (run, [x, a, b]) =>
      run(
        (p) => {
          const inner = run((q) => run(layer(a!), [q!.mul(2)]), [p!]);
          return run(layer(b!), [inner]).add(p!);
        },
        [x!],
      ).sum(),
    );
  });

  it("outputs freed by a tidy before backward", () => {
    expectSame(3, (run, [x, a, b]) => {
      const h = tidy(() => run(layer(a!), [x!]).mul(2));
      return tidy(() => run(layer(b!), [h]).mul(2)).sum();
    });
  });

  it("outputs disposed by hand before backward", () => {
    expectSame(2, (run, [x, w]) => {
      const h = run(layer(w!), [x!]);
      const loss = h.square().sum();
      h.dispose();
      return loss;
    });
  });

  it("inputs disposed before backward", () => {
    expectSame(2, (run, [x, w]) => {
      const input = x!.mul(2);
      const h = run(layer(w!), [input]);
      input.dispose();
      return h.sum();
    });
  });

  it("dropout drawn from a generator", () => {
    expectSame(3, (run, [x, a, b]) => {
      const generator = new Generator(4);
      const drop = (w: Tensor) => (p: Tensor) => dropout(p.mm(w), 0.5, generator);
      const first = run(drop(a!), [x!], [generator]);
      const second = run(drop(b!), [first], [generator]);
      return dropout(second, 0.5, generator).sum();
    });
  });

  it("autocast around or inside", () => {
    expectSame(2, (run, [x, w]) => autocast({}, () => run(layer(w!), [x!]).to("float32").sum()));
    expectSame(2, (run, [x, w]) =>
      run((p) => autocast({}, () => p!.mm(w!)).to("float32"), [x!])
        .square()
        .sum(),
    );
  });
});

// Sums of the same terms in another order.
describe("gradients are those without checkpoints, up to rounding", () => {
  it("an input used inside and outside the segment", () => {
    expectClose(2, 1e-6, (run, [x, w]) => {
      const h = x!.mul(3);
      return h
        .add(run(layer(w!), [h]))
        .square()
        .sum();
    });
  });

  it("a computed tensor that the function closes over, in several segments", () => {
    expectClose(2, 1e-6, (run, [x, w]) => {
      const computed = w!.exp();
      const first = run((p) => p!.mm(computed).tanh(), [x!]);
      return run((p) => p!.mm(computed).tanh(), [first]).sum();
    });
  });

  it("autocast, with the weight used outside the segment as well", () => {
    expectClose(2, 0.02, (run, [x, w]) =>
      autocast({}, () => run(layer(w!), [x!]).mm(w!).to("float32").sum()),
    );
  });
});

describe("after a segment", () => {
  it("generators go on as if it had been computed once", () => {
    tidy(() => {
      const draw = (run: Run) => {
        const generator = new Generator(9);
        const [x] = leaves(1);
        run((p) => dropout(p!, 0.5, generator), [x!], [generator])
          .sum()
          .backward();
        return bytesOf(randn([4], generator));
      };
      expect(draw(checkpointed)).toBe(draw(plainly));
    });
  });

  it("a weight that changes after backward is cast anew under autocast", () => {
    tidy(() => {
      const weight = tensor(
        [
          [1, 2],
          [3, 4],
        ],
        { requiresGrad: true },
      );
      const x = tensor([[1, 1]]);
      const forward = () => autocast({}, () => checkpoint((p) => p!.mm(weight), [x]));
      const h = forward();
      h.to("float32").sum().backward();
      weight.detach().mul_(2);
      expectTensor(forward(), [[8, 12]]);
    });
  });

  it("without recording it is just the function", () => {
    tidy(() => {
      const [x, w] = leaves(2);
      const h = noGrad(() => checkpoint(layer(w!), [x!]));
      expect(h.requiresGrad).toBe(false);
      expect(bytesOf(h)).toBe(bytesOf(x!.mm(w!).tanh()));
    });
  });
});

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

describe("lifetimes", () => {
  it("forward without backward leaves nothing after tidy", () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = native.liveTensors();
    tidy(() => void checkpoint(layer(w), [checkpoint(layer(w), [x])]).sum());
    expect(native.liveTensors()).toBe(start);
    dispose([x, w]);
  });

  it("nor after dispose", () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = native.liveTensors();
    const h = checkpoint(layer(w), [x]);
    const loss = h.sum();
    dispose([h, loss]);
    expect(native.liveTensors()).toBe(start);
    dispose([x, w]);
  });

  it("nor when everything is forgotten", async () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = memory();
    (() => checkpoint(layer(w), [checkpoint(layer(w), [x])]).sum())();
    expect(await collectUntil(() => memory().tensors === start.tensors)).toBe(true);
    dispose([x, w]);
  });

  it("backward outside any tidy leaves nothing but gradients", () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = memory();
    const h = checkpoint(layer(w), [x]);
    const loss = h.sum();
    loss.backward();
    dispose([h, loss]);
    expect(memory()).toEqual(start);
    dispose([x, w]);
  });

  it("a hundred training steps leave nothing", () => {
    const [x, a, b] = tidy(() => leaves(3)) as [Tensor, Tensor, Tensor];
    const step = () =>
      tidy(() => {
        checkpoint(layer(b), [tidy(() => checkpoint(layer(a), [x]).mul(2))])
          .sum()
          .backward();
        for (const leaf of [x, a, b]) leaf.grad = null;
      });
    step();
    const start = memory();
    for (let i = 0; i < 100; i++) step();
    expect(memory()).toEqual(start);
    dispose([x, a, b]);
  });
});
