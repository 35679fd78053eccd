/**
 * @file Numbers of 32 bits to blocks of Q8_0, bit for bit as the gguf package does it: every step is rounded
 * to 32 bits where its arrays are, and halves go away from zero.
 */
import { halfBits } from "./half.ts";
import { TENSOR_TYPES } from "./types.ts";

const { blockElements, blockBytes } = TENSOR_TYPES.Q8_0;
const round = Math.fround;

/** `values`: whole blocks. `bytes` has room for them. */
export function quantiseQ8(values: Float32Array, bytes: Uint8Array): void {
  for (let from = 0, to = 0; from < values.length; from += blockElements, to += blockBytes) {
    let most = 0;
    for (let i = 0; i < blockElements; i++) most = Math.max(most, Math.abs(values[from + i]!));
    const scale = round(most / 127);
    const inverse = scale === 0 ? 0 : round(1 / scale);
    const bits = halfBits(scale);
    bytes[to] = bits & 255;
    bytes[to + 1] = bits >> 8;
    for (let i = 0; i < blockElements; i++) {
      const steps = round(values[from + i]! * inverse);
      const size = Math.abs(steps);
      const rounded = Math.floor(size) + (size - Math.floor(size) >= 0.5 ? 1 : 0);
      // A byte has no sign: 256 − n is −n.
      bytes[to + 2 + i] = steps < 0 ? -rounded : rounded;
    }
  }
}
