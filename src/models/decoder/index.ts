/**
 * @file The decoder: models in memory and their forward pass over packed sequences.
 */
export { feedForward, type ForwardOptions, hiddenStates, project } from "./forward.ts";
export { layoutOf, type Piece, separate } from "./layout.ts";
export {
  type LoadModelOptions,
  type Model,
  modelFromCheckpoint,
  modelOf,
  newModel,
} from "./model.ts";
export { logits, type TokenOptions, type TokenOutputs, tokenOutputs, values } from "./outputs.ts";
export { byTokenBudget, type PackedSequences, packSequences } from "./packed.ts";
export { type RotaryAngles, rotaryAngles } from "./rotary-table.ts";
