/**
 * @file Keys of config.json that would change the computation in a way we do not have.
 *
 * The supported classes of transformers read a fixed set of keys; whatever else a file carries
 * (generation defaults, training notes) cannot change their results and is not looked at. The keys
 * here either are read by those classes, or are the mark of another model under a borrowed name.
 */
import { ACTIVATIONS, type FamilyFacts } from "./families.ts";
import { type Fields, show } from "./fields.ts";

interface Rule {
  key: string;
  allowed: (value: unknown, facts: FamilyFacts) => boolean;
  why: string;
}

const off = (value: unknown): boolean => value === false || value === 0;
const empty = (value: unknown): boolean =>
  off(value) || (typeof value === "object" && Object.keys(value as object).length === 0);

const RULES: readonly Rule[] = [
  ...["hidden_act", "hidden_activation"].map((key) => ({
    key,
    allowed: (value: unknown, { activation }: FamilyFacts) => value === ACTIVATIONS[activation],
    why: "only the family's own activation (silu; of Gemma 3 gelu_pytorch_tanh) is supported",
  })),
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
  {
    key: "query_pre_attn_scalar",
    allowed: (_, { gemma }) => gemma,
    why: "scaled attention is supported for Gemma 3 only",
  },
  ...["attention_multiplier", "residual_multiplier"]
    .concat(["embedding_multiplier", "logits_scaling", "logit_scale"])
    .map((key) => ({
      key,
      allowed: (value: unknown) => value === 1,
      why: "scaled attention, residuals or logits are not supported",
    })),
  ...["num_experts", "num_local_experts", "n_routed_experts"].map((key) => ({
    key,
    allowed: off,
    why: "mixtures of experts are not supported",
  })),
  {
    key: "no_rope_layers",
    allowed: (value, { layersWithoutRope }) => layersWithoutRope || empty(value),
    why: "layers without rotary positions are supported for SmolLM3 only",
  },
  {
    key: "use_bidirectional_attention",
    allowed: off,
    why: "attention to later tokens is not supported",
  },
  { key: "kv_lora_rank", allowed: off, why: "latent attention is not supported" },
  { key: "attention_sink", allowed: off, why: "attention sinks are not supported" },
  { key: "vision_config", allowed: empty, why: "only text models are supported" },
];

/** Throws an error that names the first key with an unsupported value. */
export function refuseUnsupported(config: Fields, facts: FamilyFacts): void {
  for (const { key, allowed, why } of RULES) {
    const value = config.raw(key);
    if (value !== undefined && !allowed(value, facts))
      config.fail(key, `is ${show(value)}: ${why}`);
  }
}
