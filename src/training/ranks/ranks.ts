/**
 * @file The processes that train together. A world of one is the same code with nothing to exchange.
 *
 * Every process has the whole model and plays its own groups of episodes. Losses are divided by counts
 * of the whole batch (see algorithms/losses/aggregation.ts), so gradients are summed, not averaged.
 */
import { addMetrics, type Metrics } from "../../algorithms/index.ts";
import {
  fromTypedArray,
  initializeProcessGroup,
  type Parameters,
  type ProcessGroup,
  tidy,
  zeros,
} from "../../torch/index.ts";

export interface Ranks {
  readonly rank: number;
  readonly size: number;
  /** Rank 0 writes checkpoints, metrics and lines on the terminal. */
  readonly isFirst: boolean;
  /** Sums the gradients of all processes into each. */
  sumGradients(parameters: Parameters): void;
  sum(values: readonly number[]): number[];
  /** Metrics that are shares of a whole, added up. */
  addMetrics(metrics: Metrics): Metrics;
  /** Everybody's value, by rank. */
  gather<Value>(value: Value): Value[];
  /** Rank 0's value, for all. */
  broadcast<Value>(value: Value): Value;
  close(): void;
}

/** Joins the other processes, by the variables that launchers set (RANK, WORLD_SIZE …). */
export function joinRanks(): Ranks {
  const group = initializeProcessGroup();
  return group.worldSize === 1 ? alone(group) : together(group);
}

function alone(group: ProcessGroup): Ranks {
  return {
    rank: 0,
    size: 1,
    isFirst: true,
    sumGradients() {},
    sum: (values) => [...values],
    addMetrics: (metrics) => metrics,
    gather: (value) => [value],
    broadcast: (value) => value,
    close: () => group.destroy(),
  };
}

function together(group: ProcessGroup): Ranks {
  const { rank, worldSize: size } = group;
  return {
    rank,
    size,
    isFirst: rank === 0,
    sumGradients(parameters) {
      tidy(() => {
        for (const parameter of parameters.values()) {
          // A process without rows in this mini-batch has no gradient, and takes part all the same.
          parameter.grad ??= zeros(parameter.shape, {
            dtype: parameter.dtype,
            device: parameter.device,
          });
          group.allReduce(parameter.grad.detach(), "sum");
        }
      });
    },
    sum: (values) =>
      tidy(() => {
        const total = group.allReduce(fromTypedArray(Float64Array.from(values)), "sum");
        return Array.from(total.toNumbers());
      }),
    addMetrics: (metrics) => addMetrics(group.allGatherObject(metrics)),
    gather: (value) => group.allGatherObject(value),
    broadcast: (value) => group.broadcastObject(value),
    close: () => group.destroy(),
  };
}
