/**
 * @file Options that cannot be: told to the person who gave them, without a stack.
 */
export class OptionError extends Error {
  override name = "OptionError";
}
