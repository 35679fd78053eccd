/**
 * @file Any type of tensor to numbers of 32 bits.
 */
import { type Dequantise, SMALL_BLOCKS } from "./blocks.ts";
import { halfValues } from "./half.ts";
import { LARGE_BLOCKS } from "./large-blocks.ts";
import type { TensorTypeName } from "./types.ts";

const f32: Dequantise = (bytes, values) => {
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(
    bytes.subarray(0, values.byteLength),
  );
};

const f16: Dequantise = (bytes, values) => {
  const half = halfValues();
  for (let i = 0; i < values.length; i++)
    values[i] = half[bytes[2 * i]! | (bytes[2 * i + 1]! << 8)]!;
};

/** The upper half of 32 bits. */
const bf16: Dequantise = (bytes, values) => {
  const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < values.length; i++)
    patterns[i] = (bytes[2 * i]! << 16) | (bytes[2 * i + 1]! << 24);
};

/** Bit for bit what the gguf package's `dequantize` gives. */
export const DEQUANTISE: Readonly<Record<TensorTypeName, Dequantise>> = {
  F32: f32,
  F16: f16,
  BF16: bf16,
  ...SMALL_BLOCKS,
  ...LARGE_BLOCKS,
};
