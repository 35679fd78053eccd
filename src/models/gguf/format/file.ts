/**
 * @file One GGUF file, opened: its metadata, and its tensors as torch's, read in portions.
 */
import { closeSync, fstatSync } from "node:fs";
import { type Dtype, empty, noGrad, shareMemory, type Tensor, tidy } from "../../../torch/index.ts";
import { ModelFileError } from "../../checkpoint/errors.ts";
import { openForReading } from "../../safetensors/file.ts";
import { requireFinite } from "../../safetensors/finite.ts";
import { readExactly } from "../../safetensors/staging.ts";
import { DEQUANTISE } from "./dequantise.ts";
import { type GgufHeader, type GgufTensor, readHeader } from "./header.ts";

export interface GgufFile extends GgufHeader {
  readonly path: string;
  /** A new tensor with finite values in the file's shape; anything else is an error with its name. */
  load(name: string, dtype: Dtype): Tensor;
  close(): void;
}

/** Opens and validates a file; a corrupt one is refused with its name and the reason. */
export function openGguf(path: string): GgufFile {
  const descriptor = openForReading(path);
  try {
    const header = readHeader(descriptor, fstatSync(descriptor).size, path);
    return {
      ...header,
      path,
      load(name, dtype) {
        const entry = header.tensors.get(name);
        if (!entry) throw new ModelFileError(path, `has no tensor ${JSON.stringify(name)}`);
        return tidy(() => {
          const tensor = readTensor(descriptor, entry, dtype, path);
          requireFinite(tensor, name, path);
          return tensor;
        });
      },
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Elements of a portion: whole blocks of every type; 8 MB of numbers. */
const PORTION = 1 << 21;

function readTensor(
  descriptor: number,
  { type, shape, elements, offset }: GgufTensor,
  dtype: Dtype,
  path: string,
): Tensor {
  const most = Math.min(PORTION, elements);
  const bytesOf = (count: number): number => (count / type.blockElements) * type.blockBytes;
  const bytes = new Uint8Array(bytesOf(most));
  const values = new Float32Array(most);
  return tidy(() =>
    noGrad(() => {
      const result = empty(shape, { dtype });
      const flat = result.view([-1]);
      for (let start = 0; start < elements; start += most) {
        const count = Math.min(most, elements - start);
        readExactly(descriptor, bytes, bytesOf(count), offset + bytesOf(start), path);
        const portion = values.subarray(0, count);
        DEQUANTISE[type.name](bytes, portion);
        tidy(() => flat.narrow(0, start, count).copy_(shareMemory(portion)));
      }
      return result;
    }),
  );
}
