/**
 * @file Options of a command line, and what to say when they are wrong.
 */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearest } from "../../spelling/index.ts";

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
    throw usageError(error, Object.keys(expected));
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
    throw usageError(error, Object.keys(expected));
  }
}

/** Node's message, except for a mistyped option, of which Node says a lot but not what was meant. */
function usageError(error: unknown, names: readonly string[]): UsageError {
  const { code, message } = error as NodeJS.ErrnoException;
  const typed = /^Unknown option '(-[^']+)'/.exec(message)?.[1];
  if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION" || typed === undefined)
    return new UsageError(message);
  const guess = nearest(typed.replace(/^-+/, ""), names);
  return new UsageError(`there is no option ${typed}${guess ? `; did you mean --${guess}?` : "."}`);
}

/** The number that an option gives. */
export function wholeNumber(option: string, text: string, least: number, most = Infinity): number {
  const value = Number(text);
  const right = text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most;
  if (right) return value;
  const range = most === Infinity ? `, ${least} or more` : ` from ${least} to ${most}`;
  throw new UsageError(`--${option} must be a whole number${range}, not "${text}".`);
}

/** The number that an option gives, not below `least`. */
export function numberFrom(name: string, value: string, least = 0): number {
  const parsed = Number(value);
  if (value.trim() !== "" && parsed >= least && Number.isFinite(parsed)) return parsed;
  throw new UsageError(`--${name} takes a number, ${least} or more; got "${value}".`);
}

/** The number that an option gives, above `least`. */
export function numberAbove(name: string, value: string, least: number): number {
  const parsed = numberFrom(name, value, least);
  if (parsed > least) return parsed;
  throw new UsageError(`--${name} takes a number above ${least}; got "${value}".`);
}

/** The name that an option gives. */
export function oneOf<Name extends string>(
  value: string,
  names: readonly Name[],
  option: string,
): Name {
  const found = names.find((name) => name === value);
  if (found === undefined)
    throw new UsageError(`--${option} takes one of ${names.join(", ")}; got "${value}".`);
  return found;
}
