/**
 * @file adapter_config.json: PEFT's description of an adapter, read strictly and written.
 */
import { ModelFileError } from "../checkpoint/errors.ts";
import { type JsonObject, readJsonObject } from "../checkpoint/json.ts";
import { Fields, show } from "../config/fields.ts";
import type { Head } from "../config/model-config.ts";
import { hubNameIn, isCommit } from "../hub/name.ts";
import { LORA_TARGETS, type LoraSettings, type LoraTarget, loraSettings } from "./options.ts";

export const ADAPTER_CONFIG_FILE = "adapter_config.json";

/** Keys that are read below. */
const READ = [
  ...["peft_type", "r", "lora_alpha", "lora_dropout", "use_rslora", "target_modules", "bias"],
  ...["modules_to_save", "init_lora_weights"],
];
/** Keys that do not change the computation, or only together with others. */
const NOTES = [
  ...["task_type", "base_model_name_or_path", "revision", "inference_mode", "auto_mapping"],
  ...["peft_version", "megatron_core", "qalora_group_size", "layers_pattern", "runtime_config"],
];
/** The ways to begin an adapter that leave the base's weights as they are. */
const HARMLESS_BEGINNINGS: readonly unknown[] = [true, false, "gaussian", "orthogonal", "eva"];

const off = (value: unknown): boolean =>
  value === false ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Reads an adapter's settings; what we do not have is an error that names the key. */
export function readAdapterConfig(file: string): LoraSettings {
  const json = readJsonObject(file);
  const fields = new Fields(json, file);
  if (fields.string("peft_type") !== "LORA")
    fields.fail("peft_type", `is ${show(json.peft_type)}; only LORA is supported`);
  for (const key of fields.keys())
    if (![...READ, ...NOTES].includes(key) && !off(json[key]))
      fields.fail(key, `is ${show(json[key])}, which is not supported`);
  if (!HARMLESS_BEGINNINGS.includes(json.init_lora_weights ?? true))
    fields.fail(
      "init_lora_weights",
      `is ${show(json.init_lora_weights)}, which changes the base's weights; convert the adapter ` +
        "to plain LoRA with PEFT",
    );
  if (fields.string("bias", "none") !== "none")
    fields.fail("bias", `is ${show(json.bias)}; only adapters without biases are supported`);
  const saved = fields.strings("modules_to_save") ?? [];
  const foreign = saved.find((name) => name !== "score" && name !== "classifier");
  if (foreign !== undefined)
    fields.fail("modules_to_save", `has ${show(foreign)}; only a value model's score is supported`);
  try {
    return loraSettings({
      rank: fields.integer("r"),
      alpha: fields.number("lora_alpha"),
      dropout: fields.nonNegative("lora_dropout", 0),
      rankStabilised: fields.boolean("use_rslora", false),
      targets: targetsOf(json, fields),
    });
  } catch (error) {
    if (error instanceof RangeError) throw new ModelFileError(file, error.message);
    throw error;
  }
}

function targetsOf(json: JsonObject, fields: Fields): readonly LoraTarget[] | "all-linear" {
  if (json.target_modules === "all-linear") return "all-linear";
  if (typeof json.target_modules === "string")
    return fields.fail(
      "target_modules",
      `is ${show(json.target_modules)}; expected a list of names or "all-linear"`,
    );
  // Newer versions write whole paths for "all-linear". That no layer is left out shows in the tensors.
  return (fields.strings("target_modules") ?? []).map((name) => {
    const target = LORA_TARGETS.find((target) => target === name.split(".").at(-1));
    return (
      target ??
      fields.fail("target_modules", `has ${show(name)}; supported are ${LORA_TARGETS.join(", ")}`)
    );
  });
}

/** The content of adapter_config.json; keys that are left out take PEFT's defaults. */
export function toAdapterJson(
  settings: LoraSettings,
  head: Head,
  baseModel: string | null,
): Record<string, unknown> {
  // PEFT asks the Hub for the name, and takes the commit from a field of its own.
  const onHub = hubNameIn(baseModel ?? "");
  const isPinned = onHub?.revision !== undefined && isCommit(onHub.revision);
  return {
    peft_type: "LORA",
    task_type: head === "causal-lm" ? "CAUSAL_LM" : "TOKEN_CLS",
    base_model_name_or_path: isPinned ? onHub.name : baseModel,
    revision: isPinned ? onHub.revision : null,
    inference_mode: true,
    r: settings.rank,
    lora_alpha: settings.alpha,
    lora_dropout: settings.dropout,
    target_modules: settings.targets,
    use_rslora: settings.rankStabilised,
    use_dora: false,
    bias: "none",
    fan_in_fan_out: false,
    init_lora_weights: true,
    layers_to_transform: null,
    layers_pattern: null,
    rank_pattern: {},
    alpha_pattern: {},
    modules_to_save: head === "causal-lm" ? null : ["score"],
  };
}
