/**
 * @file The element types of the safetensors format, and ours.
 */
import type { Dtype } from "../../torch/index.ts";

interface FormatDtype {
  dtype: Dtype;
  bytes: number;
  /** The reference writes tensors with the higher rank first, so that all stay aligned. */
  rank: number;
}

const FORMAT: ReadonlyMap<string, FormatDtype> = new Map([
  ["BOOL", { dtype: "bool", bytes: 1, rank: 0 }],
  ["U8", { dtype: "uint8", bytes: 1, rank: 1 }],
  ["I8", { dtype: "int8", bytes: 1, rank: 2 }],
  ["I16", { dtype: "int16", bytes: 2, rank: 3 }],
  ["F16", { dtype: "float16", bytes: 2, rank: 4 }],
  ["BF16", { dtype: "bfloat16", bytes: 2, rank: 5 }],
  ["I32", { dtype: "int32", bytes: 4, rank: 6 }],
  ["F32", { dtype: "float32", bytes: 4, rank: 7 }],
  ["F64", { dtype: "float64", bytes: 8, rank: 8 }],
  ["I64", { dtype: "int64", bytes: 8, rank: 9 }],
]);

/** Names that the format knows and libtorch's tensors here do not. */
const NOT_SUPPORTED = new Set(
  "F4 F6_E2M3 F6_E3M2 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ U16 U32 U64 C64".split(" "),
);

const NAMES = new Map<Dtype, string>([...FORMAT].map(([name, { dtype }]) => [dtype, name]));

/** What a dtype's name in a header means, or the reason why it cannot be used. */
export function formatDtype(name: unknown): FormatDtype | string {
  const found = typeof name === "string" ? FORMAT.get(name) : undefined;
  if (found) return found;
  const known = [...FORMAT.keys()].join(", ");
  return typeof name === "string" && NOT_SUPPORTED.has(name)
    ? `dtype ${name} is not supported here; convert the checkpoint to one of ${known}`
    : `dtype ${JSON.stringify(name)} is unknown; expected one of ${known}`;
}

/** The format's name for a dtype. */
export function formatName(dtype: Dtype): string {
  return NAMES.get(dtype)!;
}

export function bytesPerElement(dtype: Dtype): number {
  return FORMAT.get(formatName(dtype))!.bytes;
}

/** Place in the reference writer's order: higher first. */
export function formatRank(dtype: Dtype): number {
  return FORMAT.get(formatName(dtype))!.rank;
}
