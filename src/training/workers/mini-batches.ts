/**
 * @file Which rows make which update.
 */
import { seededRandom } from "../../environments/index.ts";
import type { Batch } from "../../rollout/index.ts";
import type { BatchingOptions } from "../options.ts";
import type { UpdateOptions } from "./optimize.ts";
import { allRows } from "./tokens.ts";

/** How many updates an epoch over so many rows (of all ranks) has. */
export function updatesPerEpoch(rows: number, { miniBatchRows }: BatchingOptions): number {
  return Math.max(1, Math.round(rows / miniBatchRows));
}

export interface MiniBatch {
  /** Rows, in order. */
  readonly members: number[];
  /** How much of the iteration's updates lies before it, 0 to 1. */
  readonly share: number;
}

/**
 * The rows of each update. They are dealt into mini-batches as one process with all rows would deal them; each
 * process computes those that are its own, which may be none.
 */
export function* miniBatches(batch: Batch, options: UpdateOptions): Generator<MiniBatch> {
  const { epochs, shuffle, iteration, seed, name } = options;
  const dealt = options.dealt ?? { count: allRows(batch).length, own: allRows(batch) };
  const ownRow = new Map(dealt.own.map((number, row) => [number, row]));
  const rows = options.rows ?? Array.from({ length: dealt.count }, (_, number) => number);
  const count = rows.length;
  const parts = updatesPerEpoch(count, options);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = shuffle
      ? seededRandom("mini-batches", name, seed, iteration, epoch, 0).shuffled(rows)
      : rows;
    for (let part = 0; part < parts; part++)
      yield {
        members: order
          .slice(Math.floor((part * count) / parts), Math.floor(((part + 1) * count) / parts))
          .flatMap((number) => ownRow.get(number) ?? [])
          .sort((a, b) => a - b),
        share: (epoch * parts + part) / (epochs * parts),
      };
  }
}
