/**
 * @file AdamW and SGD against plain JavaScript, and what both must do: groups, states, refusals.
 */
import { afterEach, describe, expect, it } from "vitest";
import {
  type AdamWSettings,
  adamw,
  type Dtype,
  dispose,
  memory,
  type Optimizer,
  type OptimizerState,
  type Parameters,
  type SgdSettings,
  sgd,
  type Tensor,
  tensor,
  tidy,
} from "../../src/torch/index.ts";
import {
  PlainAdamW,
  PlainSgd,
  parameterOf,
  randomValues,
  rounded,
  setGradient,
} from "./support/optimizers.ts";
import { bytesOf, expectNumbers } from "./support/values.ts";

const STEPS = 50;
const PRECISIONS: [Dtype, number][] = [
  ["float64", 1e-12],
  ["float32", 1e-6],
];

const before = memory();
afterEach(() => expect(memory()).toEqual(before));

describe.each(PRECISIONS)("AdamW in %s", (dtype, tolerance) => {
  const SETTINGS: [string, Partial<AdamWSettings>][] = [
    ["defaults", {}],
    ["large decay", { lr: 1e-2, weightDecay: 0.5 }],
    ["no decay, other betas", { lr: 3e-3, beta1: 0.8, beta2: 0.95, epsilon: 1e-6, weightDecay: 0 }],
  ];
  const defaults = { lr: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };

  it.each(SETTINGS)(`${STEPS} steps: %s`, (_name, settings) => {
    const values = randomValues(1, 37, dtype);
    const parameter = parameterOf(values, dtype);
    const optimizer = adamw(new Map([["p", parameter]]), settings);
    const plain = new PlainAdamW(values);
    for (let step = 0; step < STEPS; step++) {
      const gradient = randomValues(100 + step, 37, dtype);
      setGradient(parameter, gradient);
      optimizer.step();
      plain.update(gradient, { ...defaults, ...settings });
      expectNumbers(parameter.toNumbers(), plain.values, tolerance);
    }
    optimizer.dispose();
    parameter.dispose();
  });

  it("tiny and huge gradients", () => {
    const values = randomValues(1, 6, dtype);
    const parameter = parameterOf(values, dtype);
    const optimizer = adamw(new Map([["p", parameter]]));
    const plain = new PlainAdamW(values);
    for (let step = 0; step < 5; step++) {
      const gradient = rounded([1e-12, -1e-12, 1e-4, 0, 1e6, -1e12], dtype);
      setGradient(parameter, gradient);
      optimizer.step();
      plain.update(gradient, defaults);
    }
    expectNumbers(parameter.toNumbers(), plain.values, tolerance);
    optimizer.dispose();
    parameter.dispose();
  });
});

describe.each(PRECISIONS)("SGD in %s", (dtype, tolerance) => {
  const SETTINGS: [string, Partial<SgdSettings>][] = [
    ["defaults", {}],
    ["momentum", { lr: 0.05, momentum: 0.9 }],
    ["momentum and decay", { lr: 0.05, momentum: 0.5, weightDecay: 0.1 }],
  ];

  it.each(SETTINGS)(`${STEPS} steps: %s`, (_name, settings) => {
    const values = randomValues(1, 37, dtype);
    const parameter = parameterOf(values, dtype);
    const optimizer = sgd(new Map([["p", parameter]]), settings);
    const plain = new PlainSgd(values);
    for (let step = 0; step < STEPS; step++) {
      const gradient = randomValues(100 + step, 37, dtype);
      setGradient(parameter, gradient);
      optimizer.step();
      plain.update(gradient, { lr: 1e-2, momentum: 0, weightDecay: 0, ...settings });
      expectNumbers(parameter.toNumbers(), plain.values, tolerance * 5);
    }
    optimizer.dispose();
    parameter.dispose();
  });
});

it("AdamW on bfloat16 keeps its moments in float32", () => {
  const parameter = parameterOf([1, -2], "bfloat16");
  const optimizer = adamw(new Map([["p", parameter]]), { lr: 0.1, weightDecay: 0 });
  setGradient(parameter, [0.5, -0.25]);
  optimizer.step();
  // The first step is lr · sign(g), rounded to bfloat16's 8 bits: 0.8984375 is next to 0.9.
  expect(parameter.toNumbers()).toEqual(Float64Array.of(0.8984375, -1.8984375));
  for (const state of optimizer.state().tensors.values()) expect(state.dtype).toBe("float32");
  optimizer.dispose();
  parameter.dispose();
});

it("AdamW on parameters of several shapes, transposed ones too", () => {
  const shapes = [[3, 5], [1], [2, 2, 2], [0], []];
  const parameters = new Map<string, Tensor>();
  const plain = new Map<string, PlainAdamW>();
  for (const [i, shape] of shapes.entries()) {
    const values = randomValues(
      i,
      shape.reduce((a, b) => a * b, 1),
      "float64",
    );
    parameters.set(`p${i}`, parameterOf(values, "float64", shape));
    plain.set(`p${i}`, new PlainAdamW(values));
  }
  const turned = randomValues(9, 15, "float64");
  parameters.set(
    "turned",
    tidy(() => parameterOf(turned, "float64", [3, 5]).detach().t()).requiresGrad_(),
  );
  plain.set(
    "turned",
    new PlainAdamW(tidy(() => parameters.get("turned")!.toNumbers() as never as number[])),
  );
  const optimizer = adamw(parameters, { lr: 0.01 });
  const settings = { lr: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };
  for (let step = 0; step < 5; step++) {
    for (const [name, parameter] of parameters) {
      const gradient = randomValues(step, parameter.numel, "float64");
      setGradient(parameter, gradient);
      plain.get(name)!.update(gradient, settings);
    }
    optimizer.step();
  }
  for (const [name, parameter] of parameters)
    expectNumbers(parameter.toNumbers(), plain.get(name)!.values, 1e-12);
  optimizer.dispose();
  dispose(parameters);
});

type AnyOptimizer = Optimizer<{ lr: number; weightDecay: number }>;
const KINDS: [string, (parameters: Parameters) => AnyOptimizer][] = [
  ["AdamW", (parameters) => adamw(parameters, { lr: 0.1 })],
  ["SGD", (parameters) => sgd(parameters, { lr: 0.1, momentum: 0.9 })],
];

function twoParameters(): Map<string, Tensor> {
  return new Map([
    ["a", parameterOf([1, 2], "float32")],
    ["b", parameterOf([3], "float32")],
  ]);
}

function copyOf(state: OptimizerState): OptimizerState {
  return {
    step: state.step,
    tensors: new Map([...state.tensors].map(([name, each]) => [name, each.clone()])),
  };
}

describe.each(KINDS)("%s", (_name, make) => {
  it("leaves parameters without a gradient as they are, and takes none at all", () => {
    const parameters = twoParameters();
    const optimizer = make(parameters);
    setGradient(parameters.get("a")!, [1, 1]);
    optimizer.step();
    expect(parameters.get("a")!.toNumbers()[0]).not.toBe(1);
    expect(parameters.get("b")!.item()).toBe(3);
    optimizer.clearGradients();
    expect(parameters.get("a")!.grad).toBeNull();
    const values = parameters.get("a")!.toNumbers();
    optimizer.step();
    expect(parameters.get("a")!.toNumbers()).toEqual(values);
    optimizer.dispose();
    dispose(parameters);
  });

  it("scales gradients on the way, without changing them", () => {
    const step = (gradient: number, gradientScale?: number) => {
      const parameter = parameterOf([1], "float32");
      const optimizer = make(new Map([["p", parameter]]));
      // Two steps, so that AdamW's moments matter.
      for (const factor of [1, -3]) {
        setGradient(parameter, [gradient * factor]);
        optimizer.step(gradientScale === undefined ? {} : { gradientScale });
        tidy(() => expect(parameter.grad!.item()).toBe(gradient * factor));
      }
      const value = parameter.item();
      optimizer.dispose();
      parameter.dispose();
      return value;
    };
    expect(step(2, 0.25)).toBe(step(0.5));
  });

  it("settings may change between steps", () => {
    const parameters = twoParameters();
    const optimizer = make(parameters);
    for (const group of optimizer.groups) group.lr = 0;
    setGradient(parameters.get("a")!, [1, 1]);
    optimizer.step();
    expect(parameters.get("a")!.toNumbers()).toEqual(Float64Array.of(1, 2));
    optimizer.dispose();
    dispose(parameters);
  });

  it("a saved state goes on bit for bit", () => {
    const values = randomValues(5, 20, "float32");
    const run = (restartAfter: number | null) => {
      let parameter = parameterOf(values, "float32");
      let optimizer = make(new Map([["p", parameter]]));
      for (let step = 0; step < 10; step++) {
        if (step === restartAfter) {
          const state = copyOf(optimizer.state());
          const now = parameterOf([...parameter.toNumbers()], "float32");
          optimizer.dispose();
          parameter.dispose();
          parameter = now;
          optimizer = make(new Map([["p", parameter]]));
          optimizer.load(state);
          dispose(state.tensors);
        }
        setGradient(parameter, randomValues(step, 20, "float32"));
        optimizer.step();
      }
      const state = optimizer.state();
      expect(state.step).toBe(10);
      const bits = [bytesOf(parameter), ...[...state.tensors.values()].map(bytesOf)];
      optimizer.dispose();
      parameter.dispose();
      return bits;
    };
    const want = run(null);
    for (const restartAfter of [1, 5, 9]) expect(run(restartAfter)).toEqual(want);
  });

  it("a state that does not fit is refused, and changes nothing", () => {
    const parameters = twoParameters();
    const optimizer = make(parameters);
    setGradient(parameters.get("a")!, [1, 1]);
    optimizer.step();
    const bits = () => [...optimizer.state().tensors.values()].map(bytesOf);
    const own = bits();
    const good = copyOf(optimizer.state());
    const some = [...good.tensors.keys()][0]!;
    const attempts: [(tensors: Map<string, Tensor>) => void, RegExp][] = [
      [(tensors) => tensors.delete(some), new RegExp(`the saved state lacks ${some}`)],
      [
        (tensors) => tensors.set("extra", good.tensors.get(some)!),
        /the saved state has extra, which is unknown/,
      ],
      [
        (tensors) => tensors.set(some, tensor([1, 2, 3])),
        new RegExp(`the saved ${some} has shape \\[3\\], expected \\[2\\]`),
      ],
    ];
    tidy(() => {
      for (const [spoil, message] of attempts) {
        const tensors = new Map(
          [...good.tensors].map(([name, each]) => [name, each.mul(2).add(1)]),
        );
        spoil(tensors);
        expect(() => optimizer.load({ step: 7, tensors })).toThrow(message);
        expect(bits()).toEqual(own);
        expect(optimizer.state().step).toBe(1);
      }
    });
    dispose(good.tensors);
    optimizer.dispose();
    dispose(parameters);
  });

  it("records nothing", () => {
    const parameter = parameterOf([1, 2], "float32");
    const optimizer = make(new Map([["p", parameter]]));
    tidy(() => parameter.square().sum().backward());
    optimizer.step();
    expect([parameter.isLeaf, parameter.requiresGrad]).toEqual([true, true]);
    for (const state of optimizer.state().tensors.values()) expect(state.requiresGrad).toBe(false);
    optimizer.dispose();
    parameter.dispose();
  });

  it("dispose frees its state, and nothing else", () => {
    const parameters = twoParameters();
    const optimizer = make(parameters);
    optimizer.dispose();
    expect(memory().tensors - before.tensors).toBe(2);
    dispose(parameters);
  });

  it("outlives a tidy that it was made in", () => {
    const parameters = twoParameters();
    const optimizer = tidy(() => ({ made: make(parameters) })).made;
    setGradient(parameters.get("a")!, [1, 1]);
    optimizer.step();
    optimizer.dispose();
    dispose(parameters);
  });
});

describe("groups", () => {
  it("have their own settings, the others the defaults", () => {
    const values = [1, -2, 3];
    const [a, b] = [parameterOf(values, "float64"), parameterOf(values, "float64")];
    const optimizer = adamw(
      [
        { parameters: new Map([["a", a]]), weightDecay: 0, lr: 0.1 },
        { parameters: new Map([["b", b]]) },
      ],
      { lr: 0.01, weightDecay: 0.3 },
    );
    const settings = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    const [plainA, plainB] = [new PlainAdamW(values), new PlainAdamW(values)];
    for (let step = 0; step < 5; step++) {
      const gradient = randomValues(step, 3, "float64");
      for (const parameter of [a, b]) setGradient(parameter, gradient);
      optimizer.step();
      plainA.update(gradient, { ...settings, lr: 0.1, weightDecay: 0 });
      plainB.update(gradient, { ...settings, lr: 0.01, weightDecay: 0.3 });
    }
    expectNumbers(a.toNumbers(), plainA.values, 1e-12);
    expectNumbers(b.toNumbers(), plainB.values, 1e-12);
    optimizer.dispose();
    dispose([a, b]);
  });

  it("SGD's too, with momentum in one of them, or switched on later", () => {
    const [a, b] = [parameterOf([1], "float64"), parameterOf([1], "float64")];
    const optimizer = sgd(
      [{ parameters: new Map([["a", a]]), momentum: 0.9 }, { parameters: new Map([["b", b]]) }],
      { lr: 0.1 },
    );
    const [plainA, plainB] = [new PlainSgd([1]), new PlainSgd([1])];
    const step = (momentumOfB: number) => {
      for (const parameter of [a, b]) setGradient(parameter, [1]);
      optimizer.step();
      plainA.update([1], { lr: 0.1, momentum: 0.9, weightDecay: 0 });
      plainB.update([1], { lr: 0.1, momentum: momentumOfB, weightDecay: 0 });
    };
    step(0);
    expect([...optimizer.state().tensors.keys()]).toEqual(["velocity.a"]);
    expectNumbers([a.item(), b.item()], [plainA.values[0]!, plainB.values[0]!], 1e-14);
    (optimizer.groups[1] as SgdSettings).momentum = 0.9;
    setGradient(a, null);
    setGradient(b, [1]);
    optimizer.step();
    expectNumbers([b.item()], [0.9 - 0.1], 1e-14);
    setGradient(b, [1]);
    optimizer.step();
    expectNumbers([b.item()], [0.8 - 0.1 * 1.9], 1e-14);
    optimizer.dispose();
    dispose([a, b]);
  });

  it("a name in two groups is an error", () => {
    const a = parameterOf([1], "float32");
    const group = { parameters: new Map([["a", a]]) };
    expect(() => adamw([group, group])).toThrow("parameter a is in two groups");
    a.dispose();
  });
});
