/**
 * @file What is wrong with a benchmark's options: the command then says how it is called.
 */

/** Somebody asked for what there is not. */
export class ArgumentError extends Error {}
