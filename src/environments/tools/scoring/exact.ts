/**
 * @file Whether an answer is the expected one, letter for letter after tidying: white space, case, and
 * punctuation at the ends do not count.
 */

export function normalized(answer: string): string {
  return answer
    .replace(/\s+/g, " ")
    .trim()
    .toLowerCase()
    .replace(/^[.,!?:;"]+|[.,!?:;"]+$/g, "")
    .trim();
}

export function isExactly(given: string, expected: string): boolean {
  return normalized(given) === normalized(expected);
}
