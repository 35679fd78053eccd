/**
 * @file Optimisers, gradient clipping and learning-rate schedules over named parameters.
 */
export { type AdamWSettings, type AllocateMoments, adamw } from "./adamw.ts";
export type { Optimizer, OptimizerState, ParameterGroup } from "./optimizer.ts";
export {
  asParameters,
  clearGradients,
  clipFactor,
  clipGradients,
  gradientNorm,
  namedParameters,
  type Parameters,
  parameterCount,
} from "./parameters.ts";
export { type Schedule, type ScheduleSettings, schedule } from "./schedule.ts";
export { type SgdSettings, sgd } from "./sgd.ts";
