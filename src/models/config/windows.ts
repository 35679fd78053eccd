/**
 * @file Sliding windows: each family's keys as one window (or none) per layer.
 */
import { everyLayer, type FamilyFacts } from "./families.ts";
import { type Fields, show } from "./fields.ts";

export const FULL = "full_attention";
export const SLIDING = "sliding_attention";

/** Qwen's, Mistral's and Gemma's default in transformers when the key is missing. */
const WINDOW = 4096;
/** Qwen's default of max_window_layers. */
const QWEN_FULL_LAYERS = 28;

/** Gemma 3: every sixth layer sees everything. */
export const GEMMA_PATTERN = 6;

/** Per layer: null, or how many tokens it sees. */
export function parseWindows(
  fields: Fields,
  facts: FamilyFacts,
  layers: number,
  withoutRope: readonly number[],
): (number | null)[] {
  const types = parseLayerTypes(fields, layers);
  if (facts.slidingWindow === "switched")
    return switchedWindows(fields, types, layers, WINDOW, (i) => i >= fullLayers(fields));
  if (facts.slidingWindow === "without rope")
    return switchedWindows(fields, types, layers, null, (i) => withoutRope.includes(i));
  if (facts.slidingWindow === "pattern") return patternWindows(fields, types, layers);
  // transformers' Llama and Mistral treat all layers alike, whatever layer_types says.
  const all = facts.slidingWindow === "all" ? mistralWindow(fields) : null;
  const other = types?.find((type) => type !== (all === null ? FULL : SLIDING));
  if (other !== undefined)
    fields.fail("layer_types", `has ${show(other)}, which ${facts.className} does not support`);
  return new Array<number | null>(layers).fill(all);
}

function fullLayers(fields: Fields): number {
  return fields.integer("max_window_layers", QWEN_FULL_LAYERS, 0);
}

function mistralWindow(fields: Fields): number | null {
  if (fields.isNull("sliding_window")) return null;
  return fields.integer("sliding_window", WINDOW);
}

/** Gemma 3: a window for all layers but every sixth, or where layer_types says. */
function patternWindows(
  fields: Fields,
  types: readonly string[] | undefined,
  layers: number,
): (number | null)[] {
  const every = fields.integer("sliding_window_pattern", GEMMA_PATTERN);
  const full = everyLayer(layers, every);
  const isLocal = (i: number): boolean => (types ? types[i] === SLIDING : !full.includes(i));
  const local = Array.from({ length: layers }, (_, i) => isLocal(i));
  if (!local.includes(true)) return new Array<null>(layers).fill(null);
  if (fields.isNull("sliding_window"))
    fields.fail("sliding_window", "is null, but some layers are to see a window");
  const window = fields.integer("sliding_window", WINDOW);
  return local.map((is) => (is ? window : null));
}

/** Qwen and SmolLM3: a window only if it is switched on, in layers by rule or where layer_types says. */
function switchedWindows(
  fields: Fields,
  types: readonly string[] | undefined,
  layers: number,
  fallback: number | null,
  isLocal: (layer: number) => boolean,
): (number | null)[] {
  const isSaid = fields.has("sliding_window");
  const isNone = fields.isNull("sliding_window") || (!isSaid && fallback === null);
  const on = fields.boolean("use_sliding_window", false) && !isNone;
  const window = on ? fields.integer("sliding_window", fallback ?? undefined) : null;
  if (types !== undefined) {
    if (window === null && types.includes(SLIDING))
      fields.fail("layer_types", `has ${SLIDING}, but use_sliding_window gives no window`);
    return types.map((type) => (type === SLIDING ? window : null));
  }
  return Array.from({ length: layers }, (_, i) => (isLocal(i) ? window : null));
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
