/**
 * @file How weights lie in memory: transformers' tensors, some of them joined.
 *
 * The projections that read the same input (q, k and v; gate and up) are one matrix here: one product
 * instead of three is faster, most of all for the few rows of a generation step. Files keep
 * transformers' names; `separate` gives them as views of the joined tensors, without a copy.
 */
import type { Tensor } from "../../torch/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { parameterShapes } from "../config/parameters.ts";

/** One tensor in memory and the tensors of a file that it consists of, along the first dimension. */
export interface Piece {
  name: string;
  shape: readonly number[];
  parts: readonly { name: string; shape: readonly number[] }[];
}

const JOINED: readonly [parts: RegExp, joined: string][] = [
  [/\.self_attn\.(?:q_proj|k_proj|v_proj)\./, ".self_attn.qkv_proj."],
  [/\.mlp\.(?:gate_proj|up_proj)\./, ".mlp.gate_up_proj."],
];

function joinedName(name: string): string {
  for (const [parts, joined] of JOINED) if (parts.test(name)) return name.replace(parts, joined);
  return name;
}

/** The tensors of a model in memory, in the order of transformers' own list. */
export function layoutOf(config: ModelConfig): Piece[] {
  const pieces = new Map<
    string,
    { name: string; shape: number[]; parts: Piece["parts"][number][] }
  >();
  for (const [name, shape] of parameterShapes(config)) {
    const joined = joinedName(name);
    const piece = pieces.get(joined);
    if (piece) {
      piece.shape[0]! += shape[0]!;
      piece.parts.push({ name, shape });
    } else {
      pieces.set(joined, { name: joined, shape: [...shape], parts: [{ name, shape }] });
    }
  }
  return [...pieces.values()];
}

/** Views with transformers' names of tensors that lie as in memory (weights, or their gradients). */
export function separate(
  config: ModelConfig,
  tensors: ReadonlyMap<string, Tensor>,
): Map<string, Tensor> {
  const views = new Map<string, Tensor>();
  for (const { name, parts } of layoutOf(config)) {
    const tensor = tensors.get(name);
    if (!tensor) continue;
    let start = 0;
    for (const part of parts) {
      const rows = part.shape[0]!;
      views.set(part.name, parts.length === 1 ? tensor : tensor.narrow(0, start, rows));
      start += rows;
    }
  }
  return views;
}
