/**
 * @file Writes safetensors files: the same bytes as the reference writer for the same tensors.
 */
import { writeDurably } from "../../folders/index.ts";
import { type Dtype, type Tensor, tidy } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { bytesPerElement, formatName, formatRank } from "./dtypes.ts";
import { LENGTH_BYTES, MAXIMUM_HEADER_BYTES } from "./header.ts";
import { writeExactly, writeTensor } from "./staging.ts";

export interface WriteOptions {
  /** Dtype on disk of floating-point tensors. Default: each tensor's own. */
  dtype?: Dtype;
  /** Default: `{ format: "pt" }`, which transformers asks for. */
  metadata?: Readonly<Record<string, string>>;
}

/** A tensor that is made only when it is written, and let go then: a model need not be in memory as a whole. */
export interface LaterTensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly numel: number;
  readonly byteLength: number;
  /** The tensor itself, in a scope of the writer's. */
  load(): Tensor;
}

/** A tensor with its name and its dtype on disk. */
export interface NamedTensor {
  name: string;
  tensor: Tensor | LaterTensor;
  dtype: Dtype;
  byteLength: number;
}

const FLOATING: readonly Dtype[] = ["float64", "float32", "bfloat16", "float16"];

/** What each tensor becomes on disk. */
export function planTensors(
  tensors: Iterable<readonly [string, Tensor | LaterTensor]>,
  dtype: Dtype | undefined,
): NamedTensor[] {
  return [...tensors].map(([name, tensor]) => {
    const own = tensor.dtype;
    const stored = dtype !== undefined && FLOATING.includes(own) ? dtype : own;
    return { name, tensor, dtype: stored, byteLength: tensor.numel * bytesPerElement(stored) };
  });
}

/**
 * Writes tensors to one file: whole or not at all, values in small portions, so that nothing is in
 * memory twice. The bytes depend on names and values only.
 */
export function writeSafetensors(
  path: string,
  tensors: Iterable<readonly [string, Tensor | LaterTensor]>,
  options: WriteOptions = {},
): void {
  writePlanned(path, planTensors(tensors, options.dtype), options.metadata);
}

export function writePlanned(
  path: string,
  tensors: readonly NamedTensor[],
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): void {
  // The reference's order: large elements first, so that all are aligned, then by the names' bytes.
  const ordered = [...tensors].sort(
    (a, b) =>
      formatRank(b.dtype) - formatRank(a.dtype) ||
      Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)),
  );
  const header = encodeHeader(path, ordered, metadata);
  writeDurably(path, (descriptor) => {
    writeExactly(descriptor, header, header.length);
    for (const { tensor, dtype } of ordered)
      tidy(() => writeTensor(descriptor, "load" in tensor ? tensor.load() : tensor, dtype));
  });
}

function encodeHeader(
  path: string,
  ordered: readonly NamedTensor[],
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const parts = Object.keys(metadata).length > 0 ? [`"__metadata__":${sorted(metadata)}`] : [];
  const names = new Set<string>(["__metadata__"]);
  let position = 0;
  for (const { name, tensor, dtype, byteLength } of ordered) {
    if (names.has(name)) throw new ModelFileError(path, `cannot write a second tensor ${name}`);
    names.add(name);
    const info = {
      dtype: formatName(dtype),
      shape: tensor.shape,
      data_offsets: [position, position + byteLength],
    };
    parts.push(`${JSON.stringify(name)}:${JSON.stringify(info)}`);
    position += byteLength;
  }
  const json = Buffer.from(`{${parts.join(",")}}`, "utf8");
  // Spaces up to a multiple of 8 keep the data aligned.
  const length = Math.ceil(json.length / LENGTH_BYTES) * LENGTH_BYTES;
  if (length > MAXIMUM_HEADER_BYTES)
    throw new ModelFileError(path, `cannot write a header of ${length} bytes: too many tensors`);
  const header = Buffer.alloc(LENGTH_BYTES + length, " ");
  header.writeBigUInt64LE(BigInt(length), 0);
  json.copy(header, LENGTH_BYTES);
  return header;
}

function sorted(metadata: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(metadata).sort()));
}
