/**
 * @file The device of a rank.
 */
import { findRendezvous } from "../../torch/index.ts";

/** Of several ranks on a machine, each has a GPU of its own unless one was named. */
export function deviceOf(device: string): string {
  const { worldSize, localRank } = findRendezvous();
  const isOne = device === "cpu" || device.includes(":") || worldSize === 1;
  return isOne ? device : `${device}:${localRank}`;
}
