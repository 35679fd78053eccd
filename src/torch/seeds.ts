/**
 * @file Seeds of independent streams: derived from names, so that nothing depends on what runs when.
 */
import { createHash } from "node:crypto";

/**
 * 63 bits that depend on every part: a run's seed, the name of what draws, its place. The same parts give
 * the same seed on every machine, and no two streams are related.
 */
export function deriveSeed(...parts: readonly (string | number | bigint)[]): bigint {
  const text = JSON.stringify(parts.map((part) => `${typeof part}:${part}`));
  return createHash("sha256").update(text).digest().readBigUInt64LE() & 0x7fff_ffff_ffff_ffffn;
}
