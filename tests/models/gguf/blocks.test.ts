/**
 * @file Blocks of every type, to numbers and back: bit for bit what the gguf package makes of them
 * (blocks.reference.json, written by tools/interop/python/gguf_blocks.py).
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DEQUANTISE } from "../../../src/models/gguf/format/dequantise.ts";
import { halfBits, halfValues } from "../../../src/models/gguf/format/half.ts";
import { quantiseQ8 } from "../../../src/models/gguf/format/quantise.ts";
import { TENSOR_TYPES, type TensorTypeName } from "../../../src/models/gguf/format/types.ts";

interface Reference {
  readonly types: Readonly<Record<TensorTypeName, { blocks: string; values: string }>>;
  readonly quantised: { readonly values: string; readonly Q8_0: string };
  readonly halves: { readonly values: string; readonly bits: string };
}

const reference = JSON.parse(
  readFileSync(new URL("./blocks.reference.json", import.meta.url), "utf8"),
) as Reference;

/** Copied, so that it is aligned. */
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
const floatsOf = (text: string): Float32Array =>
  new Float32Array(bytesOf(text).buffer as ArrayBuffer);

describe("blocks to numbers", () => {
  const names = Object.keys(TENSOR_TYPES) as TensorTypeName[];

  it.each(names)("%s", (name) => {
    const { blocks, values } = reference.types[name];
    const bytes = bytesOf(blocks);
    const { blockBytes, blockElements } = TENSOR_TYPES[name];
    const found = new Float32Array((bytes.length / blockBytes) * blockElements);
    DEQUANTISE[name](bytes, found);
    // As bits: −0 is not 0.
    expect(Buffer.from(found.buffer).toString("base64")).toBe(values);
  });

  it.each(names)("%s into a part of a longer array", (name) => {
    const { blocks, values } = reference.types[name];
    const expected = floatsOf(values);
    const longer = new Float32Array(expected.length + 6).fill(7);
    DEQUANTISE[name](bytesOf(blocks), longer.subarray(3, 3 + expected.length));
    expect([...longer]).toEqual([7, 7, 7, ...expected, 7, 7, 7]);
  });
});

describe("numbers to blocks", () => {
  it("Q8_0", () => {
    const values = floatsOf(reference.quantised.values);
    const bytes = new Uint8Array((values.length / 32) * 34);
    quantiseQ8(values, bytes);
    expect(Buffer.from(bytes).toString("base64")).toBe(reference.quantised.Q8_0);
  });

  it("16 bits", () => {
    const bits = new Uint16Array(bytesOf(reference.halves.bits).buffer as ArrayBuffer);
    const found = [...floatsOf(reference.halves.values)].map(halfBits);
    expect(found).toEqual([...bits]);
  });

  it("16 bits and back, for all that are numbers", () => {
    const wrong = [...halfValues()].flatMap((value, bits) =>
      Number.isFinite(value) && halfBits(value) !== bits ? [bits] : [],
    );
    expect(wrong).toEqual([]);
  });
});
