/**
 * @file What a reward model looks at: a line of turns in tokens, and the places at which it says what it thinks of it.
 */
import {
  hasDynamicRope,
  type Model,
  packSequences,
  values as valuesOfAll,
} from "../../models/index.ts";
import { rowsOf, type Trajectory, type Turn } from "../../rollout/index.ts";
import { fromTypedArray, type Tensor, tidy } from "../../torch/index.ts";

/** A line of an episode, as far as it counts. */
export interface JudgedLine {
  readonly context: Trajectory["context"];
  readonly turns: readonly (Pick<Turn, "promptIds" | "branch"> & {
    readonly reply: Pick<Turn["reply"], "ids">;
  })[];
}

/** One sequence, and where its scores stand. */
export interface ScoredRow {
  readonly ids: Int32Array;
  readonly places: readonly number[];
}

/**
 * The rows of a line, with a place for each turn: the last token of its reply, or, `before` it, where a critic says what
 * the state is worth in which that token was chosen.
 */
export function scoredRows({ context, turns }: JudgedLine, before = false): ScoredRow[] {
  return rowsOf({ context, turns }).map((row) => {
    const ids: number[] = [];
    const places = row.map(({ promptIds, reply }) => {
      ids.push(...promptIds, ...reply.ids);
      return Math.max(0, ids.length - (before ? 2 : 1));
    });
    return { ids: Int32Array.from(ids), places };
  });
}

/** The same with a place for the last turn alone. */
export function lastScored(line: JudgedLine, before = false): ScoredRow[] {
  return scoredRows(line, before)
    .slice(-1)
    .map(({ ids, places }) => ({ ids, places: places.slice(-1) }));
}

/** [places] Scores of some rows, row after row, in one pass. */
export function scoresOf(
  model: Model,
  rows: readonly ScoredRow[],
  { layersPerSegment = 0 }: { readonly layersPerSegment?: number } = {},
): Tensor {
  return tidy(() => {
    const packed = packSequences(
      rows.map(({ ids }) => ids),
      { device: model.device, sharePrefixes: !hasDynamicRope(model.config) },
    );
    const places = rows.flatMap((row, i) =>
      row.places.map((place) => BigInt(packed.places[i]![place]!)),
    );
    const index = fromTypedArray(BigInt64Array.from(places), undefined, { device: model.device });
    return valuesOfAll(model, packed, { layersPerSegment }).indexSelect(0, index);
  });
}
