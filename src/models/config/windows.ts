/**
 * @file Sliding windows: each family's keys as one window (or none) per layer.
 */
import type { FamilyFacts } from "./families.ts";
import { type Fields, show } from "./fields.ts";

export const FULL = "full_attention";
export const SLIDING = "sliding_attention";

/** Mistral's default in transformers when the key is missing. */
const MISTRAL_WINDOW = 4096;
/** Qwen's default of max_window_layers. */
const QWEN_FULL_LAYERS = 28;

/** Per layer: null, or how many tokens it sees. */
export function parseWindows(
  fields: Fields,
  facts: FamilyFacts,
  layers: number,
): (number | null)[] {
  const types = parseLayerTypes(fields, layers);
  if (facts.slidingWindow === "switched") return switchedWindows(fields, types, layers);
  // transformers' Llama and Mistral treat all layers alike, whatever layer_types says.
  const all = facts.slidingWindow === "all" ? mistralWindow(fields) : null;
  const other = types?.find((type) => type !== (all === null ? FULL : SLIDING));
  if (other !== undefined)
    fields.fail("layer_types", `has ${show(other)}, which ${facts.className} does not support`);
  return new Array<number | null>(layers).fill(all);
}

function mistralWindow(fields: Fields): number | null {
  if (fields.isNull("sliding_window")) return null;
  return fields.integer("sliding_window", MISTRAL_WINDOW);
}

/** Qwen: a window only if it is switched on, and then from one layer on or where layer_types says. */
function switchedWindows(
  fields: Fields,
  types: readonly string[] | undefined,
  layers: number,
): (number | null)[] {
  const on = fields.boolean("use_sliding_window", false) && !fields.isNull("sliding_window");
  const window = on ? fields.integer("sliding_window", MISTRAL_WINDOW) : null;
  if (types !== undefined) {
    if (window === null && types.includes(SLIDING))
      fields.fail("layer_types", `has ${SLIDING}, but use_sliding_window gives no window`);
    return types.map((type) => (type === SLIDING ? window : null));
  }
  const fullLayers = fields.integer("max_window_layers", QWEN_FULL_LAYERS, 0);
  return Array.from({ length: layers }, (_, i) => (i >= fullLayers ? window : null));
}

function parseLayerTypes(fields: Fields, layers: number): readonly string[] | undefined {
  const types = fields.strings("layer_types");
  if (types === undefined) return undefined;
  if (types.length !== layers)
    fields.fail("layer_types", `has ${types.length} entries for ${layers} layers`);
  const unknown = types.find((type) => type !== FULL && type !== SLIDING);
  if (unknown !== undefined)
    fields.fail("layer_types", `has ${show(unknown)}; supported are ${FULL} and ${SLIDING}`);
  return types;
}
