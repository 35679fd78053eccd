/**
 * @file Offload on a CPU: weights and moments that lie in files instead of in memory. Files are mapped, so
 * they are tensors like others; what is not in use, the system writes back and takes out of memory when it
 * needs the room.
 *
 * A file has no name any more as soon as it is mapped: whatever ends the process, nothing is left behind.
 */
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Model, modelOf } from "../../models/index.ts";
import { type Dtype, keep, mapFile, noGrad, type Tensor, tidy } from "../../torch/index.ts";

/** Makes a tensor of zeros. */
export type Allocate = (shape: readonly number[], dtype: Dtype) => Tensor;

const BYTES: Partial<Record<Dtype, number>> = { float64: 8, float32: 4, bfloat16: 2, float16: 2 };
const PIECE = Buffer.alloc(2 ** 20);
let made = 0;

/** Tensors in files of a folder, which must be on a disk: in a folder of memory nothing is gained. */
export function inFiles(folder: string): Allocate {
  mkdirSync(folder, { recursive: true });
  return (shape, dtype) => {
    const bytes = shape.reduce((product, size) => product * size, BYTES[dtype]!);
    const file = join(folder, `.offload-${process.pid}-${made++}`);
    try {
      // Written, not only sized: a disk that is too small must say so now, not by killing the process.
      const descriptor = openSync(file, "wx");
      try {
        for (let left = bytes; left > 0; left -= PIECE.length)
          writeSync(descriptor, PIECE, 0, Math.min(left, PIECE.length));
      } finally {
        closeSync(descriptor);
      }
      return keep(tidy(() => mapFile(file, "shared").viewAs(dtype).view(shape)));
    } finally {
      rmSync(file, { force: true });
    }
  };
}

/** The same model with its weights there; the one given is freed. */
export function movedModel(model: Model, allocate: Allocate): Model {
  const tensors = new Map<string, Tensor>();
  for (const [name, parameter] of model.parameters) {
    const place = allocate(parameter.shape, parameter.dtype);
    noGrad(() => tidy(() => place.copy_(parameter)));
    tensors.set(name, place);
  }
  model.dispose();
  return modelOf(model.config, tensors, model.device);
}
