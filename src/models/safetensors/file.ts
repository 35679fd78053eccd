/**
 * @file One safetensors file, opened: its tensors without copies where possible.
 */
import { closeSync, fstatSync, openSync, statSync } from "node:fs";
import { type Dtype, keep, mapFile, noGrad, type Tensor, tidy } from "../../torch/index.ts";
import { ModelFileError, messageOf } from "../checkpoint/errors.ts";
import { bytesPerElement } from "./dtypes.ts";
import { requireFinite } from "./finite.ts";
import {
  type Header,
  headerLength,
  LENGTH_BYTES,
  parseHeader,
  type TensorEntry,
} from "./header.ts";
import { readExactly, readTensor } from "./staging.ts";

export interface LoadOptions {
  /** Default: the file's own. */
  dtype?: Dtype;
  /**
   * Always memory of its own. The default is a view of the mapped file where the dtype is the file's
   * and the data is aligned: nothing is read until used, and writes stay in this process.
   */
  copy?: boolean;
  /** Not a number or infinite: an error that names the tensor. */
  checkFinite?: boolean;
}

/** An open safetensors file. Loaded tensors outlive `close`. */
export interface SafetensorsFile {
  readonly path: string;
  /** By name, in the order of the data. */
  readonly tensors: ReadonlyMap<string, TensorEntry>;
  readonly metadata: Readonly<Record<string, string>>;
  load(name: string, options?: LoadOptions): Tensor;
  /** `count` of a tensor's numbers, from number `start` on as they lie in the file: [count], a copy. */
  loadRange(name: string, start: number, count: number, options?: { dtype?: Dtype }): Tensor;
  close(): void;
}

/** Opens and validates a file; a corrupt one is refused with its name and the reason. */
export function openSafetensors(path: string): SafetensorsFile {
  const descriptor = openForReading(path);
  try {
    const { size } = fstatSync(descriptor);
    const header = readHeader(descriptor, size, path);
    return openedFile(path, descriptor, size, header);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Looks before it opens: opening a pipe would wait for ever. */
export function openForReading(path: string): number {
  try {
    if (!statSync(path).isFile()) throw new Error("is not a regular file");
    return openSync(path, "r");
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const reason = missing ? "the file does not exist" : messageOf(error);
    throw new ModelFileError(path, reason, { cause: error });
  }
}

function readHeader(descriptor: number, size: number, path: string): Header {
  const prefix = new Uint8Array(Math.min(LENGTH_BYTES, size));
  readExactly(descriptor, prefix, prefix.length, 0, path);
  const bytes = new Uint8Array(headerLength(prefix, size, path));
  readExactly(descriptor, bytes, bytes.length, LENGTH_BYTES, path);
  return parseHeader(bytes, size, path);
}

function openedFile(
  path: string,
  descriptor: number,
  size: number,
  { tensors, metadata }: Header,
): SafetensorsFile {
  let open = true;
  let map: Tensor | undefined;

  /** The whole file, mapped when the first view of it is wanted. */
  const mapped = (): Tensor => {
    if (map) return map;
    const bytes = keep(mapFile(samePath(path, descriptor)));
    if (bytes.numel !== size) {
      const length = bytes.numel;
      bytes.dispose();
      throw new ModelFileError(path, `had ${size} bytes when opened and has ${length} now`);
    }
    map = bytes;
    return bytes;
  };

  const entryOf = (name: string): TensorEntry => {
    if (!open) throw new ModelFileError(path, `cannot load ${name}: the file was closed`);
    const entry = tensors.get(name);
    if (!entry) throw new ModelFileError(path, `has no tensor ${JSON.stringify(name)}`);
    return entry;
  };

  const loadRange = (
    name: string,
    start: number,
    count: number,
    options: { dtype?: Dtype } = {},
  ): Tensor => {
    const entry = entryOf(name);
    const numel = entry.byteLength / bytesPerElement(entry.dtype);
    if (!(start >= 0 && count >= 0 && start + count <= numel))
      throw new RangeError(`${name} has ${numel} numbers; asked for ${count} from ${start} on`);
    const offset = entry.offset + start * bytesPerElement(entry.dtype);
    const range = { dtype: entry.dtype, shape: [count], offset };
    return readTensor(descriptor, range, options.dtype ?? entry.dtype, path);
  };

  const load = (name: string, options: LoadOptions = {}): Tensor => {
    const entry = entryOf(name);
    const { dtype = entry.dtype, copy = false, checkFinite = false } = options;
    const shareable =
      !copy &&
      dtype === entry.dtype &&
      entry.offset % bytesPerElement(dtype) === 0 &&
      entry.byteLength > 0;
    return tidy(() => {
      const tensor = shareable
        ? viewOf(mapped(), entry)
        : readTensor(descriptor, entry, dtype, path);
      if (checkFinite) requireFinite(tensor, name, path);
      return tensor;
    });
  };

  const close = (): void => {
    if (!open) return;
    open = false;
    closeSync(descriptor);
    map?.dispose();
    map = undefined;
  };

  return { path, tensors, metadata, load, loadRange, close };
}

/** A path to the very file that was validated, even if another one has taken its name since. */
function samePath(path: string, descriptor: number): string {
  return process.platform === "linux" ? `/proc/self/fd/${descriptor}` : path;
}

function viewOf(map: Tensor, { dtype, shape, offset, byteLength }: TensorEntry): Tensor {
  return noGrad(() => map.narrow(0, offset, byteLength).viewAs(dtype).view(shape));
}
