/**
 * @file The door of the configuration room.
 */
export { discount, groupSize, needsReference, totalIterations } from "./combinations.ts";
export { ConfigError, isOverride, type Plain, parseOverrides, parseValue } from "./override.ts";
export { PRESETS } from "./presets.ts";
export { configurationReference } from "./reference.ts";
export { type ConfigSources, type ResolvedConfig, resolveConfig } from "./resolve.ts";
export { type Config, configSchema } from "./schema.ts";
export { allSettings, type SettingEntry } from "./tree.ts";
