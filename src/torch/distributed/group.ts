/**
 * @file Process groups: several processes that work on tensors together.
 *
 * Every operation blocks until this rank's part is done, but for those that only start one
 * (pending.ts). All ranks must call the same operations in the same order, with the same shapes and
 * dtypes. That is checked before data moves. When a rank dies, hangs or calls something else, the others get a ProcessGroupError that names it.
 */
import { deserialize, serialize } from "node:v8";
import { type Handle, native } from "../native.ts";
import { wrap } from "../tensor/core.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { hasAgentStore, meetThroughAgent } from "./agent.ts";
import { withGroupErrors } from "./errors.ts";
import { PendingTensor } from "./pending.ts";
import { findRendezvous, type Rendezvous } from "./rendezvous.ts";

/** How values of several ranks become one. Booleans have sum and maximum as "any". */
export type GroupReduction = "sum" | "average" | "product" | "minimum" | "maximum";

export type Backend = "gloo" | "nccl";

export interface ProcessGroupOptions extends Partial<Rendezvous> {
  /** `nccl` moves CUDA tensors between GPUs directly; `gloo` moves all through the CPU. */
  backend?: Backend;
  /** How long an operation may wait for the other ranks. Ten minutes unless told. */
  timeoutMilliseconds?: number;
  /** How long the ranks may take to find each other. Five minutes unless told. */
  joinTimeoutMilliseconds?: number;
  /**
   * Whether the ranks compare what they call before each operation, as they do unless told (or
   * unless OPENMANUS_DISTRIBUTED_CHECK=0). Without it a mismatch is a timeout at best.
   */
  check?: boolean;
}

/** NCCL where this build has it and there is a GPU; tensors on the CPU go through Gloo all the same. */
export function defaultBackend(): Backend {
  const { nccl } = native.processGroupBackends();
  return nccl && native.runtimeInfo().cudaDevices > 0 ? "nccl" : "gloo";
}

/**
 * Joins the other ranks, and returns when all are there. Who and where they are is taken from the
 * environment (see rendezvous.ts) unless given; a world of one needs no network at all.
 */
export function initializeProcessGroup(options: ProcessGroupOptions = {}): ProcessGroup {
  const joinTimeout = milliseconds(
    "joinTimeoutMilliseconds",
    options.joinTimeoutMilliseconds,
    300_000,
  );
  const rendezvous = meetingPoint(options, joinTimeout);
  const backend = options.backend ?? "gloo";
  if (backend !== "gloo" && backend !== "nccl")
    throw new Error(`backend: expected "gloo" or "nccl", got ${JSON.stringify(backend)}`);
  const { rank, worldSize, masterAddress, masterPort } = rendezvous;
  const group = withGroupErrors(() =>
    native.createGroup(
      rank,
      worldSize,
      masterAddress,
      masterPort,
      milliseconds("timeoutMilliseconds", options.timeoutMilliseconds, 600_000),
      joinTimeout,
      backend,
      options.check ?? process.env.OPENMANUS_DISTRIBUTED_CHECK !== "0",
    ),
  );
  return new ProcessGroup(group, rendezvous, backend);
}

function meetingPoint(options: ProcessGroupOptions, patience: number): Rendezvous {
  const found = findRendezvous(options);
  const isGiven = options.masterAddress !== undefined || options.masterPort !== undefined;
  if (isGiven || !hasAgentStore()) return found;
  return withGroupErrors(() => meetThroughAgent(found, patience));
}

/** A month: what comes near "for ever" without overflowing anybody's clock. */
const LONGEST_MILLISECONDS = 30 * 24 * 3600 * 1000;

function milliseconds(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!Number.isFinite(value) || value < 1)
    throw new Error(`${name}: expected a number of milliseconds from 1, got ${value}`);
  return Math.min(Math.ceil(value), LONGEST_MILLISECONDS);
}

export class ProcessGroup {
  readonly rank: number;
  readonly worldSize: number;
  /** This process's number on its machine. */
  readonly localRank: number;
  readonly backend: Backend;
  readonly #group: number;
  readonly #leave: (exitCode: number) => void;

  /** Use initializeProcessGroup. */
  constructor(
    group: number,
    rendezvous: Pick<Rendezvous, "rank" | "worldSize" | "localRank">,
    backend: Backend,
  ) {
    this.#group = group;
    this.rank = rendezvous.rank;
    this.worldSize = rendezvous.worldSize;
    this.localRank = rendezvous.localRank;
    this.backend = backend;
    // A process that ends says goodbye, so that the others know why it is gone.
    this.#leave = (exitCode) => native.destroyGroup(group, exitCode);
    process.once("exit", this.#leave);
  }

  /** Replaces the tensor on every rank by the reduction over all ranks; returns it. */
  allReduce(tensor: Tensor, reduction: GroupReduction = "sum"): Tensor {
    withGroupErrors(() => native.groupAllReduce(this.#group, tensor.handle, reduction));
    return tensor;
  }

  /** Replaces the tensor on every rank by the root's; returns it. */
  broadcast(tensor: Tensor, root = 0): Tensor {
    withGroupErrors(() => native.groupBroadcast(this.#group, tensor.handle, root));
    return tensor;
  }

  /** The tensors of all ranks, which have equal shapes, as one of shape [worldSize, ...]. */
  allGather(tensor: Tensor): Tensor {
    return wrap(withGroupErrors(() => native.groupAllGather(this.#group, tensor.handle)));
  }

  /** The tensors of all ranks, whose first dimensions may differ. */
  allGatherUneven(tensor: Tensor): Tensor[] {
    const handles = withGroupErrors(() => native.groupAllGatherUneven(this.#group, tensor.handle));
    return handles.map(wrap);
  }

  /**
   * This rank's part of the reduction over all ranks, cut along the first dimension: into equal
   * parts, or into `sizes`, one per rank. The input stays as it is.
   */
  reduceScatter(
    tensor: Tensor,
    reduction: GroupReduction = "sum",
    sizes?: readonly number[],
  ): Tensor {
    return wrap(
      withGroupErrors(() =>
        native.groupReduceScatter(this.#group, tensor.handle, reduction, sizes ?? null),
      ),
    );
  }

  /**
   * Begins an allGather and returns at once; `wait` gives its result. The tensor must stay as it is
   * until then. Operations of a group happen in the order in which they were begun.
   */
  startAllGather(tensor: Tensor): PendingTensor {
    return this.#started(() => native.groupStartAllGather(this.#group, tensor.handle));
  }

  /** Begins a reduceScatter, as startAllGather does. */
  startReduceScatter(
    tensor: Tensor,
    reduction: GroupReduction = "sum",
    sizes?: readonly number[],
  ): PendingTensor {
    return this.#started(() =>
      native.groupStartReduceScatter(this.#group, tensor.handle, reduction, sizes ?? null),
    );
  }

  /** Begins an allReduce of a tensor, which nobody may look at before `wait` gives it. */
  startAllReduce(tensor: Tensor, reduction: GroupReduction = "sum"): PendingTensor {
    return this.#started(
      () => native.groupStartAllReduce(this.#group, tensor.handle, reduction),
      tensor,
    );
  }

  #started(start: () => number, inPlace?: Tensor): PendingTensor {
    return new PendingTensor(withGroupErrors(start), inPlace);
  }

  /**
   * A group of some of these ranks, in the order given: the first has number 0 in it. All ranks of
   * this group call it, each with the ranks of the group that it will be in. Ranks that an error of
   * the new group names are its own numbers. Leave it before this one.
   */
  subgroup(ranks: readonly number[]): ProcessGroup {
    const group = withGroupErrors(() => native.groupSubgroup(this.#group, ranks));
    const own = { rank: ranks.indexOf(this.rank), worldSize: ranks.length };
    return new ProcessGroup(group, { ...own, localRank: this.localRank }, this.backend);
  }

  /** Returns when all ranks have called it. */
  barrier(): void {
    withGroupErrors(() => native.groupBarrier(this.#group));
  }

  /** Returns when the other side receives it. Messages with the same tag arrive in order. */
  send(tensor: Tensor, destination: number, tag = 0): void {
    withGroupErrors(() => native.groupSend(this.#group, tensor.handle, destination, tag));
  }

  /** A new tensor on the CPU with the shape and dtype of the one sent. */
  receive(source: number, tag = 0): Tensor {
    return wrap(withGroupErrors(() => native.groupReceive(this.#group, source, tag)));
  }

  /** Receives into a tensor of the shape and dtype of the one sent; returns it. */
  receiveInto(tensor: Tensor, source: number, tag = 0): Tensor {
    withGroupErrors(() => native.groupReceiveInto(this.#group, tensor.handle, source, tag));
    return tensor;
  }

  /** The root's value on all ranks: anything that structuredClone copies. Others' are ignored. */
  broadcastObject<Value>(value: Value, root = 0): Value {
    const bytes = this.rank === root ? toBytes(value) : null;
    try {
      return fromBytes(
        withGroupErrors(() => native.groupBroadcastBytes(this.#group, bytes, root)),
      ) as Value;
    } finally {
      if (bytes !== null) native.release(bytes);
    }
  }

  /** The values of all ranks, by rank: anything that structuredClone copies. */
  allGatherObject<Value>(value: Value): Value[] {
    const bytes = toBytes(value);
    try {
      const handles = withGroupErrors(() => native.groupAllGatherBytes(this.#group, bytes));
      return handles.map(fromBytes) as Value[];
    } finally {
      native.release(bytes);
    }
  }

  /** A value for one other rank: anything that structuredClone copies. */
  sendObject(value: unknown, destination: number, tag = 0): void {
    const bytes = toBytes(value);
    try {
      withGroupErrors(() => native.groupSend(this.#group, bytes, destination, tag));
    } finally {
      native.release(bytes);
    }
  }

  receiveObject(source: number, tag = 0): unknown {
    return fromBytes(withGroupErrors(() => native.groupReceive(this.#group, source, tag)));
  }

  /** What went wrong here ends the group: the other ranks' operations throw with this text. */
  fail(text: string): void {
    native.groupFail(this.#group, text);
  }

  /** Why the next operation would fail, as far as is known now; it does not wait. */
  get trouble(): string | undefined {
    return native.groupTrouble(this.#group) ?? undefined;
  }

  /** Leaves the group. The other ranks cannot use theirs any more; twice is not an error. */
  destroy(): void {
    process.off("exit", this.#leave);
    this.#leave(-1);
  }

  [Symbol.dispose](): void {
    this.destroy();
  }
}

// V8's own format rather than JSON: NaN and Infinity in a rank's metrics must stay what they are.
function toBytes(value: unknown): Handle {
  const { buffer, byteOffset, length } = serialize(value);
  return native.fromBuffer(buffer, byteOffset, [length], "uint8", false);
}

/** Reads a value and frees its bytes. */
function fromBytes(bytes: Handle): unknown {
  const values = native.readValues(bytes) as Uint8Array;
  native.release(bytes);
  return deserialize(values);
}
