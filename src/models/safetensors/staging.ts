/**
 * @file Tensor data between files and memory in small portions.
 *
 * Mapped pages count as memory of the process for as long as the map lives, so converting a model
 * through a map would hold file and result at once. Here a fixed buffer is all that exists besides
 * the tensor itself.
 */
import { readSync, writeSync } from "node:fs";
import { type Dtype, empty, noGrad, shareMemory, type Tensor, tidy } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { bytesPerElement } from "./dtypes.ts";

/** Large enough for full disk speed, small beside any model. */
const PORTION_BYTES = 16 * 1024 * 1024;

let buffer: Uint8Array<ArrayBuffer> | undefined;

function portionBuffer(): Uint8Array<ArrayBuffer> {
  buffer ??= new Uint8Array(PORTION_BYTES);
  return buffer;
}

/** The first elements of the buffer as a tensor. */
function portionView(bytes: Uint8Array<ArrayBuffer>, count: number, dtype: Dtype): Tensor {
  return shareMemory(bytes.subarray(0, count * bytesPerElement(dtype)), [count], dtype);
}

/** Reads exactly `length` bytes of a file into the start of an array. */
export function readExactly(
  descriptor: number,
  into: Uint8Array,
  length: number,
  position: number,
  file: string,
): void {
  let done = 0;
  while (done < length) {
    const count = readSync(descriptor, into, done, length - done, position + done);
    if (count === 0)
      throw new ModelFileError(file, `ended at byte ${position + done} while it was being read`);
    done += count;
  }
}

export function writeExactly(descriptor: number, bytes: Uint8Array, length: number): void {
  let done = 0;
  while (done < length) done += writeSync(descriptor, bytes, done, length - done);
}

/** Calls `body` with consecutive ranges of elements, each as large as the buffer allows. */
function forPortions(
  elements: number,
  elementBytes: number,
  body: (start: number, count: number) => void,
): void {
  const most = Math.floor(PORTION_BYTES / elementBytes);
  for (let start = 0; start < elements; start += most)
    body(start, Math.min(most, elements - start));
}

export interface StoredTensor {
  dtype: Dtype;
  shape: readonly number[];
  offset: number;
}

/** A new tensor with a file's values, converted on the way where another dtype is wanted. */
export function readTensor(
  descriptor: number,
  stored: StoredTensor,
  dtype: Dtype,
  file: string,
): Tensor {
  const bytes = portionBuffer();
  const elementBytes = bytesPerElement(stored.dtype);
  return tidy(() =>
    noGrad(() => {
      const result = empty(stored.shape, { dtype });
      const flat = result.view([-1]);
      forPortions(result.numel, elementBytes, (start, count) =>
        tidy(() => {
          const position = stored.offset + start * elementBytes;
          readExactly(descriptor, bytes, count * elementBytes, position, file);
          flat.narrow(0, start, count).copy_(portionView(bytes, count, stored.dtype));
        }),
      );
      return result;
    }),
  );
}

/** Appends a tensor's values to a file, converted on the way where another dtype is wanted. */
export function writeTensor(descriptor: number, tensor: Tensor, dtype: Dtype): void {
  const bytes = portionBuffer();
  const elementBytes = bytesPerElement(dtype);
  tidy(() =>
    noGrad(() => {
      const flat = tensor.detach().reshape([-1]);
      forPortions(flat.numel, elementBytes, (start, count) => {
        tidy(() => portionView(bytes, count, dtype).copy_(flat.narrow(0, start, count)));
        writeExactly(descriptor, bytes, count * elementBytes);
      });
    }),
  );
}
