/**
 * @file The door: what a caller did wrong, and what libtorch found wrong, as errors that help.
 */
import { describe, expect, it } from "vitest";
import {
  type Argument,
  call,
  Generator,
  memory,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";

const t = zeros([2, 3]);
const generator = new Generator(1);
const disposed = zeros([1]);
disposed.dispose();

interface Problem {
  message: string;
  code: string | undefined;
}

function problemOf(body: () => unknown): Problem {
  try {
    body();
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    return { message, code };
  }
  throw new Error("expected an error");
}

/** Wrong calls: operator, arguments, the argument's name and place, what was expected, what came. */
const WRONG: [string, readonly unknown[], string, string][] = [
  ["aten::neg", ["x"], "'self' (1st)", 'expected Tensor, got string "x"'],
  ["aten::neg", [3], "'self' (1st)", "expected Tensor, got number 3"],
  ["aten::neg", [], "'self' (1st)", "missing, expected Tensor"],
  ["aten::neg", [null], "'self' (1st)", "expected Tensor, got null"],
  ["aten::neg", [disposed], "'self' (1st)", "expected Tensor, got a disposed Tensor"],
  ["aten::neg", [generator], "'self' (1st)", "expected Tensor, got Generator"],
  ["aten::neg", [{}], "'self' (1st)", "expected Tensor, got an object"],
  ["aten::neg", [() => 1], "'self' (1st)", "expected Tensor, got a function"],
  ["aten::neg", [Symbol("s")], "'self' (1st)", "expected Tensor, got a symbol"],
  ["aten::neg", [1n], "'self' (1st)", "expected Tensor, got a bigint"],
  ["aten::neg", [[t]], "'self' (1st)", "expected Tensor, got array of 1 [Tensor float32[2, 3]]"],
  // The raw bits of a handle that was never given out.
  [
    "aten::neg",
    [2 ** 987 * (1 + 2 ** -20)],
    "'self' (1st)",
    "expected Tensor, got a disposed Tensor",
  ],
  ["aten::cat", [t], "'tensors' (1st)", "expected Tensor[], got Tensor float32[2, 3]"],
  ["aten::cat", [[t, 1]], "'tensors' (1st)", "expected Tensor[], got number 1"],
  ["aten::index.Tensor", [t, [null, "1"]], "'indices' (2nd)", 'expected Tensor?[], got string "1"'],
  ["aten::add.Scalar", [t, "1"], "'other' (2nd)", 'expected Scalar, got string "1"'],
  ["aten::add.Scalar", [t, t], "'other' (2nd)", "expected Scalar, got Tensor float32[2, 3]"],
  ["aten::add.Scalar", [t, 2n ** 64n], "'other' (2nd)", "64 bits, got a bigint"],
  ["aten::select.int", [t, 0.5, 0], "'dim' (2nd)", "expected an integer, got number 0.5"],
  ["aten::select.int", [t, true, 0], "'dim' (2nd)", "expected int, got boolean true"],
  ["aten::select.int", [t, Number.NaN, 0], "'dim' (2nd)", "expected an integer, got number nan"],
  ["aten::select.int", [t, 2 ** 60, 0], "'dim' (2nd)", "expected an integer, got number 1.15"],
  ["aten::select.int", [t, t, 0], "'dim' (2nd)", "expected an integer, got Tensor float32[2, 3]"],
  ["aten::isclose", [t, t, "0.1"], "'rtol' (3rd)", 'expected float, got string "0.1"'],
  ["aten::isclose", [t, t, t], "'rtol' (3rd)", "expected float, got Tensor float32[2, 3]"],
  ["aten::isclose", [t, t, 0, 0, 1], "'equal_nan' (5th)", "expected bool, got number 1"],
  ["aten::einsum", [t, [t]], "'equation' (1st)", "expected str, got Tensor float32[2, 3]"],
  ["aten::view", [t, 6.5], "'size' (2nd)", "expected int[], got number 6.5"],
  ["aten::view", [t, [2, "3"]], "'size' (2nd)", 'got string "3"'],
  ["aten::view", [t, null], "'size' (2nd)", "got null"],
  [
    "aten::zeros",
    [[1], "float31"],
    "'dtype' (2nd)",
    'unknown dtype "float31"; known: float32, float64',
  ],
  ["aten::zeros", [[1], 6], "'dtype' (2nd)", "expected ScalarType?, got number 6"],
  ["aten::zeros", [[1], null, "dense"], "'layout' (3rd)", 'unknown layout "dense"; known: strided'],
  ["aten::zeros", [[1], null, null, "gpu"], "'device' (4th)", "gpu"],
  ["aten::zeros", [[1], null, null, 0], "'device' (4th)", "expected Device?, got number 0"],
  ["aten::clone", [t, "dense"], "'memory_format' (2nd)", 'unknown memory format "dense"'],
  [
    "aten::bernoulli",
    [t, t],
    "'generator' (2nd)",
    "expected a Generator, got Tensor float32[2, 3]",
  ],
  ["aten::bernoulli", [t, 5], "'generator' (2nd)", "expected a Generator, got number 5"],
  ["aten::record_stream", [t, 1], "'s' (2nd)", "cannot be passed from JavaScript"],
];

describe("wrong arguments", () => {
  it.each(WRONG)("%s %#", (name, values, argument, expected) => {
    const { message, code } = problemOf(() => call(name, values as Argument[]));
    expect(message).toContain(`${name}: argument ${argument}: `);
    expect(message).toContain(expected);
    expect(code).toBe("ERR_TORCH_ARGUMENT");
  });

  it("too many", () => {
    expect(() => call("aten::neg", [t, t])).toThrow("aten::neg: takes 1 arguments, got 2");
    expect(() => call("aten::neg", [t, ...Array(50).fill(t)])).toThrow(/too many arguments/);
  });

  it("trailing undefined is none", () => {
    tidy(() => expect(() => call("aten::neg", [t, undefined, undefined])).not.toThrow());
  });

  it("by name: unknown, and given twice", () => {
    expect(() => call("aten::add.Tensor", [t, t], { alfa: 1 })).toThrow(
      /aten::add\.Tensor: has no argument called 'alfa'; its schema is aten::add\.Tensor\(/,
    );
    expect(() => call("aten::add.Tensor", [t, t], { other: t })).toThrow(
      "aten::add.Tensor: argument 'other' is given twice, by position and by name",
    );
    expect(() => call("aten::add.Tensor", [], { other: t })).toThrow(
      "argument 'self' (1st): missing",
    );
  });

  it("an exception in a getter is the caller's own", () => {
    const size = Object.defineProperty([6], 0, {
      get() {
        throw new TypeError("mine");
      },
    });
    expect(() => t.view(size)).toThrow(new TypeError("mine"));
  });

  it("a getter may call operators itself", () => {
    const size = Object.defineProperty([6], 0, {
      get: () =>
        tidy(
          () =>
            call("aten::sum.dim_IntList", [t.add(1).view([6]), [0]]) as never as { item(): number },
        ).item(),
    });
    tidy(() => expect(t.view(size).shape).toEqual([6]));
  });
});

describe("libtorch's own errors", () => {
  const CASES: [string, () => unknown, RegExp][] = [
    ["mm", () => t.mm(t), /^aten::mm\(float32\[2, 3\], float32\[2, 3\]\): .*2x3 and 2x3/],
    [
      "view",
      () => t.view([7]),
      /^aten::view\(float32\[2, 3\], array of 1 \[number 7\]\): .*size 6/,
    ],
    [
      "cat",
      () => call("aten::cat", [[t, zeros([1])]]),
      /^aten::cat\(array of 2 \[Tensor float32\[2, 3\], Tensor float32\[1\]\]/,
    ],
    ["an internal assertion", () => call("aten::_nnz", [t]), /^aten::_nnz\(float32\[2, 3\]\): /],
    ["a device that is not there", () => zeros([1], { device: "cuda:7" }), /^aten::zeros\(.*\): /],
    [
      "a kernel that is not there",
      () => call("aten::cudnn_convolution", [t, t, [0], [1], [1], 1, false, false, false]),
      /^aten::cudnn_convolution\(.*\): /,
    ],
    ["backward without a graph", () => t.backward(), /does not require grad/],
  ];

  it.each(CASES)("%s", (_name, body, pattern) => {
    const { message } = problemOf(() => tidy(body as () => object));
    expect(message).toMatch(pattern);
  });

  it.each(CASES)("%s: no C++ backtrace", (_name, body) => {
    const { message } = problemOf(() => tidy(body as () => object));
    expect(message).not.toMatch(/Exception raised from|frame #|\.cpp:\d+/);
    expect(message.length).toBeLessThan(1500);
  });

  it("have a code of their own", () => {
    expect(problemOf(() => t.mm(t)).code).toBe("ERR_TORCH");
  });

  it("memory that cannot be had is an error", () => {
    expect(() => zeros([2 ** 45])).toThrow(/aten::zeros/);
    expect(() => zeros([2 ** 40, 2 ** 40])).toThrow(/aten::zeros/);
    expect(() => zeros([-1])).toThrow(/aten::zeros/);
  });

  it("leave nothing behind", () => {
    const before = memory();
    for (let i = 0; i < 20; i++) {
      problemOf(() => t.mm(t));
      problemOf(() => call("aten::cat", [[t, 1 as never]]));
    }
    expect(memory()).toEqual(before);
  });
});

describe("operators that are not there", () => {
  it("lists the overloads of a name that is", () => {
    const { message } = problemOf(() => call("aten::add.Number", [t]));
    expect(message).toContain("no operator is called aten::add.Number");
    expect(message).toContain("aten::add.Tensor");
    expect(message).toContain("aten::add.Scalar");
    expect(message).not.toContain("aten::addmm");
  });

  it("says where to look for a name that is not", () => {
    expect(() => call("aten::ad", [t])).toThrow(
      /no operator is called aten::ad; operatorNames\(\)/,
    );
    expect(() => call("add", [t])).toThrow(/expected a name like "aten::add\.Tensor", got "add"/);
    expect(() => call("", [t])).toThrow(/expected a name/);
  });

  it("an operator with overloads only needs one of them", () => {
    expect(() => call("aten::sub", [tensor(1)])).toThrow(/its overloads are aten::sub\.Scalar/);
  });
});
