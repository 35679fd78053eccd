/**
 * @file Products with weights, with bias and residual, against the twin and differences.
 */
import { describe, expect, it } from "vitest";
import {
  autocast,
  type Dtype,
  grad,
  type LinearOptions,
  linear,
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
import { bytesOf } from "./support/values.ts";

/** x, weight, bias, residual: as many as there are. */
function operation(of: (x: Tensor, w: Tensor, options: LinearOptions) => Tensor): Operation {
  return ([x, w, bias = null, residual = null]) => of(x!, w!, { bias, residual });
}
const [fused, twin] = [operation(linear), operation(stock.linear)];

function inputsOf(rows: number, from: number, to: number, dtype: Dtype = "float32"): Tensor[] {
  const samples = new Samples();
  return [[rows, from], [to, from], [to], [rows, to]].map((shape) => samples.leaf(shape, dtype));
}

// Fewer rows than are worth sharing out; as many; several parts, the last a short one; a weight whose
// gradient is made in rows rather than summed in parts.
const SIZES: [number, number, number][] = [
  [5, 7, 9],
  [512, 1, 1],
  [777, 77, 33],
  [4200, 264, 20],
  [1000, 800, 700],
];

describe("agrees with the twin", () => {
  const titled = SIZES.map((size) => ({ size, title: size.join(" × ") }));

  it.each(titled)("float32 $title", ({ size }) => {
    tidy(() => expectTwins(fused, twin, inputsOf(...size), { forward: 2e-6, backward: 3e-6 }));
  });

  it.each(titled)("float64 $title", ({ size }) => {
    const inputs = tidy(() => inputsOf(...size, "float64"));
    expectTwins(fused, twin, inputs, { forward: 1e-14, backward: 1e-14 });
    for (const input of inputs) input.dispose();
  });

  it.each<[string, number[]]>([
    ["no bias, no residual", [0, 1]],
    ["a bias", [0, 1, 2]],
  ])("with %s", (_, which) => {
    tidy(() => {
      const inputs = inputsOf(600, 40, 50);
      const some = which.map((i) => inputs[i]!);
      expectTwins(fused, twin, some, { forward: 2e-6, backward: 3e-6 });
    });
  });

  it("with a residual alone, and views", () => {
    tidy(() => {
      const samples = new Samples();
      const [wide, tall] = [samples.leaf([600, 90]), samples.leaf([50, 120])];
      const residual = samples.leaf([40, 600]);
      const parts = (of: typeof linear): Operation => {
        return () =>
          of(wide.narrow(1, 10, 40), tall.narrow(1, 3, 40).narrow(0, 4, 40), {
            residual: residual.t(),
          });
      };
      const inputs = [wide, tall, residual];
      expectTwins(parts(linear), parts(stock.linear), inputs, { forward: 2e-6, backward: 3e-6 });
    });
  });

  it("bfloat16 is left to libtorch", () => {
    tidy(() => {
      const [x, w] = inputsOf(640, 32, 16).map((input) => input.detach().to("bfloat16"));
      expect(bytesOf(linear(x!, w!))).toEqual(bytesOf(x!.linear(w!)));
    });
  });
});

it("gradients are those of numerical differences", () => {
  tidy(() => expectNumericalGradients(fused, inputsOf(512, 3, 2, "float64")));
});

it("gives gradients only to what wants them", () => {
  tidy(() => {
    const [x, w, bias, residual] = inputsOf(640, 20, 30);
    const alone = (wanted: Tensor, options: LinearOptions, from = x!, by = w!): void => {
      const got = grad(linear(from, by, options).sum(), [wanted]) as Tensor[];
      const want = grad(stock.linear(from, by, options).sum(), [wanted]) as Tensor[];
      expect(relativeDifference(got[0]!, want[0]!)).toBeLessThan(3e-6);
    };
    const [fixedX, fixedW] = [x!.detach(), w!.detach()];
    alone(x!, {}, x!, fixedW);
    alone(w!, {}, fixedX, w!);
    alone(bias!, { bias: bias! }, fixedX, fixedW);
    alone(residual!, { residual: residual! }, fixedX, fixedW);
    expect(noGrad(() => linear(x!, w!)).requiresGrad).toBe(false);
  });
});

it("is deterministic, whatever the number of threads", () => {
  tidy(() => expectDeterministic(fused, inputsOf(1500, 300, 200)));
});

it("autocast computes it in short floats", () => {
  tidy(() => {
    const [x, w] = inputsOf(640, 20, 30);
    expect(linear(x!, w!).dtype).toBe("float32");
    expect(autocast({}, () => linear(x!, w!).dtype)).toBe("bfloat16");
  });
});

it("says what does not fit together", () => {
  tidy(() => {
    const [x, w, bias, residual] = inputsOf(640, 20, 30);
    expect(() => linear(x!, w!.t())).toThrow(/x \[rows, in\] and weight \[out, in\].*\[20, 30\]/);
    expect(() => linear(x!, w!, { bias: bias!.narrow(0, 0, 5) })).toThrow(
      /bias must be \[30\], got \[5\]/,
    );
    expect(() => linear(x!, w!, { residual: residual!.t() })).toThrow(
      /residual must be \[640, 30\], got \[30, 640\]/,
    );
  });
});
