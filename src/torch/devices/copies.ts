/**
 * @file What was copied between the host and devices, and where tensors lie that are not always needed there.
 */
import { native } from "../native.ts";
import type { Device } from "../tensor/core.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Since the process began; of several libraries in it, what went through this room. */
export interface DeviceCopies {
  toDevice: number;
  toHost: number;
  bytesToDevice: number;
  bytesToHost: number;
}

export function deviceCopies(): DeviceCopies {
  const [toDevice, toHost, bytesToDevice, bytesToHost] = native.deviceCopies();
  return { toDevice, toHost, bytesToDevice, bytesToHost };
}

/** Of several devices of a kind, the one on which this process computes what says only the kind. */
export function useDevice(device: Device): void {
  native.useDevice(device);
}

/** Gives the memory of a tensor back; it keeps its shape, and must not be used before `restoreMemory`. */
export function releaseMemory(tensor: Tensor): void {
  native.releaseStorage(tensor.handle);
}

/** Memory again, whatever is in it. Nothing where it was not released. */
export function restoreMemory(tensor: Tensor): void {
  native.restoreStorage(tensor.handle);
}
