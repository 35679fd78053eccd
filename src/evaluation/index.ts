/**
 * @file The door of the evaluation room: what a configuration sets up, evaluation and comparison, success
 * rates with their intervals, tables.
 */
export { type Ask, judgeOf, summarizerOf } from "./asking.ts";
export { type Convergence, convergence } from "./convergence.ts";
export { type EvaluateOptions, evaluate, evaluateModel } from "./evaluate.ts";
export { HELD_OUT, withHeldOut } from "./held-out.ts";
export { type Interval, wilson } from "./intervals.ts";
export {
  createModelAgent,
  type Drawing,
  GREEDY,
  type ModelAgent,
  validationDrawing,
} from "./model-agent.ts";
export { comparePaired, type PairedComparison, signTest } from "./paired.ts";
export { type PhaseTime, phaseTimes } from "./phases.ts";
export { configForModel, openPlayer, type Player } from "./player.ts";
export {
  agentOf,
  type ConfiguredWorld,
  chosenTasks,
  limitsOf,
  openConfiguredWorld,
  requireModelFolder,
  SETTINGS_FILE,
  settingsNote,
  settingsOf,
  worldFacts,
} from "./setting.ts";
export {
  type EpisodeFacts,
  episodeFacts,
  type SuccessRow,
  type SuccessTable,
  successRates,
  successTable,
} from "./success.ts";
export { aligned, successReport } from "./table.ts";
