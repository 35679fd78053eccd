/**
 * @file The process-group functions of the addon, as TypeScript sees them.
 *
 * A group is a number here. What fails because of another rank throws an error with the code
 * ERR_PROCESS_GROUP and the properties of NativeGroupError.
 */
import type { Handle } from "../native.ts";
import type { FailureReason } from "./errors.ts";

export interface NativeGroupError extends Error {
  code: "ERR_PROCESS_GROUP";
  ranks: number[];
  reason: FailureReason;
}

export interface ProcessGroupAddon {
  /** Which transports the addon was built with. */
  processGroupBackends(): { gloo: boolean; nccl: boolean };
  /** Blocks until all ranks have joined. Times are in milliseconds. */
  createGroup(
    rank: number,
    worldSize: number,
    masterAddress: string,
    masterPort: number,
    timeout: number,
    joinTimeout: number,
    backend: string,
    check: boolean,
  ): number;
  /** `exitCode` is why the process ends, or -1. Twice is not an error. */
  destroyGroup(group: number, exitCode: number): void;
  /** The store of torchrun's agent. Times are in milliseconds. */
  agentStoreSet(host: string, port: number, key: string, value: string, timeout: number): void;
  /** Null while nobody has set it. */
  agentStoreGet(host: string, port: number, key: string, timeout: number): string | null;
  /** This machine's address as seen from there; null when nobody listens there. */
  ownAddress(host: string, port: number, timeout: number): string | null;
  /** Ends the group on all ranks, with this text. */
  groupFail(group: number, text: string): void;
  /** Why the next operation would fail, or null. */
  groupTrouble(group: number): string | null;
  /** A group of these ranks, called by all ranks of the parent. */
  groupSubgroup(group: number, ranks: readonly number[]): number;
  /** Bytes [sent, received] over all connections that are open. */
  networkTraffic(): [number, number];
  /** These begin an operation, and give a number to wait for its end by. */
  groupStartAllGather(group: number, tensor: Handle): number;
  groupStartReduceScatter(
    group: number,
    tensor: Handle,
    reduction: string,
    sizes: readonly number[] | null,
  ): number;
  groupStartAllReduce(group: number, tensor: Handle, reduction: string): number;
  /** Seconds that it took, and its result; null where that is the tensor given. */
  groupFinish(pending: number): [number, Handle | null];
  groupIsDone(pending: number): boolean;
  groupAllReduce(group: number, tensor: Handle, reduction: string): void;
  groupBroadcast(group: number, tensor: Handle, root: number): void;
  groupAllGather(group: number, tensor: Handle): Handle;
  groupAllGatherUneven(group: number, tensor: Handle): Handle[];
  groupReduceScatter(
    group: number,
    tensor: Handle,
    reduction: string,
    sizes: readonly number[] | null,
  ): Handle;
  groupBarrier(group: number): void;
  groupSend(group: number, tensor: Handle, destination: number, tag: number): void;
  groupReceive(group: number, source: number, tag: number): Handle;
  groupReceiveInto(group: number, tensor: Handle, source: number, tag: number): void;
  groupBroadcastBytes(group: number, bytes: Handle | null, root: number): Handle;
  groupAllGatherBytes(group: number, bytes: Handle): Handle[];
}

/** Communicators of NCCL with others, each a number (native/distributed/nccl). */
export interface NcclAddon {
  /** Why there is none, or null. */
  ncclProblem(): string | null;
  /** 256 hexadecimal digits. */
  ncclNewId(): string;
  /** Begins to join. Milliseconds. */
  ncclJoin(id: string, rank: number, world: number, device: string, timeout: number): number;
  /** Begins it. */
  ncclBroadcast(channel: number, tensors: readonly Handle[], root: number): void;
  /** Whether what was begun last has ended; throws what went wrong. */
  ncclIsDone(channel: number): boolean;
  ncclAbort(channel: number): void;
}
