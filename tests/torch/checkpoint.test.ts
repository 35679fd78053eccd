/**
 * @file Checkpointed segments give the gradients that the same computation gives without them.
 */
import { describe, expect, it } from "vitest";
import {
  autocast,
  checkpoint,
  dropout,
  Generator,
  noGrad,
  randn,
  type Tensor,
  tensor,
  tidy,
} from "../../src/torch/index.ts";
import {
  checkpointed,
  expectClose,
  expectNoTensorsLeft,
  expectSame,
  layer,
  leaves,
  plainly,
  type Run,
} from "./support/segments.ts";
import { bytesOf, expectTensor } from "./support/values.ts";

expectNoTensorsLeft();

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
