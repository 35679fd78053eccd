/**
 * @file The door of the processes room: programs of others that we start, and that end with us.
 */
export { endGroup, startGroup } from "./group.ts";
export { type GuardedOptions, type GuardedProgram, startGuarded } from "./guarded.ts";
