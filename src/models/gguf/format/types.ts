/**
 * @file The element types of GGUF tensors: how many elements make a block, and how many bytes a block has.
 */

export interface TensorType {
  /** In the file. */
  readonly id: number;
  readonly name: TensorTypeName;
  /** Elements in a block; a row is a whole number of blocks. */
  readonly blockElements: number;
  readonly blockBytes: number;
}

export type TensorTypeName =
  | "F32"
  | "F16"
  | "BF16"
  | "Q8_0"
  | "Q4_0"
  | "Q4_1"
  | "Q5_0"
  | "Q5_1"
  | "Q4_K"
  | "Q5_K"
  | "Q6_K";

/** Name: id, elements and bytes of a block. */
const LAYOUTS: Readonly<Record<TensorTypeName, readonly [number, number, number]>> = {
  F32: [0, 1, 4],
  F16: [1, 1, 2],
  Q4_0: [2, 32, 18],
  Q4_1: [3, 32, 20],
  Q5_0: [6, 32, 22],
  Q5_1: [7, 32, 24],
  Q8_0: [8, 32, 34],
  Q4_K: [12, 256, 144],
  Q5_K: [13, 256, 176],
  Q6_K: [14, 256, 210],
  BF16: [30, 1, 2],
};

export const TENSOR_TYPES = Object.fromEntries(
  Object.entries(LAYOUTS).map(([name, [id, blockElements, blockBytes]]) => [
    name,
    { id, name, blockElements, blockBytes },
  ]),
) as Readonly<Record<TensorTypeName, TensorType>>;

const BY_ID = new Map(Object.values(TENSOR_TYPES).map((type) => [type.id, type]));

/** Types that others write and that are not read here, for the message. */
const OTHERS: Readonly<Record<number, string>> = {
  9: "Q8_1",
  10: "Q2_K",
  11: "Q3_K",
  15: "Q8_K",
  16: "IQ2_XXS",
  17: "IQ2_XS",
  18: "IQ3_XXS",
  19: "IQ1_S",
  20: "IQ4_NL",
  21: "IQ3_S",
  22: "IQ2_S",
  23: "IQ4_XS",
  24: "I8",
  25: "I16",
  26: "I32",
  27: "I64",
  28: "F64",
  29: "IQ1_M",
  34: "TQ1_0",
  35: "TQ2_0",
  39: "MXFP4",
};

/** The type with an id, or the reason why it cannot be read. */
export function tensorType(id: number): TensorType | string {
  const found = BY_ID.get(id);
  if (found) return found;
  const name = OTHERS[id];
  return (
    `${name ? `the type ${name} is not read here` : `the type ${id} is unknown`}; expected one of ` +
    `${Object.keys(TENSOR_TYPES).join(", ")}: take a file of one of these`
  );
}

/** The types of values in the metadata, as the file numbers them. */
export const VALUE = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const;
