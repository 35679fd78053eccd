/**
 * @file Lifetimes: tidy, keep, dispose, finalizers, and counters that are exact.
 */
import { describe, expect, it } from "vitest";
import {
  dispose,
  empty,
  Generator,
  keep,
  memory,
  ones,
  type Tensor,
  type TensorTree,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { native } from "../../src/torch/native.ts";
import { collectGarbage, collectUntil } from "./support/garbage.ts";
import { expectTensor } from "./support/values.ts";

/** Runs a body and insists that exactly so many tensors and bytes came to stay. */
function expectGrowth<Result>(tensors: number, bytes: number, body: () => Result): Result {
  const before = memory();
  const result = body();
  const after = memory();
  expect([after.tensors - before.tensors, after.bytes - before.bytes]).toEqual([tensors, bytes]);
  return result;
}

describe("tidy", () => {
  it("frees what was not returned", () => {
    expectGrowth(0, 0, () => tidy(() => void zeros([10]).add(1).mul(2)));
  });

  it("gives back what the function gives", () => {
    expect(tidy(() => 3)).toBe(3);
    expect(tidy(() => undefined)).toBeUndefined();
    const result = expectGrowth(1, 8, () => tidy(() => zeros([2]).add(1)));
    expectTensor(result, [1, 1]);
    result.dispose();
  });

  it("looks through arrays, maps and plain objects at any depth", () => {
    const trees: (() => TensorTree)[] = [
      () => [zeros([1]), [zeros([1])]],
      () => ({ a: zeros([1]), b: { c: zeros([1]), d: 3, e: null } }),
      () =>
        new Map([
          ["a", zeros([1])],
          ["b", zeros([1])],
        ]),
      () => [{ list: [zeros([1])] }, new Map([[1, { deep: zeros([1]) }]])],
      () => Object.assign(Object.create(null), { a: zeros([1]), b: zeros([1]) }),
    ];
    for (const tree of trees) {
      const result = expectGrowth(2, 8, () =>
        tidy(() => {
          zeros([100]);
          return tree();
        }),
      );
      expectGrowth(-2, -8, () => dispose(result));
    }
  });

  it("does not run the getters of what is returned", () => {
    const kept = tidy(() => ({
      own: ones([2]),
      get output(): never {
        throw new Error("this one has no output");
      },
    }));
    expect(kept.own.toArray()).toEqual([1, 1]);
    kept.own.dispose();
  });

  it("does not look into other objects: what only they hold is freed", () => {
    class Holder {
      readonly held = zeros([1]);
    }
    const holder = expectGrowth(0, 0, () => tidy(() => new Holder()));
    expect(holder.held.isDisposed).toBe(true);
  });

  it("nests: what an inner one returns, the outer one frees", () => {
    expectGrowth(0, 0, () =>
      tidy(() => {
        const inner = tidy(() => {
          const dropped = zeros([5]);
          return [dropped.add(1), zeros([2])];
        });
        expect(inner.map((each) => each.isDisposed)).toEqual([false, false]);
        expectTensor(inner[0]!, [1, 1, 1, 1, 1]);
      }),
    );
  });

  it("leaves alone what was made outside, also when returned", () => {
    const outside = zeros([2]);
    expect(expectGrowth(0, 0, () => tidy(() => outside))).toBe(outside);
    tidy(() => tidy(() => outside));
    expectTensor(outside, [0, 0]);
    outside.dispose();
  });

  it("returned through every level, a tensor lives", () => {
    const result = expectGrowth(1, 4, () => tidy(() => tidy(() => tidy(() => zeros([1]).add(5)))));
    expect(result.item()).toBe(5);
    result.dispose();
  });

  it("an exception frees, and comes through", () => {
    expectGrowth(0, 0, () => {
      expect(() =>
        tidy(() => {
          zeros([10]);
          tidy(() => {
            zeros([10]);
            throw new RangeError("mine");
          });
        }),
      ).toThrow(new RangeError("mine"));
    });
    expectGrowth(0, 0, () =>
      expect(() => tidy(() => zeros([2]).mm(zeros([2])))).toThrow("aten::mm"),
    );
  });

  it("a promise is an error, and frees", () => {
    expectGrowth(0, 0, () => {
      expect(() => tidy(async () => zeros([10]))).toThrow(/tidy: the function returned a promise/);
    });
  });

  it("a tensor that was disposed inside may be dropped", () => {
    expectGrowth(0, 0, () =>
      tidy(() => {
        const early = zeros([3]);
        early.dispose();
        zeros([3]);
      }),
    );
  });

  it("views keep their memory, not their handle", () => {
    const part = expectGrowth(1, 400, () => tidy(() => zeros([100]).narrow(0, 10, 2)));
    expectGrowth(-1, -400, () => part.dispose());
  });

  it("a handle is not taken over by the next tensor", () => {
    const stale = tidy(() => {
      const first = zeros([1]);
      const handle = first;
      return { hidden: () => handle };
    }).hidden();
    const next = ones([1]);
    expect(stale.isDisposed).toBe(true);
    expect(() => stale.item()).toThrow("disposed Tensor");
    expect(next.item()).toBe(1);
    next.dispose();
  });
});

describe("keep", () => {
  it("outlives every tidy around it", () => {
    const kept: Tensor[] = [];
    expectGrowth(1, 4, () =>
      tidy(() => {
        tidy(() => void kept.push(keep(zeros([1]).add(7))));
        expect(kept[0]!.isDisposed).toBe(false);
      }),
    );
    expect(kept[0]!.item()).toBe(7);
    expectGrowth(-1, -4, () => kept[0]!.dispose());
  });

  it("takes trees, and what is also returned", () => {
    const result = expectGrowth(2, 8, () =>
      tidy(() => tidy(() => keep({ a: zeros([1]), list: [zeros([1])] }))),
    );
    expectGrowth(-2, -8, () => dispose(result));
  });

  it("twice is as once, and outside tidy as nothing", () => {
    const one = zeros([1]);
    expectGrowth(0, 0, () => keep(keep(one)));
    tidy(() => keep(one));
    expectGrowth(-1, -4, () => one.dispose());
  });

  it("of a disposed tensor is an error", () => {
    const gone = zeros([1]);
    gone.dispose();
    expect(() => keep(gone)).toThrow("keep: the tensor was disposed already");
  });
});

describe("dispose", () => {
  it("frees at once; twice is as once", () => {
    const one = expectGrowth(1, 4000, () => zeros([1000]));
    expectGrowth(-1, -4000, () => one.dispose());
    expect(one.isDisposed).toBe(true);
    expectGrowth(0, 0, () => one.dispose());
    expectGrowth(0, 0, () => dispose([one, { one }]));
  });

  it("by `using`, at the end of the block", () => {
    expectGrowth(0, 0, () => {
      const one = zeros([1]);
      one[Symbol.dispose]();
      expect(one.isDisposed).toBe(true);
    });
  });

  it("using a tensor afterwards is an error that says so, whatever is done with it", () => {
    const gone = zeros([2]);
    gone.dispose();
    const other = zeros([2]);
    const uses: (() => unknown)[] = [
      () => gone.add(1),
      () => other.add(gone),
      () => gone.add_(1),
      () => gone.shape,
      () => gone.dtype,
      () => gone.device,
      () => gone.numel,
      () => gone.strides,
      () => gone.isContiguous,
      () => gone.toNumbers(),
      () => gone.toTypedArray(),
      () => gone.shareTypedArray(),
      () => gone.item(),
      () => gone.toArray(),
      () => gone.requiresGrad,
      () => gone.requiresGrad_(),
      () => gone.grad,
      () => {
        other.grad = gone;
      },
      () => gone.backward(),
      () => gone.sharesStorageWith(other),
      () => gone.split(1),
      () => tidy(() => gone),
    ];
    for (const use of uses) expect(use).toThrow(/disposed/);
    other.dispose();
  });

  it("a disposed generator is an error too", () => {
    const generator = new Generator(1);
    generator.dispose();
    generator.dispose();
    expect(() => zeros([1]).normal_(generator)).toThrow("a disposed Generator");
    expect(() => generator.save()).toThrow("a disposed Generator");
  });

  it("memory that a view or a graph still uses stays", () => {
    const base = ones([4]);
    const view = base.view([2, 2]);
    expectGrowth(-1, 0, () => base.dispose());
    expectTensor(view, [
      [1, 1],
      [1, 1],
    ]);
    expectGrowth(-1, -16, () => view.dispose());

    tidy(() => {
      const x = tensor([3], { requiresGrad: true });
      const y = x.exp();
      const z = y.mul(2);
      y.dispose();
      z.backward();
      expectTensor(x.grad!, [2 * Math.exp(3)], { tolerance: 1e-6 });
    });
  });
});

describe("memory", () => {
  it("counts tensors, and bytes of each storage once", () => {
    tidy(() => {
      const a = expectGrowth(1, 24, () => zeros([3], { dtype: "float64" }));
      expectGrowth(1, 0, () => a.view([3, 1]));
      expectGrowth(1, 0, () => a.detach());
      expectGrowth(1, 3, () => zeros([3], { dtype: "bool" }));
      expectGrowth(3, 0, () => a.split(1));
      expectGrowth(0, 0, () => a.add_(1));
      expectGrowth(0, 0, () => void a.toNumbers());
      expectGrowth(0, 0, () => void String(a));
    });
  });

  it("a gradient counts when it has a handle", () => {
    tidy(() => {
      const x = zeros([2], { requiresGrad: true });
      expectGrowth(0, 0, () => tidy(() => x.sum().backward()));
      expectGrowth(1, 8, () => x.grad);
    });
  });

  it("a generator is no tensor, and its state leaves none", () => {
    expectGrowth(0, 0, () => {
      const generator = new Generator(1);
      generator.restore(generator.save());
      generator.dispose();
    });
  });
});

describe("finalizers", () => {
  it("free forgotten tensors", async () => {
    await collectGarbage();
    const before = memory();
    (() => {
      for (let i = 0; i < 100; i++) zeros([1000]);
      tidy(() => [zeros([1000]), zeros([1000])]);
      tidy(() => void keep(zeros([1000])));
    })();
    expect(memory().tensors).toBeGreaterThan(before.tensors);
    expect(await collectUntil(() => memory().tensors <= before.tensors)).toBe(true);
    expect(memory()).toEqual(before);
  });

  it("do not free what is still reachable, nor what took its place", async () => {
    const held = ones([3]);
    (() => {
      const dropped = zeros([3]);
      dropped.dispose();
    })();
    // Takes the slot that `dropped` had.
    const next = ones([3]);
    await collectGarbage();
    expectTensor(held, [1, 1, 1]);
    expectTensor(next, [1, 1, 1]);
    dispose([held, next]);
  });

  it("V8 knows of the memory, and collects in time", async () => {
    await collectGarbage();
    const before = native.adjustExternalMemory(0);
    const big = zeros([1_000_000]);
    expect(native.adjustExternalMemory(0) - before).toBeGreaterThanOrEqual(4_000_000);
    big.dispose();
    expect(native.adjustExternalMemory(0) - before).toBeLessThan(1_000_000);
    // 8 GB if nothing were freed on the way.
    for (let i = 0; i < 2000; i++) {
      empty([1_000_000]);
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(memory().bytes).toBeLessThan(2e9);
    await collectGarbage();
  });
});
