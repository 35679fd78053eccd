/**
 * @file The processes that train together. A world of one is the same code with nothing to exchange.
 *
 * Every process has the whole model and plays its own groups of episodes. Losses are divided by counts
 * of the whole batch (see algorithms/losses/aggregation.ts), so gradients are summed, not averaged.
 */
import { hostname } from "node:os";
import { addMetrics, type Metrics } from "../../algorithms/index.ts";
import {
  cat,
  defaultBackend,
  findRendezvous,
  fromTypedArray,
  initializeProcessGroup,
  noGrad,
  type Parameters,
  type ProcessGroup,
  ProcessGroupError,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import { told, toldError } from "./told.ts";

export interface Ranks {
  readonly rank: number;
  readonly size: number;
  /** Rank 0 writes checkpoints, metrics, episodes and lines on the terminal. */
  readonly isFirst: boolean;
  /** Aborted when another rank is lost: what only this one does need not go on. */
  readonly lost: AbortSignal;
  /** Sums the gradients of all processes into each. */
  sumGradients(parameters: Parameters): void;
  sum(values: readonly number[]): number[];
  /** Metrics that are shares of a whole, added up. */
  addMetrics(metrics: Metrics): Metrics;
  /** Everybody's value, by rank. */
  gather<Value>(value: Value): Value[];
  /** Everybody's value, by rank, for rank 0; the others get an empty list. */
  toFirst<Value>(value: Value): Value[];
  /** Rank 0's value, for all. */
  broadcast<Value>(value: Value): Value;
  /** Whether it is so on any rank. */
  any(isSo: boolean): boolean;
  /** A group of some of them, made by all together (sharding/groups.ts). */
  subgroup(numbers: readonly number[]): ProcessGroup;
  /** What went wrong here ends the work of all, and they say so. Gives the error for whoever reads this rank's output. */
  failed(error: unknown): unknown;
  close(): void;
}

/**
 * How long a rank is waited for in one operation. Whether it lives is known by its heartbeat (native/distributed):
 * this is for one that lives and does something else, and rank 0 may make a model or write a checkpoint for long.
 */
const PATIENCE_MILLISECONDS = 12 * 3600 * 1000;

/** Joins the other processes, by the variables that launchers set (RANK, WORLD_SIZE …; torch/distributed). */
export function joinRanks(): Ranks {
  // Alone nothing of the addon is needed.
  if (told(() => findRendezvous()).worldSize === 1) return oneRank();
  const group = told(() =>
    initializeProcessGroup({
      timeoutMilliseconds: PATIENCE_MILLISECONDS,
      backend: defaultBackend(),
    }),
  );
  return together(group);
}

/** A process that works alone. */
export function oneRank(): Ranks {
  return {
    rank: 0,
    size: 1,
    isFirst: true,
    lost: new AbortController().signal,
    sumGradients() {},
    sum: (values) => [...values],
    addMetrics: (metrics) => metrics,
    gather: (value) => [value],
    toFirst: (value) => [value],
    broadcast: (value) => value,
    any: (isSo) => isSo,
    subgroup() {
      throw new Error("subgroup: a process that works alone is in no group");
    },
    failed: (error) => error,
    close() {},
  };
}

function together(group: ProcessGroup): Ranks {
  const { rank, worldSize: size } = group;
  const who = `rank ${rank} of ${size} on ${hostname()}`;
  const ask = <Value>(body: () => Value): Value => told(body, who);
  const watch = watched(group);
  const gather = <Value>(value: Value): Value[] => ask(() => group.allGatherObject(value));
  return {
    rank,
    size,
    isFirst: rank === 0,
    lost: watch.signal,
    sumGradients(parameters) {
      for (const bucket of buckets([...parameters.values()]))
        tidy(() =>
          noGrad(() => {
            const grads = bucket.map((parameter) => {
              // A process without rows in this mini-batch has no gradient, and takes part all the same.
              parameter.grad ??= zeros(parameter.shape, {
                dtype: parameter.dtype,
                device: parameter.device,
              });
              return parameter.grad.detach();
            });
            const flat = cat(grads.map((grad) => grad.reshape([-1])));
            ask(() => group.allReduce(flat, "sum"));
            let at = 0;
            for (const grad of grads) {
              grad.copy_(flat.narrow(0, at, grad.numel).reshape(grad.shape));
              at += grad.numel;
            }
          }),
        );
    },
    sum: (values) =>
      tidy(() => {
        const own = fromTypedArray(Float64Array.from(values));
        return Array.from(ask(() => group.allReduce(own, "sum")).toNumbers());
      }),
    addMetrics: (metrics) => addMetrics(gather(metrics)),
    gather,
    toFirst<Value>(value: Value): Value[] {
      const all: Value[] = rank === 0 ? [value] : [];
      // One after the other: rank 0 holds what it has, and one more.
      for (let sender = 1; sender < size; sender++) {
        if (rank === sender) ask(() => group.sendObject(value, 0));
        if (rank === 0) all.push(ask(() => group.receiveObject(sender) as Value));
      }
      return all;
    },
    broadcast: (value) => ask(() => group.broadcastObject(value)),
    any: (isSo) => gather(isSo).some(Boolean),
    subgroup: (numbers) => ask(() => group.subgroup(numbers)),
    failed(error) {
      // Of a group of some of them, too: those have no sentence yet.
      if (error instanceof ProcessGroupError) return toldError(error, who);
      const text = error instanceof Error ? error.message : String(error);
      group.fail(`${who} has failed: ${text}`);
      return error;
    },
    close() {
      watch.end();
      group.destroy();
    },
  };
}

/** Numbers that are summed at once: few messages, and little memory beside the gradients. */
const BUCKET = 2 ** 22;

/** Parameters of one dtype and device in a row, together not much more than a bucket. */
function buckets(parameters: readonly Tensor[]): Tensor[][] {
  const found: Tensor[][] = [];
  let size = 0;
  for (const parameter of parameters) {
    const last = found.at(-1);
    const fits =
      last?.[0]?.dtype === parameter.dtype &&
      last[0].device === parameter.device &&
      size + parameter.numel <= BUCKET;
    if (fits) last.push(parameter);
    else found.push([parameter]);
    size = (fits ? size : 0) + parameter.numel;
  }
  return found;
}

/** How often a rank that does not ask anything of the others looks whether they are there. */
const LOOK_MILLISECONDS = 500;

/** Aborts when the group has failed, also while this rank is in no operation. */
function watched(group: ProcessGroup): { readonly signal: AbortSignal; end(): void } {
  const lost = new AbortController();
  const timer = setInterval(() => {
    if (group.trouble === undefined) return;
    clearInterval(timer);
    lost.abort(new Error(group.trouble));
  }, LOOK_MILLISECONDS);
  timer.unref();
  return { signal: lost.signal, end: () => clearInterval(timer) };
}
