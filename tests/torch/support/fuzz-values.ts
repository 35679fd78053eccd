/**
 * @file Random values for operators' arguments, by the type that the schema names: right ones with
 * odd shapes and numbers, and wrong ones.
 */
import {
  type Argument,
  call,
  type Dtype,
  Generator,
  type Tensor,
  tensor,
  zeros,
} from "../../../src/torch/index.ts";
import type { Random } from "./random.ts";

const SHAPES = [
  [],
  [0],
  [1],
  [3],
  [2, 3],
  [3, 2],
  [3, 3],
  [0, 3],
  [2, 0, 3],
  [2, 3, 2],
  [1, 1, 1, 1, 1, 1],
];
const DTYPES: Dtype[] = [
  "float32",
  "float64",
  "bfloat16",
  "float16",
  "int64",
  "int32",
  "int16",
  "int8",
  "uint8",
  "bool",
];
const NUMBERS = [
  0,
  1,
  -1,
  2,
  3,
  0.5,
  -0.5,
  100,
  Number.NaN,
  Infinity,
  -Infinity,
  1e308,
  -1e30,
  1e-320,
];
// Either small or too large for any memory: what lies between would be slow, not odd.
const INTEGERS = [
  0,
  0,
  0,
  1,
  1,
  1,
  2,
  3,
  -1,
  -1,
  -2,
  -3,
  7,
  64,
  -100,
  2 ** 46,
  -(2 ** 46),
  Number.MAX_SAFE_INTEGER,
];
const SIZES = [0, 1, 1, 2, 3, -1, -2, 5, 2 ** 46, Number.MAX_SAFE_INTEGER];
const STRINGS = [
  "",
  "none",
  "floor",
  "tanh",
  "mean",
  "ij,jk->ik",
  "...",
  "i,i",
  "->",
  "\0",
  "ü".repeat(100),
];

/** `int[2]?` without its question mark and size: "int[]". */
export function plainType(type: string): { type: string; optional: boolean; list: boolean } {
  const optional = type.endsWith("?");
  const bare = (optional ? type.slice(0, -1) : type).replace(/\[\d+\]/, "[]");
  return { type: bare, optional, list: bare.endsWith("[]") };
}

export function randomTensor(random: Random): Tensor {
  const shape = random.pick(SHAPES);
  const dtype = random.pick(DTYPES);
  const count = shape.reduce((product, size) => product * size, 1);
  const values = Array.from({ length: count }, () =>
    random.next() < 0.8 ? random.integer(-3, 3) : random.pick(NUMBERS),
  );
  let made = tensor(values, { dtype: "float64" }).view(shape).to(dtype);
  if (shape.length >= 2 && random.next() < 0.3) made = made.transpose(0, 1);
  if (random.next() < 0.1) made = made.unsqueeze(0).expand([2, ...made.shape]);
  // A sparse tensor without dimensions makes libtorch 1.13's permute (and so einsum) read out of
  // bounds; nothing of ours makes one.
  if (made.ndim > 0 && random.next() < 0.05) made = call("aten::to_sparse", [made]) as Tensor;
  if (dtype.includes("float") && random.next() < 0.3) made = made.detach().requiresGrad_();
  return made;
}

function listOf<Item>(random: Random, item: () => Item, longest = 4): Item[] {
  return Array.from({ length: random.integer(0, longest) }, item);
}

/** A value that the schema's type allows. */
export function rightValue(random: Random, fullType: string): Argument {
  const { type, optional } = plainType(fullType);
  if (optional && random.next() < 0.3) return null;
  switch (type) {
    case "Tensor":
      return randomTensor(random);
    case "Tensor[]":
      return listOf(random, () => randomTensor(random));
    case "Tensor?[]":
      return listOf(random, () => (random.next() < 0.3 ? null : randomTensor(random)));
    case "Scalar":
      return random.pick<Argument>([...NUMBERS, true, 2n ** 62n, -(2n ** 63n)]);
    case "Scalar[]":
      return listOf(random, () => random.pick(NUMBERS));
    case "int":
      return random.pick(INTEGERS);
    case "int[]":
      return listOf(random, () => random.pick(SIZES));
    case "float":
      return random.pick(NUMBERS);
    case "float[]":
      return listOf(random, () => random.pick(NUMBERS));
    case "bool":
      return random.next() < 0.5;
    case "bool[]":
      return listOf(random, () => random.next() < 0.5);
    case "str":
      return random.pick(STRINGS);
    case "str[]":
      return listOf(random, () => random.pick(STRINGS));
    case "ScalarType":
      return random.pick([...DTYPES, "complex64"]);
    case "Layout":
      return random.pick(["strided", "sparse_coo"]);
    case "MemoryFormat":
      return random.pick(["contiguous_format", "preserve_format", "channels_last"]);
    case "Device":
      return random.pick(["cpu", "cpu", "meta"]);
    case "Generator":
      return new Generator(random.integer(0, 9));
    default:
      return null; // Types that JavaScript cannot pass: every value is wrong.
  }
}

interface Wrongs {
  gone: Tensor;
  live: Tensor;
  generator: Generator;
}

let wrongs: Wrongs | undefined;

function makeWrongs(): Wrongs {
  const gone = zeros([1]);
  gone.dispose();
  return { gone, live: zeros([2, 3]), generator: new Generator(1) };
}

/** A value that the schema's type does not allow. */
export function wrongValue(random: Random, fullType: string): unknown {
  wrongs ??= makeWrongs();
  const { gone, live, generator } = wrongs;
  // Wrong for every type.
  const always: unknown[] = [
    {},
    () => 1,
    Symbol("wrong"),
    gone,
    [{}],
    [[[]]],
    [Symbol("wrong")],
    2n ** 70n,
    new Date(0),
    new Float32Array(2),
    /x/,
    new Proxy([{}], {}),
    Object.create(null),
  ];
  return random.pick([...always, ...alsoWrong(plainType(fullType).type)]);

  function alsoWrong(type: string): unknown[] {
    switch (type) {
      case "Tensor":
        return [3, 0.5, "x", true, [live], generator, 2 ** 987, -(2 ** 987), 1n];
      case "Tensor[]":
        return [live, [1], [live, null], ["x"], [gone], 3, "x", [generator]];
      case "Tensor?[]":
        return [live, [1], ["x"], [gone], 3, "x", [null, 0.5]];
      case "Scalar":
        return ["1", live, [1], generator];
      case "int":
        return ["1", 0.5, Number.NaN, Infinity, 2 ** 60, true, live, [1]];
      case "float":
        return ["1", true, live, [1], 1n];
      case "bool":
        return [0, 1, "true", live, [true]];
      case "str":
        return [1, true, live, ["x"]];
      case "int[]":
        return ["1", [0.5], ["1"], [Number.NaN], live, [live], [true], [2 ** 60], [null]];
      case "float[]":
        return ["1", ["1"], live, [live], [true], [null]];
      case "bool[]":
        return ["true", [0], live, [live], [null]];
      case "Scalar[]":
        return ["1", ["1"], live, [live], [null]];
      case "str[]":
        return [1, [1], live, [live], [null]];
      case "ScalarType":
        return [6, true, "float31", "", live];
      case "Layout":
        return [0, "dense", live];
      case "MemoryFormat":
        return [0, "dense", live];
      case "Device":
        return [0, "abacus", "", "cpu:x", live];
      case "Generator":
        return [0, 5, "x", live, true];
      default:
        return [3, "x", true, live, [live], null];
    }
  }
}
