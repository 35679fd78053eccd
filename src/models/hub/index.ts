/**
 * @file The Hub: models by their names on it, fetched into the cache that Python shares, and pushed to it.
 */
export { modelFolderOf } from "./cache.ts";
export type { HubLimits } from "./client.ts";
export { copyModel } from "./copy.ts";
export { HubError, type HubFailure } from "./errors.ts";
export { type FetchedModel, type FetchOptions, fetchModel } from "./fetch.ts";
export { type HubName, hubNameIn, isCommit, meansHub } from "./name.ts";
export { type PushedModel, type PushOptions, pushModel } from "./push.ts";
export type { HubVariables } from "./settings.ts";
