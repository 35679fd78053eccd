/**
 * @file Writes GGUF files (version 3): whole or not at all, tensors one after the other, in portions.
 */
import { writeDurably } from "../../../folders/index.ts";
import { noGrad, shareMemory, type Tensor, tidy } from "../../../torch/index.ts";
import { writeExactly, writeTensor } from "../../safetensors/staging.ts";
import { DEFAULT_ALIGNMENT, MAGIC, padded } from "./header.ts";
import { quantiseQ8 } from "./quantise.ts";
import { TENSOR_TYPES, type TensorTypeName, VALUE } from "./types.ts";

/** A value of the metadata with its type in the file. */
export type Entry =
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "uint32" | "float32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "int32s" | "float32s"; readonly value: ArrayLike<number> };

export type WrittenType = Extract<TensorTypeName, "F32" | "F16" | "BF16" | "Q8_0">;

/** A tensor to be written; its values are asked for when it is its turn. */
export interface PlannedTensor {
  readonly name: string;
  readonly type: WrittenType;
  /** As torch has it. */
  readonly shape: readonly number[];
  /** In float32, in a scope of the writer's. */
  load(): Tensor;
}

export function writeGguf(
  path: string,
  metadata: ReadonlyMap<string, Entry>,
  tensors: readonly PlannedTensor[],
): void {
  const header = encodeHeader(metadata, tensors);
  writeDurably(path, (descriptor) => {
    writeExactly(descriptor, header, header.length);
    pad(descriptor, header.length);
    for (const tensor of tensors) {
      tidy(() => writeValues(descriptor, tensor));
      pad(descriptor, byteLength(tensor));
    }
  });
}

function byteLength({ type, shape }: PlannedTensor): number {
  const { blockElements, blockBytes } = TENSOR_TYPES[type];
  return (shape.reduce((product, size) => product * size, 1) / blockElements) * blockBytes;
}

/** Zeros up to the alignment. */
function pad(descriptor: number, length: number): void {
  const zeros = new Uint8Array(padded(length, DEFAULT_ALIGNMENT) - length);
  writeExactly(descriptor, zeros, zeros.length);
}

const DTYPES = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const;
/** Elements of a portion: whole blocks. */
const PORTION = 1 << 20;

function writeValues(descriptor: number, { type, load }: PlannedTensor): void {
  const tensor = load();
  if (type !== "Q8_0") {
    writeTensor(descriptor, tensor, DTYPES[type]);
    return;
  }
  const { blockElements, blockBytes } = TENSOR_TYPES[type];
  const flat = tensor.detach().reshape([-1]);
  const values = new Float32Array(Math.min(PORTION, flat.numel));
  const bytes = new Uint8Array((values.length / blockElements) * blockBytes);
  for (let start = 0; start < flat.numel; start += PORTION) {
    const count = Math.min(PORTION, flat.numel - start);
    const portion = values.subarray(0, count);
    tidy(() => noGrad(() => shareMemory(portion).copy_(flat.narrow(0, start, count))));
    quantiseQ8(portion, bytes);
    writeExactly(descriptor, bytes, (count / blockElements) * blockBytes);
  }
}

function encodeHeader(
  metadata: ReadonlyMap<string, Entry>,
  tensors: readonly PlannedTensor[],
): Buffer {
  const parts: Uint8Array[] = [
    uint32(MAGIC),
    uint32(3),
    uint64(tensors.length),
    uint64(metadata.size),
  ];
  for (const [key, entry] of metadata) parts.push(...text(key), ...encodeEntry(entry));
  let offset = 0;
  for (const tensor of tensors) {
    const { name, shape, type } = tensor;
    parts.push(...text(name), uint32(shape.length));
    parts.push(...[...shape].reverse().map(uint64), uint32(TENSOR_TYPES[type].id), uint64(offset));
    offset = padded(offset + byteLength(tensor), DEFAULT_ALIGNMENT);
  }
  return Buffer.concat(parts);
}

function encodeEntry({ type, value }: Entry): Uint8Array[] {
  switch (type) {
    case "string":
      return [uint32(VALUE.string), ...text(value)];
    case "uint32":
      return [uint32(VALUE.uint32), uint32(value)];
    case "float32":
      return [uint32(VALUE.float32), numbers(Float32Array.of(value))];
    case "bool":
      return [uint32(VALUE.bool), Uint8Array.of(value ? 1 : 0)];
    case "strings":
      return [...list(VALUE.string, value.length), Buffer.concat(value.flatMap(text))];
    case "int32s":
      return [...list(VALUE.int32, value.length), numbers(Int32Array.from(value))];
    case "float32s":
      return [...list(VALUE.float32, value.length), numbers(Float32Array.from(value))];
  }
}

function list(type: number, length: number): Uint8Array[] {
  return [uint32(VALUE.array), uint32(type), uint64(length)];
}

function text(value: string): Uint8Array[] {
  const bytes = Buffer.from(value, "utf8");
  return [uint64(bytes.length), bytes];
}

/** The machines that libtorch runs on have the least significant byte first, as the format does. */
function numbers(values: Float32Array | Int32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
