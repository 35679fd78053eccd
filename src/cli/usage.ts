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
): ReturnType<typeof parseArgs<{ options: Options; strict: true }>>["values"] {
  try {
    return parseArgs({ args: [...words], options: expected, strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The same, with words that are not options: `play NAME`. */
export function optionsAndWords<Options extends NonNullable<ParseArgsConfig["options"]>>(
  words: readonly string[],
  expected: Options,
): {
  values: ReturnType<typeof parseArgs<{ options: Options; strict: true }>>["values"];
  words: readonly string[];
} {
  try {
    const parsed = parseArgs({
      args: [...words],
      options: expected,
      strict: true,
      allowPositionals: true,
    });
    return { values: parsed.values, words: parsed.positionals };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The number that an option gives. */
export function wholeNumber(option: string, text: string, least: number, most = Infinity): number {
  const value = Number(text);
  const right = text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most;
  if (right) return value;
  const range = most === Infinity ? `, ${least} or more` : ` from ${least} to ${most}`;
  throw new UsageError(`--${option} must be a whole number${range}, not "${text}".`);
}
