/**
 * @file The weights of a sharded model while it computes: fetched unit by unit before they are used, let go
 * after, their gradients reduced to each rank's part.
 *
 *   pass begins      root is gathered
 *   forward of i     layer i is gathered (begun while i − 1 was computed), dropped after; the last one stays
 *   backward of i    gathered again (begun while i + 1 went back); its gradients are reduced and scattered
 *                    while i − 1 goes back; dropped
 *   pass ends        root's gradients are reduced and scattered; root is dropped
 *
 * All ranks of the group must begin the same operations in the same order. So a pass that ends early (a loss
 * that is no number) makes up for what it left out with gradients of zeros.
 */
import {
  type Dtype,
  type Hold,
  keep,
  type PendingTensor,
  type ProcessGroup,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import type { WeightUnits } from "../decoder/model.ts";
import type { Unit } from "./layout.ts";

export interface UnitOptions {
  /** The dtype that is gathered and computed with. */
  readonly dtype: Dtype;
  /** Frozen weights get no gradients. */
  readonly frozen: boolean;
  /** The next layer is gathered while one is computed. */
  readonly prefetch: boolean;
  /** Layers are dropped after their forward; otherwise they stay until their backward. */
  readonly reshard: boolean;
}

/** A unit that is here as a whole. */
interface Present {
  /** [padded] */
  readonly flat: Tensor;
  views: Tensor[];
  /** [padded] Where the views' gradients are added up. */
  gradient: Tensor | null;
}

interface Pass {
  readonly records: boolean;
  /** The layers whose turn it is next. */
  forward: number;
  backward: number;
}

export interface ShardedUnits extends WeightUnits {
  /** The tensors that are here, by name. */
  readonly present: ReadonlyMap<string, Tensor>;
  isHere(unit: string): boolean;
}

/** `units`: the root first. `shards` [part] by unit; gradients are added to their `grad`. */
export function shardedUnits(
  units: readonly Unit[],
  shards: ReadonlyMap<string, Tensor>,
  group: ProcessGroup,
  { dtype, frozen, prefetch, reshard }: UnitOptions,
): ShardedUnits {
  const [root, ...layers] = units as [Unit, ...Unit[]];
  const present = new Map<string, Tensor>();
  const here = new Map<Unit, Present>();
  const coming = new Map<Unit, PendingTensor>();
  let scattering: { unit: Unit; part: PendingTensor } | undefined;
  let pass: Pass | undefined;

  /** Begins to gather a unit. */
  function begin(unit: Unit): void {
    if (here.has(unit) || coming.has(unit)) return;
    tidy(() => {
      coming.set(unit, group.startAllGather(shards.get(unit.name)!.detach().to(dtype)));
    });
  }

  /** Makes a unit's tensors; with places for their gradients, where they will get some. */
  function fetch(unit: Unit, learns: boolean): void {
    begin(unit);
    const flat = here.get(unit)?.flat ?? tidy(() => keep(coming.get(unit)!.wait().view([-1])));
    coming.delete(unit);
    for (const view of here.get(unit)?.views ?? []) view.dispose();
    const gradient = learns ? keep(zeros([flat.numel], { dtype })) : null;
    const views = unit.pieces.map(({ name, shape, start, numel }) =>
      tidy(() => {
        const part = (of: Tensor) => of.narrow(0, start, numel).view(shape).detach();
        const view = keep(part(flat));
        if (gradient) {
          view.requiresGrad_();
          // Backward adds to what is there: all gradients of the unit come to lie in one vector.
          view.grad = part(gradient);
        }
        present.set(name, view);
        return view;
      }),
    );
    here.set(unit, { flat, views, gradient });
  }

  function drop(unit: Unit): void {
    const own = here.get(unit);
    if (!own) return;
    here.delete(unit);
    for (const { name } of unit.pieces) present.delete(name);
    for (const tensor of [...own.views, own.flat, ...(own.gradient ? [own.gradient] : [])])
      tensor.dispose();
  }

  /** Begins to reduce a unit's gradients; those of the one before are there by then, mostly. */
  function scatter(unit: Unit): void {
    const gradient = here.get(unit)?.gradient;
    if (!gradient) return;
    const wide = shards.get(unit.name)!.dtype;
    const part = tidy(() => group.startReduceScatter(gradient.to(wide)));
    settle();
    scattering = { unit, part };
  }

  /** Adds the reduced gradients that are on their way to their shard's. */
  function settle(): void {
    if (!scattering) return;
    const { unit, part } = scattering;
    scattering = undefined;
    tidy(() => {
      const shard = shards.get(unit.name)!;
      const gradient = part.wait();
      if (shard.grad === null) shard.grad = gradient;
      else shard.grad.add_(gradient);
    });
  }

  function forward(index: number): () => void {
    const now = requirePass();
    if (index !== now.forward)
      throw new Error(
        `a sharded model's layer ${index} is asked for when it is the turn of ${now.forward}: a pass has ` +
          "one forward, layer by layer",
      );
    now.forward++;
    const unit = layers[index]!;
    fetch(unit, false);
    if (prefetch && index + 1 < layers.length) begin(layers[index + 1]!);
    const stays = now.records && (!reshard || index === layers.length - 1);
    return () => {
      if (!stays) drop(unit);
    };
  }

  function backward(index: number): () => void {
    const now = requirePass();
    if (index !== now.backward)
      throw new Error(
        `the gradient of a sharded model's layer ${index} comes when it is the turn of ${now.backward}: a ` +
          "pass has one backward",
      );
    now.backward--;
    const unit = layers[index]!;
    fetch(unit, !frozen);
    if (prefetch && index > 0) begin(layers[index - 1]!);
    return () => {
      scatter(unit);
      drop(unit);
    };
  }

  function requirePass(): Pass {
    if (!pass) throw new Error("a sharded model computes inside units.pass() only");
    return pass;
  }

  /** What the other ranks do in this pass and this one did not. */
  function complete(now: Pass): void {
    while (now.forward < layers.length) forward(now.forward)();
    if (now.records) while (now.backward >= 0) backward(now.backward)();
    scatter(root);
    settle();
  }

  return {
    dtype,
    present,
    isHere: (name) => [...here.keys()].some((unit) => unit.name === name),
    hold:
      (layer): Hold =>
      (direction) =>
        direction === "forward" ? forward(layer) : backward(layer),
    pass(records, body) {
      if (pass) throw new Error("a pass of a sharded model is going on already");
      const now: Pass = { records, forward: 0, backward: layers.length - 1 };
      pass = now;
      try {
        fetch(root, records && !frozen);
        if (prefetch) begin(layers[0]!);
        const result = body();
        complete(now);
        return result;
      } finally {
        // After an error the others are not waited for: this process ends, and they are told.
        pass = undefined;
        scattering = undefined;
        coming.clear();
        for (const unit of units) drop(unit);
      }
    },
    most: (passes) => Math.max(...group.allGatherObject(passes)),
  };
}
