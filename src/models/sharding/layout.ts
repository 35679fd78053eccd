/**
 * @file How a model's weights lie in shards: units, each a flat vector with its tensors behind each other, cut
 * into equal parts over the ranks.
 *
 *   root                 embeddings, final norm, output (or a value model's head)
 *   model.layers.0 …     a decoder layer each
 *
 * A unit is what is fetched, let go and reduced at once.
 */
import type { ModelConfig } from "../config/model-config.ts";
import { layoutOf, type Piece } from "../decoder/layout.ts";

/** A tensor's place in its unit's vector. */
export interface UnitPiece extends Piece {
  readonly start: number;
  readonly numel: number;
}

export interface Unit {
  readonly name: string;
  readonly pieces: readonly UnitPiece[];
  /** Numbers in the vector, before it is filled up to equal parts. */
  readonly numel: number;
}

export const ROOT_UNIT = "root";

/** The root first, then the layers in order. */
export function unitsOf(config: ModelConfig): Unit[] {
  const names = [
    ROOT_UNIT,
    ...Array.from({ length: config.layers }, (_, index) => `model.layers.${index}`),
  ];
  const pieces = new Map<string, UnitPiece[]>(names.map((name) => [name, []]));
  for (const piece of layoutOf(config)) {
    const layer = /^model\.layers\.\d+(?=\.)/.exec(piece.name)?.[0] ?? ROOT_UNIT;
    const unit = pieces.get(layer)!;
    const last = unit.at(-1);
    const numel = piece.shape.reduce((product, size) => product * size, 1);
    unit.push({ ...piece, start: last ? last.start + last.numel : 0, numel });
  }
  return names.map((name) => {
    const own = pieces.get(name)!;
    return { name, pieces: own, numel: own.reduce((sum, { numel }) => sum + numel, 0) };
  });
}

/** Numbers of a unit that each of so many ranks has; the last one's are filled up with zeros. */
export function partSize({ numel }: Unit, ranks: number): number {
  return Math.ceil(numel / ranks);
}

/** Some numbers of a tensor of a file, and where they go in a part of a unit. */
export interface FileRange {
  /** transformers' name. */
  readonly name: string;
  readonly shape: readonly number[];
  /** From this number of the tensor, so many, to this place of the part. */
  readonly from: number;
  readonly count: number;
  readonly to: number;
}

/** The numbers [start, start + length) of a unit's vector, by tensors of a file. */
export function fileRanges(unit: Unit, start: number, length: number): FileRange[] {
  const ranges: FileRange[] = [];
  for (const piece of unit.pieces) {
    let at = piece.start;
    for (const { name, shape } of piece.parts) {
      const numel = shape.reduce((product, size) => product * size, 1);
      const [first, end] = [Math.max(start, at), Math.min(start + length, at + numel)];
      if (first < end)
        ranges.push({ name, shape, from: first - at, count: end - first, to: first - start });
      at += numel;
    }
  }
  return ranges;
}

/** The same by tensors as they lie in memory (qkv_proj, gate_up_proj), the names of an optimiser's file. */
export function pieceRanges(unit: Unit, start: number, length: number): FileRange[] {
  const pieces = unit.pieces.map(({ name, shape, start: at, numel }) => ({
    ...{ name, shape, start: at, numel },
    parts: [{ name, shape }],
  }));
  return fileRanges({ ...unit, pieces }, start, length);
}
