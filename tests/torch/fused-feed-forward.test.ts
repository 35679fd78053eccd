/**
 * @file A whole feed-forward block against its twin and differences.
 */
import { describe, expect, it } from "vitest";
import {
  autocast,
  type Dtype,
  feedForward,
  grad,
  noGrad,
  stock,
  type Tensor,
  tidy,
} from "../../src/torch/index.ts";
import {
  expectDeterministic,
  expectNumericalGradients,
  expectTwins,
  type Operation,
  relativeDifference,
  Samples,
} from "./support/twins.ts";

const EPSILON = 1e-5;

/** x, norm, gateUp, down. */
function operation(of: typeof feedForward): Operation {
  return ([x, norm, gateUp, down]) =>
    of(x!, { norm: norm!, gateUp: gateUp!, down: down! }, EPSILON);
}
const [fused, twin] = [operation(feedForward), operation(stock.feedForward)];

function inputsOf(
  rows: number,
  hidden: number,
  features: number,
  dtype: Dtype = "float32",
): Tensor[] {
  const samples = new Samples();
  return [
    samples.leaf([rows, hidden], dtype),
    samples.leaf([hidden], dtype),
    samples.leaf([2 * features, hidden], dtype, hidden ** -0.5),
    samples.leaf([hidden, features], dtype, features ** -0.5),
  ];
}

// Fewer rows than are worth sharing out, which the single operators compute; as many; sizes that fill no
// block, strip or vector; two blocks of features and a hidden size beyond one depth; all eight parts, the
// last one short; a block of rows that no rows are left for; large weights, and too large ones.
const SIZES: [number, number, number][] = [
  [5, 6, 7],
  [512, 1, 1],
  [777, 77, 33],
  [700, 300, 210],
  [4203, 40, 24],
  [59_905, 4, 3],
  [600, 800, 900],
  [600, 1300, 1100],
];
// `wider`: MKL's sums over so many rows, in the twin, lose some of the last digits.
const TITLED = SIZES.map((size) => ({
  size,
  title: size.join(" × "),
  wider: size[0] > 50_000 ? 5 : 1,
}));

describe("agrees with the twin", () => {
  it.each(TITLED)("float32 $title", ({ size, wider }) => {
    const tolerance = { forward: 2e-6, backward: 4e-6 * wider };
    tidy(() => expectTwins(fused, twin, inputsOf(...size), tolerance));
  });

  it.each(TITLED)("float64 $title", ({ size, wider }) => {
    const tolerance = { forward: 1e-14, backward: 1e-14 * wider };
    tidy(() => expectTwins(fused, twin, inputsOf(...size, "float64"), tolerance));
  });

  it("of views, with a gradient that is one", () => {
    tidy(() => {
      const samples = new Samples();
      const wide = samples.leaf([600, 70]);
      const both = samples.leaf([100, 90], "float32", 0.2);
      const norm = samples.leaf([40]);
      const parts = (of: typeof feedForward): Operation => {
        return () => {
          const gateUp = both.narrow(1, 2, 40).narrow(0, 1, 60);
          const down = both.narrow(0, 0, 30).t().narrow(0, 7, 40);
          return of(wide.narrow(1, 10, 40), { norm, gateUp, down }, EPSILON).t();
        };
      };
      const inputs = [wide, both, norm];
      expectTwins(parts(feedForward), parts(stock.feedForward), inputs, {
        forward: 2e-6,
        backward: 4e-6,
      });
    });
  });

  it("bfloat16 is left to the single operators", () => {
    tidy(() => {
      const inputs = inputsOf(640, 32, 16).map((input) => input.detach().to("bfloat16"));
      const [got, want] = [fused(inputs), twin(inputs)] as [Tensor, Tensor];
      expect(got.dtype).toBe("bfloat16");
      expect(relativeDifference(got, want)).toBeLessThan(1e-2);
    });
  });
});

it("gradients are those of numerical differences", () => {
  tidy(() => expectNumericalGradients(fused, inputsOf(512, 2, 3, "float64")));
});

it("gives gradients only to what wants them", () => {
  tidy(() => {
    const inputs = inputsOf(640, 20, 30);
    for (const i of inputs.keys()) {
      const some = inputs.map((input, k) => (k === i ? input : input.detach()));
      const of = (from: Operation) =>
        (grad((from(some) as Tensor).square().sum(), [inputs[i]!]) as Tensor[])[0]!;
      expect(relativeDifference(of(fused), of(twin))).toBeLessThan(4e-6);
    }
    expect(noGrad(() => fused(inputs) as Tensor).requiresGrad).toBe(false);
  });
});

it("gives the same without a graph, and twice the same from one", () => {
  tidy(() => {
    const inputs = inputsOf(900, 40, 50);
    const y = fused(inputs) as Tensor;
    expect(noGrad(() => relativeDifference(fused(inputs) as Tensor, y))).toBe(0);
    const twice = [true, false].map(
      (retainGraph) => (grad(y.sum(), [inputs[2]!], { retainGraph }) as Tensor[])[0]!,
    );
    expect(relativeDifference(twice[0]!, twice[1]!)).toBe(0);
  });
});

it("is deterministic, whatever the number of threads", () => {
  tidy(() => expectDeterministic(fused, inputsOf(2500, 70, 250)));
});

it("autocast computes its products in short floats", () => {
  tidy(() => {
    const inputs = inputsOf(640, 20, 30);
    const exact = fused(inputs) as Tensor;
    const short = autocast({}, () => fused(inputs) as Tensor);
    const difference = relativeDifference(short, exact);
    expect(difference).toBeGreaterThan(1e-5);
    expect(difference).toBeLessThan(1e-2);
  });
});

it("says what does not fit together", () => {
  tidy(() => {
    const [x, norm, gateUp, down] = inputsOf(640, 20, 30);
    const call = (changed: { norm?: Tensor; gateUp?: Tensor; down?: Tensor }) => () =>
      feedForward(x!, { norm: norm!, gateUp: gateUp!, down: down!, ...changed }, EPSILON);
    expect(call({ norm: norm!.narrow(0, 0, 5) })).toThrow(
      /norm \[hidden\], got \[640, 20\] and \[5\]/,
    );
    expect(call({ gateUp: gateUp!.narrow(0, 0, 59) })).toThrow(
      /gate_up must be \[2 \* features, 20\], got \[59, 20\]/,
    );
    expect(call({ down: down!.t() })).toThrow(/down must be \[20, 30\], got \[30, 20\]/);
  });
});
