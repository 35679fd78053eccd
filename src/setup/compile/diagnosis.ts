/**
 * @file Makes a short, useful message of a compiler's or linker's long output.
 */

const ERROR = /^(?:\S.*?:\d+(?::\d+)?: )?(?:fatal )?error: /;
const LINKER = /undefined (?:reference|symbol)|cannot find -l|multiple definition|ld: .*error/;

/** The first error with the lines that explain it. */
export function firstError(output: string): string {
  const lines = output.split("\n").map((line) => line.trimEnd());
  const killed = lines.find((line) => /Killed signal|out of memory|cc1plus: killed/i.test(line));
  if (killed) {
    return `${killed}\n(the compiler ran out of memory: about 1 GB per core is needed)`;
  }
  const start = lines.findIndex((line) => ERROR.test(line));
  const first = start >= 0 ? start : lines.findIndex((line) => LINKER.test(line));
  if (first < 0) return lines.filter(Boolean).slice(-5).join("\n");
  const next = lines.findIndex((line, index) => index > first && ERROR.test(line));
  const end = next < 0 ? first + 6 : Math.min(next, first + 6);
  return lines.slice(first, end).filter(Boolean).join("\n");
}

/** The compiler's warnings, each with its place and once (a template repeats them); empty when there are none. */
export function warnings(output: string): string[] {
  const lines = output.split("\n");
  return [...new Set(lines.filter((line) => /^\S.*?:\d+(?::\d+)?: warning: /.test(line)))];
}
