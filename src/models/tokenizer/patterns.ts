/**
 * @file Patterns of a tokenizer's files, which cut every text that a model reads. Whoever wrote the files
 * wrote the patterns, and a pattern can be made to try more ways than there are seconds: a repetition of
 * repetitions, `(a+)+b`, or many of them behind each other. None that is published has either.
 */
import { isJsonObject } from "../checkpoint/json.ts";

/** Repetitions without an end, behind each other in one alternative. */
const MOST_REPETITIONS = 4;
/** More than this often is without an end. */
const OFTEN = 100;
const LONGEST = 10_000;

/** What is wrong with a pattern; undefined if nothing is. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > LONGEST) return `it has more than ${LONGEST} characters`;
  if (/\\[1-9]|\\k</.test(pattern.replace(/\\\\/g, "")))
    return "it refers back to what it has found";
  /** For each open group: repetitions in its alternative so far, and the most in one before. */
  const groups = [{ now: 0, most: 0 }];
  let last = 0; // repetitions inside of what stands before
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at]!;
    const group = groups.at(-1)!;
    if (sign === "\\") {
      at++;
      last = 0;
    } else if (sign === "[") {
      at = endOfClass(pattern, at);
      last = 0;
    } else if (sign === "(") {
      groups.push({ now: 0, most: 0 });
      last = 0;
    } else if (sign === ")") {
      const { now, most } = groups.length > 1 ? groups.pop()! : group;
      last = Math.max(now, most);
      groups.at(-1)!.now += last;
    } else if (sign === "|") {
      group.most = Math.max(group.most, group.now);
      group.now = 0;
      last = 0;
    } else if (isEndless(pattern, at)) {
      if (last > 0) return "it repeats a repetition";
      group.now++;
      last = 1;
      if (group.now > MOST_REPETITIONS)
        return `it has more than ${MOST_REPETITIONS} repetitions behind each other`;
    } else if (!"?{},0123456789".includes(sign)) last = 0;
  }
  return undefined;
}

function isEndless(pattern: string, at: number): boolean {
  if (pattern[at] === "*" || pattern[at] === "+") {
    // The second sign of "a++", "a*+": how greedy it is.
    return !"*+?}".includes(pattern[at - 1] ?? "") || pattern[at - 2] === "\\";
  }
  if (pattern[at] !== "{") return false;
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(pattern.slice(at, at + 30)) ?? [];
  if (least === undefined) return false;
  return (comma !== "" && most === "") || Number(most || least) > OFTEN;
}

function endOfClass(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at++) {
    if (pattern[at] === "\\") at++;
    else if (pattern[at] === "]") return at;
  }
  return pattern.length;
}

/** How many times longer replacements could make a text, one after the other. */
export function growthIn(value: unknown, depth = 0): number {
  if (depth > 100) return 1;
  if (Array.isArray(value))
    return value.reduce((product: number, part) => product * growthIn(part, depth + 1), 1);
  if (!isJsonObject(value)) return 1;
  const inside = growthIn(
    Object.values(value).filter((part) => typeof part === "object"),
    depth + 1,
  );
  const { type, content, pattern } = value;
  if (type !== "Replace" || typeof content !== "string") return inside;
  const replaced =
    isJsonObject(pattern) && typeof pattern.String === "string" ? pattern.String : "";
  return inside * Math.max(1, content.length / Math.max(1, replaced.length));
}

/** All patterns in a part of tokenizer.json. */
export function* patternsIn(value: unknown, depth = 0): Generator<string> {
  if (depth > 100) return;
  if (Array.isArray(value)) for (const part of value) yield* patternsIn(part, depth + 1);
  else if (isJsonObject(value))
    for (const [key, part] of Object.entries(value))
      if (key === "Regex" && typeof part === "string") yield part;
      else yield* patternsIn(part, depth + 1);
}
