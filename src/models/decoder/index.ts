/**
 * @file The decoder: models in memory and their forward pass over packed sequences.
 */
export {
  attentionOutput,
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
} from "./model.ts";
export { logits, type TokenOptions, type TokenOutputs, tokenOutputs, values } from "./outputs.ts";
export { byTokenBudget, type PackedSequences, packSequences } from "./packed.ts";
export { packedAngles, type RotaryAngles, rotaryAngles } from "./rotary-table.ts";
