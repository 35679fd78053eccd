/**
 * @file Blocks of 32 elements to numbers. A block has a scale d (16 bits), some a minimum m, and small whole
 * numbers q of 4, 5 or 8 bits: a value is d · q, or d · q + m.
 *
 * Half of a block's numbers are in the low halves of its bytes, the other half in the high ones. Rounding is
 * that of the reference, which computes in 32 bits: every product here is exact in 64, and is rounded once
 * where it is stored or added to.
 */
import { halfValues } from "./half.ts";
import type { TensorTypeName } from "./types.ts";

/** Fills `values` from as many blocks as it takes, which begin at the first byte. */
export type Dequantise = (bytes: Uint8Array, values: Float32Array) => void;

const HALF = 16;

/** Calls `block` with the first byte and the first element of each block. */
function forBlocks(
  blockBytes: number,
  elements: number,
  count: number,
  block: (at: number, to: number) => void,
): void {
  for (let i = 0; i < count / elements; i++) block(i * blockBytes, i * elements);
}

const q8_0: Dequantise = (bytes, values) => {
  const half = halfValues();
  forBlocks(34, 32, values.length, (at, to) => {
    const scale = half[bytes[at]! | (bytes[at + 1]! << 8)]!;
    for (let i = 0; i < 32; i++) values[to + i] = scale * ((bytes[at + 2 + i]! << 24) >> 24);
  });
};

const q4_0: Dequantise = (bytes, values) => {
  const half = halfValues();
  forBlocks(18, 32, values.length, (at, to) => {
    const scale = half[bytes[at]! | (bytes[at + 1]! << 8)]!;
    for (let i = 0; i < HALF; i++) {
      const byte = bytes[at + 2 + i]!;
      values[to + i] = scale * ((byte & 15) - 8);
      values[to + HALF + i] = scale * ((byte >> 4) - 8);
    }
  });
};

const q4_1: Dequantise = (bytes, values) => {
  const half = halfValues();
  forBlocks(20, 32, values.length, (at, to) => {
    const scale = half[bytes[at]! | (bytes[at + 1]! << 8)]!;
    const least = half[bytes[at + 2]! | (bytes[at + 3]! << 8)]!;
    for (let i = 0; i < HALF; i++) {
      const byte = bytes[at + 4 + i]!;
      values[to + i] = scale * (byte & 15) + least;
      values[to + HALF + i] = scale * (byte >> 4) + least;
    }
  });
};

/** The fifth bits of all 32 numbers stand together before the others. */
function fifthBits(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

const q5_0: Dequantise = (bytes, values) => {
  const half = halfValues();
  forBlocks(22, 32, values.length, (at, to) => {
    const scale = half[bytes[at]! | (bytes[at + 1]! << 8)]!;
    const high = fifthBits(bytes, at + 2);
    for (let i = 0; i < HALF; i++) {
      const byte = bytes[at + 6 + i]!;
      values[to + i] = scale * (((byte & 15) | (((high >>> i) & 1) << 4)) - 16);
      values[to + HALF + i] = scale * (((byte >> 4) | (((high >>> (HALF + i)) & 1) << 4)) - 16);
    }
  });
};

const q5_1: Dequantise = (bytes, values) => {
  const half = halfValues();
  forBlocks(24, 32, values.length, (at, to) => {
    const scale = half[bytes[at]! | (bytes[at + 1]! << 8)]!;
    const least = half[bytes[at + 2]! | (bytes[at + 3]! << 8)]!;
    const high = fifthBits(bytes, at + 4);
    for (let i = 0; i < HALF; i++) {
      const byte = bytes[at + 8 + i]!;
      values[to + i] = scale * ((byte & 15) | (((high >>> i) & 1) << 4)) + least;
      values[to + HALF + i] = scale * ((byte >> 4) | (((high >>> (HALF + i)) & 1) << 4)) + least;
    }
  });
};

export const SMALL_BLOCKS: Readonly<
  Record<Extract<TensorTypeName, "Q8_0" | "Q4_0" | "Q4_1" | "Q5_0" | "Q5_1">, Dequantise>
> = { Q8_0: q8_0, Q4_0: q4_0, Q4_1: q4_1, Q5_0: q5_0, Q5_1: q5_1 };
