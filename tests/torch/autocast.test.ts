/**
 * @file Mixed precision: what is cast, that it ends, and that gradients arrive.
 */
import { describe, expect, it } from "vitest";
import { autocast, grad, noGrad, ones, type Tensor, tensor, tidy } from "../../src/torch/index.ts";
import { expectTensor } from "./support/values.ts";

const fact = (name: string, body: () => void) => it(name, () => tidy(body));
const matrix = () =>
  tensor([
    [1, 2],
    [3, 4],
  ]);
const productDtype = () => matrix().mm(matrix()).dtype;

describe("autocast", () => {
  fact("multiplies matrices in bfloat16 and ends", () => {
    expect(productDtype()).toBe("float32");
    expect(autocast({}, productDtype)).toBe("bfloat16");
    expect(autocast({ dtype: "bfloat16", device: "cpu" }, productDtype)).toBe("bfloat16");
    expect(productDtype()).toBe("float32");
  });

  fact("leaves alone what needs no cast, and what is switched off", () => {
    expect(autocast({}, () => matrix().add(1).dtype)).toBe("float32");
    expect(autocast({ enabled: false }, productDtype)).toBe("float32");
    autocast({}, () => {
      expect(autocast({ enabled: false }, productDtype)).toBe("float32");
      expect(productDtype()).toBe("bfloat16");
    });
  });

  it("is as before after an exception", () => {
    expect(() =>
      autocast({}, () => {
        throw new Error("mine");
      }),
    ).toThrow("mine");
    tidy(() => expect(productDtype()).toBe("float32"));
  });

  it("an unknown device is an error", () => {
    expect(() => autocast({ device: "tpu" as "cpu" }, () => 1)).toThrow(
      'expected device "cpu" or "cuda", got "tpu"',
    );
  });
});

describe("gradients under autocast", () => {
  fact("reach the float32 weights in float32", () => {
    const weight = matrix().requiresGrad_();
    const loss = autocast({}, () => ones([1, 2]).mm(weight).to("float32").sum());
    loss.backward();
    expectTensor(
      weight.grad!,
      [
        [1, 1],
        [1, 1],
      ],
      { dtype: "float32" },
    );
  });

  fact("a weight that changed between two scopes is cast anew", () => {
    const weight = matrix().requiresGrad_();
    const product = () => autocast({}, () => ones([1, 2]).mm(weight));
    expectTensor(product(), [[4, 6]]);
    noGrad(() => weight.mul_(2));
    expectTensor(product(), [[8, 12]]);
  });

  fact("a use without recording does not take the gradient from a later use", () => {
    const weight = matrix().requiresGrad_();
    const loss = autocast({}, () => {
      noGrad(() => ones([1, 2]).mm(weight));
      return ones([1, 2]).mm(weight).to("float32").sum();
    });
    const [got] = grad(loss, [weight] as Tensor[]);
    expectTensor(got!, [
      [1, 1],
      [1, 1],
    ]);
  });
});
