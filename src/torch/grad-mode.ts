/**
 * @file Recording for gradients, on or off while a function runs.
 */
import { native } from "./native.ts";

/**
 * Runs a function with recording on or off. Autocast remembers its casts of weights: one made with
 * recording off has no gradient, one made while it was on (a segment computed again) belongs to
 * another graph. Neither may stay.
 */
export function withGradMode<Result>(enabled: boolean, body: () => Result): Result {
  const before = native.setGradMode(enabled);
  try {
    return body();
  } finally {
    native.setGradMode(before);
    native.clearAutocastCache();
  }
}
