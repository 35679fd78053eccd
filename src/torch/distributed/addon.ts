/** @file The process-group functions of the addon. */
export type ProcessGroupAddon = {};
