/**
 * @file Options of a command line, and what to say when they are wrong.
 */
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Words that a command cannot make sense of: shown without a stack, exit code 2. */
export class UsageError extends Error {}

/** Node's parser, strict, with its errors as UsageError. */
export function options<Options extends NonNullable<ParseArgsConfig["options"]>>(
  words: readonly string[],
  expected: Options,
) {
  try {
    return parseArgs({ args: [...words], options: expected, strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
