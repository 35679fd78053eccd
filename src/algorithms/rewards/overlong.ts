/**
 * @file Soft overlong punishment: an answer that reaches into the last stretch of what is allowed
 * loses reward, gradually, before it would be cut off.
 *
 *   penalty = min( −(length − (maximum − buffer)) / buffer · factor, 0 )
 *
 * 0 up to maximum − buffer, −factor at the maximum, and more beyond it.
 *
 * Source: Yu et al. 2025 (DAPO), arXiv:2503.14476, Eq. 13; verl reward_manager/dapo.py.
 */

export interface OverlongOptions {
  /** The longest answer allowed, in tokens. */
  maximum: number;
  /** How long the last stretch is, in tokens. */
  buffer: number;
  /** Default 1. */
  factor?: number | undefined;
}

export function overlongPenalty(
  length: number,
  { maximum, buffer, factor = 1 }: OverlongOptions,
): number {
  if (!(buffer > 0 && buffer <= maximum))
    throw new RangeError(
      `overlongPenalty: the buffer is ${buffer} tokens, expected more than 0 and at most the ` +
        `maximum of ${maximum}`,
    );
  const exceeded = length - (maximum - buffer);
  // Not min(−x, 0): that is −0 for an answer that is exactly long enough.
  return exceeded > 0 ? (-exceeded / buffer) * factor : 0;
}
