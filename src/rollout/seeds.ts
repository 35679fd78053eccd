/**
 * @file Seeds of episodes and turns: derived from names, so that they do not depend on what runs when.
 */
import { createHash } from "node:crypto";

/** 63 bits that depend on every part. */
export function deriveSeed(...parts: readonly (string | number | bigint)[]): bigint {
  const text = JSON.stringify(parts.map((part) => `${typeof part}:${part}`));
  return createHash("sha256").update(text).digest().readBigUInt64LE() & 0x7fff_ffff_ffff_ffffn;
}
