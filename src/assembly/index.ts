/**
 * @file The door of the assembly room: a world opened for a run, and who plays in it.
 */
export { agentOf } from "./agent.ts";
export { type Ask, askServer, type ServerQuestions } from "./asking.ts";
export { OptionError } from "./errors.ts";
export { type EvaluateOptions, evaluate, evaluateFolder } from "./evaluate.ts";
export { exampleMessages, type PlayedWorld } from "./examples.ts";
export { HELD_OUT, withHeldOut } from "./held-out.ts";
export { type ModelJudgeOptions, valueJudge } from "./judges.ts";
export { requireModelFolder } from "./model-folder.ts";
export {
  type AgentSettings,
  type ExampleOptions,
  GREEDY,
  type PlayOptions,
  type Sampling,
  type SummarySettings,
  type WorldOptions,
} from "./options.ts";
export { hasMethods, importOne, importOwn, type OwnKind } from "./own-file.ts";
export {
  expertPlayer,
  folderPlayer,
  type ModelPlayer,
  modelPlayer,
  type Player,
  type PolicyServer,
  servedPlayer,
  serverPlayer,
} from "./player.ts";
export { chosenTasks, openRunWorld, type RunWorld, worldFacts } from "./world.ts";
