/**
 * @file The names of tensors: llama.cpp's, and those of transformers. The same matrices, but that llama.cpp's
 * Llama turns pairs of neighbours (x₀, x₁), (x₂, x₃) … of a head, where transformers turns x₀ with the first
 * of the head's second half, and so on: rows of q and k are in another order there.
 */
import type { Tensor } from "../../torch/index.ts";
import type { Family, ModelConfig } from "../config/model-config.ts";

/** What both families of names have outside of the layers. */
const OUTER: Readonly<Record<string, string>> = {
  "model.embed_tokens.weight": "token_embd.weight",
  "model.norm.weight": "output_norm.weight",
  "lm_head.weight": "output.weight",
};

const LAYER: Readonly<Record<string, string>> = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
  input_layernorm: "attn_norm",
  post_attention_layernorm: "ffn_norm",
};

/** Divisors of the rotary embedding's frequencies; no weight. */
export const ROPE_FACTORS = "rope_freqs.weight";

/** llama.cpp's name for a tensor of transformers. */
export function ggufName(name: string): string {
  const outer = OUTER[name];
  if (outer !== undefined) return outer;
  const [, layer, part, kind] = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  const own = part === undefined ? undefined : LAYER[part];
  if (own === undefined) throw new Error(`there is no GGUF name for the tensor ${name}`);
  return `blk.${layer}.${own}.${kind}`;
}

/** llama.cpp's name of the architecture of each family that goes there. Mistral is a Llama there. */
export const ARCHITECTURE: Readonly<Partial<Record<Family, string>>> = {
  llama: "llama",
  mistral: "llama",
  qwen2: "qwen2",
  qwen3: "qwen3",
};

/** How many heads the rows of a tensor are, if llama.cpp has them in its own order; else undefined. */
export function reorderedHeads(name: string, config: ModelConfig): number | undefined {
  if (ARCHITECTURE[config.family] !== "llama") return undefined;
  if (/\.q_proj\.(weight|bias)$/.test(name)) return config.heads;
  if (/\.k_proj\.(weight|bias)$/.test(name)) return config.keyValueHeads;
  return undefined;
}

/** Rows of heads from llama.cpp's order (pairs of neighbours) to transformers' (two halves). */
export function neighboursToHalves(tensor: Tensor, heads: number): Tensor {
  return regrouped(tensor, [heads, tensor.shape[0]! / heads / 2, 2]);
}

/** And back. */
export function halvesToNeighbours(tensor: Tensor, heads: number): Tensor {
  return regrouped(tensor, [heads, 2, tensor.shape[0]! / heads / 2]);
}

/** Exchanges the two inner groups of rows. */
function regrouped(tensor: Tensor, groups: readonly number[]): Tensor {
  const { shape } = tensor;
  return tensor
    .view([...groups, ...shape.slice(1)])
    .transpose(1, 2)
    .reshape(shape);
}
