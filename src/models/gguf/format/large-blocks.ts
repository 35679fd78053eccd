/**
 * @file Blocks of 256 elements to numbers: Q4_K, Q5_K, Q6_K. A block has parts with small scales of their own
 * (and minimums), which are themselves whole numbers times a scale of the block.
 */
import type { Dequantise } from "./blocks.ts";
import { halfValues } from "./half.ts";
import type { TensorTypeName } from "./types.ts";

const BLOCK = 256;

/**
 * Eight scales and eight minimums of six bits in twelve bytes: the first four of each have a byte of their
 * own, whose two upper bits belong to one of the last four; the lower four bits of those are in the last
 * four bytes.
 */
function sixBits(bytes: Uint8Array, at: number, part: number): { scale: number; least: number } {
  if (part < 4) return { scale: bytes[at + part]! & 63, least: bytes[at + 4 + part]! & 63 };
  const low = bytes[at + 4 + part]!;
  return {
    scale: (low & 15) | ((bytes[at + part - 4]! >> 6) << 4),
    least: (low >> 4) | ((bytes[at + part]! >> 6) << 4),
  };
}

/** d, minimum, 12 bytes of scales, then (five bits only) 32 bytes of fifth bits, 128 bytes of nibbles. */
function scaledParts(hasFifthBit: boolean): Dequantise {
  const blockBytes = hasFifthBit ? 176 : 144;
  const nibbles = hasFifthBit ? 48 : 16;
  return (bytes, values) => {
    const half = halfValues();
    for (let to = 0, at = 0; to < values.length; to += BLOCK, at += blockBytes) {
      const d = half[bytes[at]! | (bytes[at + 1]! << 8)]!;
      const minimum = half[bytes[at + 2]! | (bytes[at + 3]! << 8)]!;
      for (let part = 0; part < 8; part++) {
        const six = sixBits(bytes, at + 4, part);
        const [scale, least] = [d * six.scale, minimum * six.least];
        // Two parts share 32 bytes: one has the lower halves, the other the upper ones.
        const from = at + nibbles + (part >> 1) * 32;
        const shift = (part & 1) * 4;
        for (let i = 0; i < 32; i++) {
          let q = (bytes[from + i]! >> shift) & 15;
          if (hasFifthBit) q |= ((bytes[at + 16 + i]! >> part) & 1) << 4;
          values[to + part * 32 + i] = scale * q - least;
        }
      }
    }
  };
}

/** 128 bytes of lower nibbles, 64 of upper pairs of bits, 16 signed scales, d. */
const q6k: Dequantise = (bytes, values) => {
  const half = halfValues();
  for (let to = 0, at = 0; to < values.length; to += BLOCK, at += 210) {
    const d = half[bytes[at + 208]! | (bytes[at + 209]! << 8)]!;
    // Parts of 32 elements; four of them share 64 bytes of nibbles and 32 of pairs.
    for (let part = 0; part < 8; part++) {
      const within = part & 3;
      const nibbles = at + (part >> 2) * 64 + (within & 1) * 32;
      const pairs = at + 128 + (part >> 2) * 32;
      const shift = (within >> 1) * 4;
      for (let i = 0; i < 32; i++) {
        const scale = (bytes[at + 192 + part * 2 + (i >> 4)]! << 24) >> 24;
        const low = (bytes[nibbles + i]! >> shift) & 15;
        const high = (bytes[pairs + i]! >> (within * 2)) & 3;
        values[to + part * 32 + i] = d * scale * ((low | (high << 4)) - 32);
      }
    }
  }
};

export const LARGE_BLOCKS: Readonly<
  Record<Extract<TensorTypeName, "Q4_K" | "Q5_K" | "Q6_K">, Dequantise>
> = { Q4_K: scaledParts(false), Q5_K: scaledParts(true), Q6_K: q6k };
