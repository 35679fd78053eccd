/**
 * @file Collectives that were begun and are not waited for yet: while they are on their way, something else
 * is computed. How much of them was hidden so is counted.
 */
import { type Handle, native } from "../native.ts";
import { wrap } from "../tensor/core.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { withGroupErrors } from "./errors.ts";

/** Of all operations that were begun in this process, and waited for. */
export interface PendingStatistics {
  operations: number;
  /** That they took. */
  seconds: number;
  /** That somebody stood still for them. */
  waitedSeconds: number;
}

const statistics: PendingStatistics = { operations: 0, seconds: 0, waitedSeconds: 0 };

/** A copy: compare two to know what happened between them. */
export function pendingStatistics(): PendingStatistics {
  return { ...statistics };
}

/** Bytes over the connections that this process has open, as the system counts them. */
export function networkTraffic(): { sent: number; received: number } {
  const [sent, received] = native.networkTraffic();
  return { sent, received };
}

/** The result of an operation that was begun. Made by ProcessGroup. */
export class PendingTensor {
  readonly #number: number;
  readonly #inPlace: Tensor | undefined;

  constructor(number: number, inPlace: Tensor | undefined) {
    this.#number = number;
    this.#inPlace = inPlace;
  }

  /** Whether `wait` would return at once. */
  get isDone(): boolean {
    return native.groupIsDone(this.#number);
  }

  /** The result, when it is there. Once; throws what went wrong, a ProcessGroupError mostly. */
  wait(): Tensor {
    const begun = performance.now();
    let result: [seconds: number, handle: Handle | null];
    try {
      result = withGroupErrors(() => native.groupFinish(this.#number));
    } finally {
      statistics.operations++;
      statistics.waitedSeconds += (performance.now() - begun) / 1000;
    }
    const [seconds, handle] = result;
    statistics.seconds += seconds;
    return handle === null ? this.#inPlace! : wrap(handle);
  }
}
