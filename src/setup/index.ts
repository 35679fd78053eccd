/**
 * @file The door of the set-up room: where the built addon is, and what the machine offers.
 */

export { userCache } from "./cache/folder.ts";
export { checkSetup, type SetupCheck } from "./check.ts";
export type { Libtorch } from "./libtorch/libtorch.ts";
export { type CpuFeatures, cpuFeatures, hasAvx512, openblasCoreType } from "./machine/cpu.ts";
export { processStart } from "./machine/process-start.ts";
export { availableThreads } from "./machine/threads.ts";
export { locateAddon, type Stamp } from "./stamp/stamp.ts";
export { SetupError } from "./support/errors.ts";
export { SETUP_COMMAND } from "./support/package.ts";
