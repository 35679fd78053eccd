/**
 * @file Sharded vectors as whole tensors, one unit at a time, for files: the first rank asks for what it writes
 * next, the others give their parts until it is done.
 */
import { keep, type ProcessGroup, type Tensor, tidy } from "../../torch/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { separate } from "../decoder/layout.ts";
import type { LaterTensor } from "../safetensors/writer.ts";
import type { Unit } from "./layout.ts";

/** Gives a whole vector [padded] by its name. It is the caller's until the next one is asked for. */
export type FetchVector = (name: string) => Tensor;

/**
 * Runs `lead` on the group's first rank, which may fetch any of the vectors; all others take part. `parts`
 * have the same names and sizes on all ranks.
 */
export function gatherVectors(
  group: ProcessGroup,
  parts: ReadonlyMap<string, Tensor>,
  lead: (fetch: FetchVector) => void,
): void {
  const gathered = (name: string): Tensor => {
    const part = parts.get(name);
    if (!part) throw new Error(`there is no sharded vector ${name}`);
    return tidy(() => group.allGather(part.detach()).view([-1]));
  };
  if (group.rank !== 0) {
    for (;;) {
      const name = group.broadcastObject<string | null>(null);
      if (name === null) return;
      gathered(name).dispose();
    }
  }
  let last: { name: string; whole: Tensor } | undefined;
  try {
    lead((name) => {
      if (last?.name === name) return last.whole;
      last?.whole.dispose();
      last = undefined;
      group.broadcastObject<string | null>(name);
      last = { name, whole: keep(gathered(name)) };
      return last.whole;
    });
  } finally {
    last?.whole.dispose();
    group.broadcastObject<string | null>(null);
  }
}

/** A unit's tensors as views of its vector, by the names that they have in memory. */
export function piecesOf(unit: Unit, flat: Tensor): Map<string, Tensor> {
  return new Map(
    unit.pieces.map(({ name, shape, start, numel }) => [
      name,
      flat.narrow(0, start, numel).view(shape),
    ]),
  );
}

/**
 * Tensors that are fetched when they are written, by transformers' names. `vector`: the name of a unit's
 * vector; `change`: what is done to a unit's tensors before they are written (an adapter's part).
 */
export function wholeTensors(
  config: ModelConfig,
  units: readonly Unit[],
  fetch: FetchVector,
  shards: ReadonlyMap<string, Tensor>,
  change?: (weights: ReadonlyMap<string, Tensor>) => void,
): Map<string, LaterTensor> {
  const later = new Map<string, LaterTensor>();
  for (const unit of units) {
    const { dtype } = shards.get(unit.name)!;
    for (const { parts } of unit.pieces)
      for (const { name, shape } of parts)
        later.set(
          name,
          laterTensor(shape, dtype, () =>
            tidy(() => {
              const pieces = piecesOf(unit, fetch(unit.name));
              const own = separate(config, pieces).get(name)!;
              if (!change) return own;
              const copy = own.clone();
              change(new Map([[name, copy]]));
              return copy;
            }),
          ),
        );
  }
  return later;
}

export function laterTensor(
  shape: readonly number[],
  dtype: Tensor["dtype"],
  load: () => Tensor,
): LaterTensor {
  const numel = shape.reduce((product, size) => product * size, 1);
  const bytes = { float64: 8, float32: 4, bfloat16: 2, float16: 2 }[dtype as "float32"];
  return { dtype, shape, numel, byteLength: numel * bytes, load };
}
