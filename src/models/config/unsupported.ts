/**
 * @file Keys of config.json that would change the computation in a way we do not have.
 *
 * The supported classes of transformers read a fixed set of keys; whatever else a file carries
 * (generation defaults, training notes) cannot change their results and is not looked at. The keys
 * here either are read by those classes, or are the mark of another model under a borrowed name.
 */
import { type Fields, show } from "./fields.ts";

interface Rule {
  key: string;
  allowed: (value: unknown) => boolean;
  why: string;
}

const off = (value: unknown): boolean => value === false || value === 0;
const empty = (value: unknown): boolean =>
  off(value) || (typeof value === "object" && Object.keys(value as object).length === 0);

const RULES: readonly Rule[] = [
  {
    key: "hidden_act",
    allowed: (value) => value === "silu",
    why: "only the activation silu is supported",
  },
  {
    key: "hidden_activation",
    allowed: (value) => value === "silu",
    why: "only the activation silu is supported",
  },
  {
    key: "quantization_config",
    allowed: empty,
    why: "quantised weights are not supported; use the full-precision checkpoint",
  },
  {
    key: "auto_map",
    allowed: empty,
    why: "the model brings its own Python code, which cannot run here",
  },
  { key: "mlp_bias", allowed: off, why: "a bias in the feed-forward layers is not supported" },
  { key: "is_encoder_decoder", allowed: off, why: "only decoders are supported" },
  { key: "add_cross_attention", allowed: off, why: "cross attention is not supported" },
  { key: "pruned_heads", allowed: empty, why: "pruned heads are not supported" },
  {
    key: "position_embedding_type",
    allowed: (value) => value === "rope" || value === "absolute",
    why: "only rotary positions are supported",
  },
  ...["final_logit_softcapping", "attn_logit_softcapping"].map((key) => ({
    key,
    allowed: off,
    why: "logit soft-capping is not supported",
  })),
  ...["query_pre_attn_scalar", "attention_multiplier", "residual_multiplier"]
    .concat(["embedding_multiplier", "logits_scaling", "logit_scale"])
    .map((key) => ({
      key,
      allowed: (value: unknown) => value === 1 && key !== "query_pre_attn_scalar",
      why: "scaled attention, residuals or logits are not supported",
    })),
  ...["num_experts", "num_local_experts", "n_routed_experts"].map((key) => ({
    key,
    allowed: off,
    why: "mixtures of experts are not supported",
  })),
  {
    key: "no_rope_layers",
    allowed: empty,
    why: "layers without rotary positions are not supported",
  },
  { key: "kv_lora_rank", allowed: off, why: "latent attention is not supported" },
  { key: "attention_sink", allowed: off, why: "attention sinks are not supported" },
  { key: "vision_config", allowed: empty, why: "only text models are supported" },
];

/** Throws an error that names the first key with an unsupported value. */
export function refuseUnsupported(config: Fields): void {
  for (const { key, allowed, why } of RULES) {
    const value = config.raw(key);
    if (value !== undefined && !allowed(value)) config.fail(key, `is ${show(value)}: ${why}`);
  }
}
