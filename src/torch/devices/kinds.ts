/**
 * @file Devices by their names: `cpu`, `cuda`, `cuda:1`.
 */
import type { Device } from "../tensor/core.ts";

/** Without its number: `cuda`. */
export function kindOf(device: Device): string {
  return device.split(":")[0]!;
}

/** Kinds of devices on which autocast was on in this process: a segment that is computed again asks them. */
export const AUTOCAST_KINDS = new Set<string>();
