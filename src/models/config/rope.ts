/**
 * @file The rotary embedding's part of config.json: `rope_theta` with `rope_scaling`, or the newer
 * `rope_parameters` with everything in it.
 */
import type { FamilyFacts } from "./families.ts";
import { type Fields, show } from "./fields.ts";
import type { ModelConfig, RopeConfig } from "./model-config.ts";
import { FULL, SLIDING } from "./windows.ts";

/** Keys that each kind may have besides those common to all. */
const KEYS: Readonly<Record<RopeConfig["kind"], readonly string[]>> = {
  default: [],
  linear: ["factor", "original_max_position_embeddings"],
  dynamic: ["factor", "original_max_position_embeddings"],
  llama3: ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
  yarn: [
    "factor",
    "original_max_position_embeddings",
    "attention_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "truncate",
  ],
};
const COMMON = ["rope_type", "type", "rope_theta", "partial_rotary_factor"];

/** Reads either spelling; an unknown kind or key is an error that names it. */
export function parseRopes(
  config: Fields,
  facts: FamilyFacts,
  maximumPositions: number,
  headDimension: number,
): Pick<ModelConfig, "rope" | "localRope"> {
  const parse = (scaling: Fields | undefined, theta: number): RopeConfig =>
    parseRope(config, scaling, theta, maximumPositions, headDimension);
  requireFullRotation(config);
  // transformers lets rope_scaling win where both are there, unless it is empty.
  const given = config.object("rope_scaling");
  const older = given && given.keys().length > 0 ? given : undefined;
  const newer = config.object("rope_parameters");
  const theta = config.number("rope_theta", facts.theta);
  if (facts.localTheta === null) return { rope: parse(older ?? newer, theta), localRope: null };
  // Gemma 3: rope_scaling is of the layers that see everything; the newer spelling says both.
  const unknown = newer?.keys().find((key) => key !== FULL && key !== SLIDING);
  if (unknown !== undefined)
    newer!.fail(unknown, `is not supported; expected ${FULL} and ${SLIDING}`);
  const full = newer?.object(FULL);
  const localTheta = config.number("rope_local_base_freq", facts.localTheta);
  return {
    rope: parse(older ?? full, full?.number("rope_theta", theta) ?? theta),
    localRope: parse(newer?.object(SLIDING), localTheta),
  };
}

function parseRope(
  config: Fields,
  scaling: Fields | undefined,
  outer: number,
  maximumPositions: number,
  headDimension: number,
): RopeConfig {
  if (scaling === undefined) return { kind: "default", theta: outer };
  requireFullRotation(scaling);
  const kind = kindOf(scaling);
  const unknown = scaling.keys().find((key) => ![...COMMON, ...KEYS[kind]].includes(key));
  if (unknown !== undefined)
    scaling.fail(unknown, `(${show(scaling.raw(unknown))}) is not supported for rope type ${kind}`);
  const theta = scaling.number("rope_theta", outer);
  // Some files have the original length outside; transformers prefers that one.
  const original = config.has("original_max_position_embeddings") ? config : scaling;
  const originalMaximumPositions = (): number =>
    original.integer("original_max_position_embeddings", maximumPositions);

  if (kind === "default") return { kind, theta };
  if (kind === "dynamic" && headDimension <= 2)
    config.fail("head_dim", `is ${headDimension}; rope type dynamic needs more than 2`);
  if (kind === "linear" || kind === "dynamic")
    return { kind, theta, factor: scaling.number("factor") };
  if (kind === "llama3") {
    const lowFrequencyFactor = scaling.number("low_freq_factor");
    const highFrequencyFactor = scaling.number("high_freq_factor");
    if (highFrequencyFactor <= lowFrequencyFactor)
      scaling.fail("high_freq_factor", `must be above low_freq_factor (${lowFrequencyFactor})`);
    return {
      kind,
      theta,
      factor: scaling.number("factor"),
      lowFrequencyFactor,
      highFrequencyFactor,
      originalMaximumPositions: originalMaximumPositions(),
    };
  }
  const optional = (key: string): number | null =>
    scaling.has(key) ? scaling.number(key, undefined, Number.NEGATIVE_INFINITY) : null;
  const length = originalMaximumPositions();
  return {
    kind,
    theta,
    factor: scaling.number("factor", maximumPositions / length),
    originalMaximumPositions: length,
    attentionFactor: optional("attention_factor"),
    // Python's "or": zero stands for the default too.
    betaFast: optional("beta_fast") || 32,
    betaSlow: optional("beta_slow") || 1,
    mscale: optional("mscale"),
    mscaleAllDimensions: optional("mscale_all_dim"),
    truncate: scaling.boolean("truncate", true),
  };
}

function kindOf(scaling: Fields): RopeConfig["kind"] {
  const newer = scaling.has("rope_type");
  const key = newer ? "rope_type" : "type";
  const kind = scaling.string(key, "default");
  if (newer && scaling.has("type") && scaling.raw("type") !== kind)
    scaling.fail("type", `is ${show(scaling.raw("type"))}, but rope_type is ${show(kind)}`);
  if (!Object.hasOwn(KEYS, kind))
    scaling.fail(
      key,
      `is ${show(kind)}, which is not supported; expected one of ${Object.keys(KEYS).join(", ")}`,
    );
  return kind as RopeConfig["kind"];
}

function requireFullRotation(fields: Fields): void {
  if (fields.has("partial_rotary_factor") && fields.raw("partial_rotary_factor") !== 1)
    fields.fail(
      "partial_rotary_factor",
      `is ${show(fields.raw("partial_rotary_factor"))}; only full rotation (1) is supported`,
    );
}
