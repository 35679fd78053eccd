/**
 * @file The door of the set-up room: where the built addon is, and what the machine offers.
 */

export { type CpuFeatures, cpuFeatures, openblasCoreType } from "./cpu.ts";
export { SetupError } from "./errors.ts";
export type { Libtorch } from "./libtorch.ts";
export { locateAddon, type Stamp } from "./stamp.ts";
export { availableThreads } from "./threads.ts";
