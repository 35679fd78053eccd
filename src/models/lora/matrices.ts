/**
 * @file The small matrices of an adapter, and where they belong in a model's joined ones.
 *
 * A target with the weight W [out, in] gets A [rank, in] and B [out, rank]; it then computes
 * x Wᵀ + scale · (x Aᵀ) Bᵀ. B begins as zeros: a new adapter changes nothing.
 */
import {
  type Device,
  type Dtype,
  type Generator,
  keep,
  rand,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { layoutOf } from "../decoder/layout.ts";
import type { LoraSettings, LoraTarget } from "./options.ts";

/** Rows of a matrix in memory that are one of transformers' matrices. */
export interface LoraPart {
  /** transformers' name without ".weight": "model.layers.0.self_attn.q_proj". */
  name: string;
  rows: number;
  columns: number;
  /** Whether it gets an adapter. */
  adapted: boolean;
}

/** The parts of each matrix in memory ("model.layers.0.self_attn.qkv_proj") with an adapted part. */
export function loraParts(
  config: ModelConfig,
  targets: readonly LoraTarget[],
): Map<string, LoraPart[]> {
  const found = new Map<string, LoraPart[]>();
  for (const { name, parts } of layoutOf(config)) {
    if (!name.startsWith("model.layers.") || !name.endsWith("_proj.weight")) continue;
    const listed = parts.map(({ name, shape }) => ({
      name: name.slice(0, -".weight".length),
      rows: shape[0]!,
      columns: shape[1]!,
      adapted: targets.some((target) => name.endsWith(`.${target}.weight`)),
    }));
    if (listed.some(({ adapted }) => adapted)) found.set(name.slice(0, -".weight".length), listed);
  }
  return found;
}

/** Names and shapes of all small matrices, in the model's order. */
export function loraShapes(
  config: ModelConfig,
  { targets, rank }: LoraSettings,
): Map<string, number[]> {
  const shapes = new Map<string, number[]>();
  for (const parts of loraParts(config, targets).values())
    for (const { name, rows, columns, adapted } of parts) {
      if (!adapted) continue;
      shapes.set(`${name}.lora_A.weight`, [rank, columns]);
      shapes.set(`${name}.lora_B.weight`, [rows, rank]);
    }
  return shapes;
}

/** Throws for a rank that is larger than any rank that a product of the matrices could have. */
function requireRank(config: ModelConfig, { targets, rank }: LoraSettings): void {
  const parts = [...loraParts(config, targets).values()].flat().filter(({ adapted }) => adapted);
  const most = Math.max(...parts.map(({ rows, columns }) => Math.min(rows, columns)));
  if (rank > most)
    throw new RangeError(
      `LoRA: the rank is ${rank}, expected at most ${most}: the matrices of this model have no more rows or ` +
        "columns, and an adapter of that size would be larger than they are. 8 to 64 are usual",
    );
}

/** New small matrices as PEFT makes them: A uniform within ± 1 / √in, B zeros. */
export function newLoraMatrices(
  config: ModelConfig,
  settings: LoraSettings,
  generator: Generator,
  { dtype, device }: { dtype: Dtype; device: Device },
): Map<string, Tensor> {
  requireRank(config, settings);
  const matrices = new Map<string, Tensor>();
  for (const [name, shape] of loraShapes(config, settings)) {
    const bound = 1 / Math.sqrt(shape[1]!);
    const make = (): Tensor =>
      name.endsWith(".lora_A.weight")
        ? rand(shape, generator)
            .mul_(2 * bound)
            .sub_(bound)
            .toDevice(device, dtype)
        : zeros(shape, { dtype, device });
    matrices.set(name, keep(tidy(make)));
  }
  return matrices;
}
