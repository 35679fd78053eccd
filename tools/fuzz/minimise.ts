/**
 * @file A smaller input that does the same: pieces are left out as long as it does.
 */

const MOST_TRIES = 300;
const SECONDS = 5;

export async function minimised(
  bytes: Buffer,
  doesTheSame: (bytes: Buffer) => Promise<boolean>,
): Promise<Buffer> {
  let best = bytes;
  let tries = 0;
  const end = performance.now() + SECONDS * 1000;
  for (let piece = best.length >> 1; piece >= 1; piece >>= 1)
    for (let at = 0; at < best.length; ) {
      if (tries++ >= MOST_TRIES || performance.now() > end) return best;
      const other = Buffer.concat([best.subarray(0, at), best.subarray(at + piece)]);
      if (await doesTheSame(other)) best = other;
      else at += piece;
    }
  return best;
}
