/**
 * @file Reads parenthesised expressions as PDDL writes them.
 *
 * As in the planner whose files these are: everything is lower-cased, `;` starts a comment, and `?`
 * starts a new word. Hostile text costs no more than its length and fails with a clear message.
 */
import { GameError } from "../errors.ts";
import { isSpace } from "./white-space.ts";

export type Expression = string | readonly Expression[];

/** The longest real problem has 80 thousand characters. */
const LONGEST = 8_000_000;
/** Real goals nest 8 deep. With this limit, whoever walks an expression may recurse without fear. */
const DEEPEST = 100;

const [OPEN, CLOSE, COMMENT, VARIABLE, NEWLINE] = [40, 41, 59, 63, 10];

/** The one expression that the text must hold. `what` names it in messages. */
export function readExpression(text: string, what: string): readonly Expression[] {
  if (text.length > LONGEST)
    throw new GameError(`${what} has ${text.length} characters; at most ${LONGEST} are read.`);
  if (/[\ud800-\udfff]/.test(text))
    throw new GameError(`${what} has characters beyond the basic plane; names have only letters.`);
  const lower = text.toLowerCase();
  let result: Expression[] | undefined;
  let current: Expression[] | undefined;
  const outer: Expression[][] = [];
  for (let i = 0; i < lower.length; ) {
    const code = lower.charCodeAt(i);
    if (isSpace(code)) {
      i++;
    } else if (code === COMMENT) {
      while (i < lower.length && lower.charCodeAt(i) !== NEWLINE) i++;
    } else if (code === OPEN) {
      if (!current && result) throw new GameError(`${what} goes on after its last parenthesis.`);
      if (outer.length >= DEEPEST)
        throw new GameError(`${what} nests more than ${DEEPEST} parentheses.`);
      const inner: Expression[] = [];
      if (current) {
        current.push(inner);
        outer.push(current);
      } else {
        result = inner;
      }
      current = inner;
      i++;
    } else if (code === CLOSE) {
      if (!current) throw new GameError(`${what} closes a parenthesis that it did not open.`);
      current = outer.pop();
      i++;
    } else {
      const start = i++;
      while (i < lower.length && !endsWord(lower.charCodeAt(i))) i++;
      const word = lower.slice(start, i);
      if (!current) {
        const where = result ? "after its last parenthesis" : "instead of a parenthesis";
        throw new GameError(`${what} has "${excerpt(word)}" ${where}.`);
      }
      current.push(word);
    }
  }
  if (!result) throw new GameError(`${what} is empty.`);
  if (current) throw new GameError(`${what} ends inside ${outer.length + 1} open parentheses.`);
  return result;
}

function endsWord(code: number): boolean {
  return code === CLOSE || code === OPEN || code === COMMENT || code === VARIABLE || isSpace(code);
}

/** An expression as a short text, for messages. */
export function excerpt(expression: Expression): string {
  const text =
    typeof expression === "string" ? expression : `(${expression.map(excerpt).join(" ")})`;
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
