/**
 * @file The door of the configuration room: verl's tree of settings, and the one way from it to the options
 * that a run follows.
 */

export { changedSettings } from "./stored/command-line.ts";
export type {
  AgentChoices,
  AlgorithmChoices,
  AlgorithmName,
  CurriculumChoices,
  DifficultyCurriculum,
  HorizonCurriculum,
  KindCurriculum,
  OptimizerChoices,
  PlayChoices,
  ReplayChoices,
  SearchChoices,
  SuccessCurriculum,
  TrainingChoices,
  ValidationChoices,
} from "./program/choices.ts";
export { groupSize, totalIterations } from "./combinations.ts";
export { factsOf, type RunFacts } from "./stored/facts.ts";
export type { OwnNames } from "./names.ts";
export { formOf, SETTINGS_FILE, settingsNote, settingsOf } from "./stored/note.ts";
export { type ResolvedRun, runOptions } from "./options/run.ts";
export {
  ConfigError,
  isOverride,
  type Plain,
  parseOverrides,
  parseValue,
  type Tree,
} from "./override.ts";
export type { OwnParts } from "./own-parts.ts";
export { LOGGER } from "./own-parts.ts";
export { PRESETS, type Preset } from "./presets.ts";
export { type Resolved, resolvePlay, resolveTraining } from "./program/program.ts";
export { ranksSettings, runFolder, withoutSecrets } from "./stored/record.ts";
export { configurationReference } from "./reference.ts";
export { type ConfigSources, type ResolvedConfig, readSettings, resolveConfig } from "./resolve.ts";
export { type Config, configSchema, type DeepPartial, type Settings } from "./schema.ts";
export { type SmallRunChoices, smallRunConfig } from "./small-run.ts";
export { type ProposedSetting, proposedSettings, storedAlarmOptions } from "./stored/remedies.ts";
export { allSettings, type SettingEntry } from "./tree.ts";
