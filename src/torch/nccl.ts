/**
 * @file A communicator of NCCL with processes that are not ours (vLLM's workers, say): whoever has its id joins, and
 * one rank broadcasts. Between our own ranks there are process groups (distributed/).
 *
 * NCCL works on a thread of its own; here its end is waited for without holding up anything else, because the other
 * side is asked over HTTP meanwhile.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { kindOf } from "./devices/kinds.ts";
import { native } from "./native.ts";
import type { Device } from "./tensor/core.ts";
import type { Tensor } from "./tensor/tensor.ts";

export interface NcclOptions {
  /** Of `newNcclId`, the same for all. Its first rank must be in the process that made it. */
  readonly id: Uint8Array;
  readonly rank: number;
  /** How many ranks there are. */
  readonly world: number;
  /** With its number: `cuda:0`. No other rank may have it. */
  readonly device: Device;
  /** Milliseconds that one operation may take. */
  readonly timeout: number;
}

/** One operation at a time; after one has failed, nothing can be begun any more. */
export interface NcclChannel {
  /** Ends when all ranks are there. */
  readonly joined: Promise<void>;
  /** From the root's tensors into those of all others, in this order. */
  broadcast(tensors: readonly Tensor[], root: number): Promise<void>;
  /** Ends what is underway, with an error, and the communicator. Twice is not an error. */
  abort(): void;
}

/** Why there is no NCCL here; undefined: there is one. */
export function ncclProblem(): string | undefined {
  return native.ncclProblem() ?? undefined;
}

/** 128 bytes, the name of a new communicator. */
export function newNcclId(): Uint8Array {
  return new Uint8Array(Buffer.from(native.ncclNewId(), "hex"));
}

/** Begins to join. */
export function joinNccl({ id, rank, world, device, timeout }: NcclOptions): NcclChannel {
  requireDevice(device);
  const channel = native.ncclJoin(Buffer.from(id).toString("hex"), rank, world, device, timeout);
  const abort = (): void => native.ncclAbort(channel);
  const joined = ended("the other ranks to join");
  // Whoever wants to know asks; nobody need.
  joined.catch(() => {});

  async function ended(what: string): Promise<void> {
    // The thread keeps the time itself; this is for a library that does not come back.
    const until = performance.now() + timeout + GRACE;
    for (let wait = SHORTEST; !native.ncclIsDone(channel); wait = Math.min(2 * wait, LONGEST)) {
      if (performance.now() > until) {
        abort();
        throw new Error(
          `NCCL: waited ${Math.round((timeout + GRACE) / 1000)} s for ${what}, and it does not answer; ` +
            "NCCL_DEBUG=INFO says what it does",
        );
      }
      await sleep(wait);
    }
  }

  return {
    joined,
    async broadcast(tensors, root) {
      for (const tensor of tensors) requireDevice(tensor.device);
      native.ncclBroadcast(
        channel,
        tensors.map((tensor) => tensor.handle),
        root,
      );
      await ended(`the broadcast of ${tensors.length} tensors`);
    },
    abort,
  };
}

/** Milliseconds: between two looks, at first and at most; beyond the thread's own limit. */
const SHORTEST = 1;
const LONGEST = 16;
const GRACE = 5000;

function requireDevice(device: Device): void {
  if (kindOf(device) !== "cpu") return;
  throw new Error(
    "NCCL connects GPUs, and this tensor or rank is on the CPU; move it to its GPU (cuda:0), or send it in another way",
  );
}
