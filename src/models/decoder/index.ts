/**
 * @file The decoder: models in memory and their forward pass over packed sequences.
 */
export {
  attentionOutput,
  embedded,
  embeddingScale,
  type ForwardOptions,
  feedForward,
  hiddenStates,
  project,
} from "./forward.ts";
export { layoutOf, type Piece, separate } from "./layout.ts";
export {
  type Adapter,
  type LoadModelOptions,
  type Model,
  modelFromCheckpoint,
  modelOf,
  type NewHead,
  newModel,
  type WeightUnits,
  weightDtype,
} from "./model.ts";
export { type LayerNorms, normalised, normsOfLayer } from "./norms.ts";
export { logits, type TokenOptions, type TokenOutputs, tokenOutputs, values } from "./outputs.ts";
export { type PackedSequences, type PackOptions, packSequences } from "./packed.ts";
export type { Sequence } from "./prefix-trees.ts";
export {
  hasDynamicRope,
  packedAngles,
  type RotaryAngles,
  ropeOfLayer,
  rotaryAngles,
} from "./rotary-table.ts";
export { byTokenBudget, familiesByTokenBudget } from "./token-budget.ts";
