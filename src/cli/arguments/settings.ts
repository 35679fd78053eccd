/**
 * @file Command lines that mix settings of a configuration (key=value) with options of the command.
 */
import type { ParseArgsConfig } from "node:util";
import { isOverride } from "../../config/index.ts";
import { optionsAndWords } from "./usage.ts";

export function settingsAndOptions<Options extends NonNullable<ParseArgsConfig["options"]>>(
  given: readonly string[],
  expected: Options,
): { settings: string[] } & ReturnType<typeof optionsAndWords<Options>> {
  const rest = given.filter((word) => !isOverride(word));
  return { settings: given.filter(isOverride), ...optionsAndWords(rest, expected) };
}
