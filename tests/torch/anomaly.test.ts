/**
 * @file Finding the operator that first produced a NaN.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { detectAnomaly, empty, tensor, tidy } from "../../src/torch/index.ts";

const fact = (name: string, body: () => void) => it(name, () => tidy(body));

fact("forward: the operator and its arguments", () => {
  expect(() => detectAnomaly(() => tensor([1, -1]).log().add(1).sum())).toThrow(
    /^aten::log\(float32\[2\]\): the first operator to produce a NaN: result 1, float32\[2\]/,
  );
  expect(() => detectAnomaly(() => tensor([0]).div(0))).toThrow(
    /^aten::div\.Scalar\(float32\[1\], 0\)/,
  );
  expect(() => detectAnomaly(() => tensor([-1]).sqrt_())).toThrow(/^aten::sqrt_/);
});

fact("forward: results in lists and tuples", () => {
  expect(() => detectAnomaly(() => tensor([Number.NaN, 1]).topk(1))).toThrow(
    /aten::topk.*result 1/,
  );
  expect(() => detectAnomaly(() => tensor([Number.NaN, 1]).split(1))).toThrow(/aten::split/);
});

fact("backward: the backward function", () => {
  const x = tensor([0], { requiresGrad: true });
  // d√x at 0 is infinite, and 0 · ∞ is NaN.
  expect(() => detectAnomaly(() => x.sqrt().mul(0).sum().backward())).toThrow(
    /SqrtBackward0.*nan values/,
  );
});

fact("infinities, integers and memory not yet written are no NaN", () => {
  detectAnomaly(() => {
    tensor([1]).div(0);
    tensor([1n]).add(1);
    tensor([true]).logicalNot();
    for (let i = 0; i < 20; i++) empty([1000]);
  });
});

fact("gives back the result, and ends, also after an exception", () => {
  expect(detectAnomaly(() => 5)).toBe(5);
  expect(() => detectAnomaly(() => tensor([-1]).log())).toThrow();
  expect(tensor([-1]).log().item()).toBeNaN();
  const x = tensor([0], { requiresGrad: true });
  x.sqrt().mul(0).sum().backward();
  expect(x.grad!.item()).toBeNaN();
});

fact("nests", () => {
  detectAnomaly(() => {
    detectAnomaly(() => 1);
    expect(() => tensor([-1]).log()).toThrow("first operator to produce a NaN");
  });
});

it("prints no C++ stack", () => {
  const program = `
    import { detectAnomaly, tensor } from ${JSON.stringify(fileURLToPath(new URL("../../src/torch/index.ts", import.meta.url)))};
    const x = tensor([0], { requiresGrad: true });
    try { detectAnomaly(() => x.sqrt().mul(0).sum().backward()); } catch (error) { console.log(error.message); }
  `;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", program],
    { encoding: "utf8" },
  );
  expect(stdout).toContain("SqrtBackward0");
  expect(stderr).toBe("");
});
