/**
 * @file Named parameters: names, counts, gradient norms and clipping.
 */
import { afterEach, describe, expect, it } from "vitest";
import {
  asParameters,
  clearGradients,
  clipFactor,
  clipGradients,
  dispose,
  gradientNorm,
  memory,
  namedParameters,
  parameterCount,
  type Tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { parameterOf, setGradient } from "./support/optimizers.ts";
import { expectNumbers, expectTensor } from "./support/values.ts";

const before = memory();
afterEach(() => expect(memory()).toEqual(before));

describe("names", () => {
  it("are the paths of a tree", () => {
    const [a, b, c] = [zeros([1]), zeros([2]), zeros([3, 4])] as const;
    const named = namedParameters({ embed: a, layers: [{ w: b }, { w: c }], size: 3, none: null });
    expect([...named.keys()]).toEqual(["embed", "layers.0.w", "layers.1.w"]);
    expect(named.get("layers.1.w")).toBe(c);
    expect([...namedParameters({ a }, "model").keys()]).toEqual(["model.a"]);
    expect(parameterCount(named)).toBe(1 + 2 + 12);
    dispose(named);
  });

  it("parameters outlive tidy and record gradients", () => {
    const parameters = tidy(
      () => asParameters(new Map([["w", zeros([2]).add(1)]])) as Map<string, Tensor>,
    );
    expect(parameters.get("w")!.requiresGrad).toBe(true);
    expectTensor(parameters.get("w")!, [1, 1]);
    dispose(parameters);
  });
});

describe("clipping", () => {
  function withGradients(
    dtype: "float32" | "float64" | "bfloat16" = "float64",
  ): Map<string, Tensor> {
    const parameters = new Map([
      ["a", parameterOf([0, 0], dtype)],
      ["b", parameterOf([0], dtype)],
      ["without", parameterOf([0], dtype)],
    ]);
    setGradient(parameters.get("a")!, [3, -4]);
    setGradient(parameters.get("b")!, [12]);
    return parameters;
  }
  const gradients = (parameters: Map<string, Tensor>) =>
    tidy(() => ["a", "b"].flatMap((name) => [...parameters.get(name)!.grad!.toNumbers()]));

  it("the norm is that of all gradients as one vector", () => {
    const parameters = withGradients();
    expectNumbers([gradientNorm(parameters)], [13], 1e-15);
    clearGradients(parameters);
    expect(gradientNorm(parameters)).toBe(0);
    expect(parameters.get("a")!.grad).toBeNull();
    dispose(parameters);
  });

  it("float64 gradients have a float64 norm", () => {
    const parameters = new Map([["a", parameterOf([0, 0], "float64")]]);
    setGradient(parameters.get("a")!, [1 / 3, 1e-9]);
    expectNumbers([gradientNorm(parameters)], [Math.hypot(1 / 3, 1e-9)], 1e-15);
    dispose(parameters);
  });

  it("a norm above the limit is brought to it; the norm before is returned", () => {
    const parameters = withGradients();
    expect(clipGradients(parameters, 1.3)).toBeCloseTo(13, 12);
    expectNumbers(gradients(parameters), [0.3, -0.4, 1.2], 1e-6);
    expect(gradientNorm(parameters)).toBeLessThanOrEqual(1.3);
    dispose(parameters);
  });

  it("one below it stays as it is", () => {
    const parameters = withGradients();
    clipGradients(parameters, 13.1);
    expect(gradients(parameters)).toEqual([3, -4, 12]);
    dispose(parameters);
  });

  it("in bfloat16 too", () => {
    const parameters = withGradients("bfloat16");
    expect(clipGradients(parameters, 6.5)).toBeCloseTo(13, 5);
    expectNumbers(gradients(parameters), [1.5, -2, 6], 1e-2);
    dispose(parameters);
  });

  it("a norm that is not finite is returned and nothing is scaled", () => {
    const parameters = withGradients();
    setGradient(parameters.get("b")!, [Number.NaN]);
    expect(clipGradients(parameters, 1)).toBeNaN();
    expect(gradients(parameters)).toEqual([3, -4, Number.NaN]);
    setGradient(parameters.get("b")!, [Infinity]);
    expect(clipGradients(parameters, 1)).toBe(Infinity);
    expect(gradients(parameters)).toEqual([3, -4, Infinity]);
    dispose(parameters);
  });

  it("a limit must be above 0", () => {
    const parameters = withGradients();
    for (const limit of [0, -1, Number.NaN])
      expect(() => clipGradients(parameters, limit)).toThrow(/expected a limit above 0/);
    dispose(parameters);
  });

  it("the factor alone", () => {
    expect(clipFactor(0.5, 1)).toBe(1);
    expect(clipFactor(0, 1)).toBe(1);
    expectNumbers([clipFactor(4, 1)], [0.25], 1e-6);
  });
});
