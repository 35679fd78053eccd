/**
 * @file The machine as libtorch sees it: threads, devices, BLAS.
 */
import { native, type RuntimeInfo } from "./native.ts";

/** How many threads one operator uses. */
export function threads(): number {
  return native.threads();
}

/** Sets how many threads one operator uses, in libtorch and in the BLAS below it. */
export function setThreads(count: number): void {
  native.setThreads(count);
}

/** libtorch's version and build, BLAS kernels, devices. */
export function runtimeInfo(): RuntimeInfo {
  return native.runtimeInfo();
}

/**
 * Gives memory that tensors no longer use back to the system. Otherwise it is kept for the next ones,
 * because a training step needs again what the one before freed.
 */
export function returnFreedMemory(): void {
  native.returnFreedMemory();
}
