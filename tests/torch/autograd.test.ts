/**
 * @file Gradients against the chain rule by hand, central differences, and each other.
 */
import { afterEach, describe, expect, it } from "vitest";
import {
  backward,
  enableGrad,
  grad,
  isGradEnabled,
  memory,
  noGrad,
  type Tensor,
  tensor,
  tidy,
} from "../../src/torch/index.ts";
import { gradients, loss, numericalGradients, randomNetwork, SIZES } from "./support/network.ts";
import { expectNumbers, expectTensor, type Plain } from "./support/values.ts";

afterEach(() => expect(isGradEnabled()).toBe(true));

const { rows, inputs, hidden, outputs } = SIZES;
const leaf = (values: Plain): Tensor =>
  tensor(values as number[], { dtype: "float64", requiresGrad: true });
const fact = (name: string, body: () => void) => it(name, () => tidy(body));

function build(seed: number) {
  const { network, x, y } = randomNetwork(seed);
  const shaped = (values: number[], shape: number[]) =>
    tensor(values, { dtype: "float64" }).view(shape);
  const parameters = {
    first: shaped(network.first, [hidden, inputs]).requiresGrad_(),
    bias: shaped(network.bias, [hidden]).requiresGrad_(),
    second: shaped(network.second, [outputs, hidden]).requiresGrad_(),
  };
  const input = shaped(x, [rows, inputs]).requiresGrad_();
  const value = input
    .linear(parameters.first, parameters.bias)
    .tanh()
    .linear(parameters.second)
    .meanSquaredError(shaped(y, [rows, outputs]));
  return { network, x, y, parameters, input, value };
}

describe("a two-layer network", () => {
  fact("backward agrees with the chain rule and with central differences", () => {
    const { network, x, y, parameters, input, value } = build(1);
    expectNumbers([value.item()], [loss(network, x, y)], 1e-13);
    value.backward();
    const exact = gradients(network, x, y);
    const numerical = numericalGradients(network, x, y);
    for (const name of ["first", "bias", "second"] as const) {
      const got = parameters[name].grad!.toNumbers();
      expectNumbers(got, exact[name], 1e-13);
      expectNumbers(got, numerical[name], 1e-8);
    }
    expectNumbers(input.grad!.toNumbers(), exact.x, 1e-13);
  });

  fact("grad gives the same and touches nobody's grad", () => {
    const { network, x, y, parameters, input, value } = build(2);
    const exact = gradients(network, x, y);
    const [first, second, ofInput] = grad(value, [parameters.first, parameters.second, input]);
    expectNumbers(first!.toNumbers(), exact.first, 1e-13);
    expectNumbers(second!.toNumbers(), exact.second, 1e-13);
    expectNumbers(ofInput!.toNumbers(), exact.x, 1e-13);
    expect([parameters.first.grad, parameters.bias.grad, input.grad]).toEqual([null, null, null]);
  });
});

describe("backward", () => {
  fact("accumulates", () => {
    const x = leaf([1, 2]);
    x.square().sum().backward();
    expectTensor(x.grad!, [2, 4]);
    x.mul(3).sum().backward();
    expectTensor(x.grad!, [5, 7]);
    x.grad = null;
    expect(x.grad).toBeNull();
    x.sum().backward();
    expectTensor(x.grad!, [1, 1]);
  });

  fact("a tensor used twice gets both gradients", () => {
    const x = leaf([3]);
    x.mul(x).add(x).sum().backward();
    expectTensor(x.grad!, [7]);
  });

  fact("of several outputs, with gradients given", () => {
    const x = leaf([1, 2]);
    const a = x.square();
    const b = x.mul(10);
    backward([a, b], {
      gradients: [tensor([1, 2], { dtype: "float64" }), tensor([1, 0], { dtype: "float64" })],
    });
    expectTensor(x.grad!, [2 * 1 * 1 + 10, 2 * 2 * 2]);
  });

  fact("of an output that is no scalar needs a gradient, of the right shape", () => {
    const x = leaf([1, 2]);
    expect(() => x.mul(2).backward()).toThrow(/scalar outputs/);
    expect(() => x.mul(2).backward({ gradients: [tensor([1], { dtype: "float64" })] })).toThrow(
      /shape/,
    );
    x.mul(2).backward({ gradients: [tensor([1, 3], { dtype: "float64" })] });
    expectTensor(x.grad!, [2, 6]);
  });

  fact("twice needs retainGraph", () => {
    const x = leaf([2]);
    const once = x.square().sum();
    once.backward();
    expect(() => once.backward()).toThrow(/second time/);
    x.grad = null;
    const twice = x.square().sum();
    twice.backward({ retainGraph: true });
    twice.backward();
    expectTensor(x.grad!, [8]);
  });

  fact("without anything recorded is an error", () => {
    expect(() => tensor([1]).sum().backward()).toThrow(/does not require grad/);
  });

  fact("values changed in place after they were saved are an error", () => {
    const x = leaf([1]);
    const y = x.exp();
    const z = y.square();
    y.add_(1);
    expect(() => z.backward()).toThrow(/modified by an inplace operation/);
  });

  fact("through views, slices and in-place writes", () => {
    const x = leaf([1, 2, 3]);
    const y = x.mul(2);
    y.narrow(0, 1, 1).mul_(10);
    y.sum().backward();
    expectTensor(x.grad!, [2, 20, 2]);
  });

  it("leaves no tensors behind", () => {
    const x = tensor([1, 2], { requiresGrad: true });
    tidy(() => x.square().sum().backward());
    const before = memory();
    for (let i = 0; i < 10; i++) tidy(() => x.square().sum().backward());
    expect(memory()).toEqual(before);
    x.dispose();
  });
});

describe("grad", () => {
  fact("of what is not used is an error, or null where allowed", () => {
    const x = leaf([1]);
    const unused = leaf([1]);
    expect(() => grad(x.square().sum(), [x, unused])).toThrow(/not have been used|not used/);
    const [got, none] = grad(x.square().sum(), [x, unused], { allowUnused: true });
    expectTensor(got!, [2]);
    expect(none).toBeNull();
  });

  fact("of intermediate values", () => {
    const x = leaf([3]);
    const y = x.square();
    const [ofY] = grad(y.mul(5).sum(), [y]);
    expectTensor(ofY!, [5]);
  });

  fact("with gradients given, and retained", () => {
    const x = leaf([1, 2]);
    const y = x.square();
    const given = tensor([1, 10], { dtype: "float64" });
    expectTensor(grad(y, [x], { gradients: [given], retainGraph: true })[0]!, [2, 40]);
    expectTensor(grad(y, [x], { gradients: [given] })[0]!, [2, 40]);
    expect(() => grad(y, [x], { gradients: [given] })).toThrow(/second time/);
  });

  fact("of gradients: second derivatives", () => {
    const x = leaf([2]);
    const [first] = grad(x.pow(3).sum(), [x], { createGraph: true });
    expectTensor(first!, [12]);
    const [second] = grad(first!.sum(), [x]);
    expectTensor(second!, [12]);
  });
});

describe("recording", () => {
  fact("noGrad and enableGrad nest, and give back what the function gives", () => {
    const x = leaf([1]);
    expect(x.mul(2).requiresGrad).toBe(true);
    noGrad(() => {
      expect(isGradEnabled()).toBe(false);
      expect(x.mul(2).requiresGrad).toBe(false);
      enableGrad(() => {
        expect(x.mul(2).requiresGrad).toBe(true);
        noGrad(() => expect(isGradEnabled()).toBe(false));
        expect(isGradEnabled()).toBe(true);
      });
      expect(isGradEnabled()).toBe(false);
    });
    expect(noGrad(() => 5)).toBe(5);
  });

  it("is as before after exceptions", () => {
    expect(() =>
      noGrad(() =>
        enableGrad(() =>
          noGrad(() => {
            throw new Error("mine");
          }),
        ),
      ),
    ).toThrow("mine");
    expect(isGradEnabled()).toBe(true);
  });

  fact("leaves and the rest", () => {
    const x = leaf([1]);
    const y = x.mul(2);
    expect([x.isLeaf, y.isLeaf, y.detach().isLeaf]).toEqual([true, false, true]);
    expect(y.detach().requiresGrad).toBe(false);
    expect(y.alias().requiresGrad).toBe(true);
  });

  fact("requiresGrad_ is for leaves of floats", () => {
    const x = tensor([1]);
    expect(x.requiresGrad_()).toBe(x);
    expect(x.requiresGrad).toBe(true);
    expect(x.requiresGrad_(false).requiresGrad).toBe(false);
    expect(() => tensor([1n]).requiresGrad_()).toThrow(/floating point/);
    expect(() => tensor([true]).requiresGrad_()).toThrow(/floating point/);
    const y = x.requiresGrad_().mul(2);
    expect(() => y.requiresGrad_(false)).toThrow(/leaf/);
    expect(y.requiresGrad_(true).requiresGrad).toBe(true);
  });

  fact("detach stops gradients and shares memory", () => {
    const x = leaf([2]);
    x.mul(x.detach()).sum().backward();
    expectTensor(x.grad!, [2]);
    expect(x.detach().sharesStorageWith(x)).toBe(true);
  });
});

describe("grad of a leaf", () => {
  fact("can be set, and must fit", () => {
    const x = leaf([1, 2]);
    x.grad = tensor([5, 6], { dtype: "float64" });
    expectTensor(x.grad!, [5, 6]);
    x.sum().backward();
    expectTensor(x.grad!, [6, 7]);
    expect(() => {
      x.grad = tensor([1], { dtype: "float64" });
    }).toThrow("expected float64[2], got float64[1]");
    expect(() => {
      x.grad = tensor([1, 2]);
    }).toThrow("expected float64[2], got float32[2]");
    expectTensor(x.grad!, [6, 7]);
  });

  fact("is the gradient itself: writing to it changes it", () => {
    const x = leaf([1]);
    x.sum().backward();
    x.grad!.mul_(4);
    expectTensor(x.grad!, [4]);
  });
});
