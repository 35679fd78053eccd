/**
 * @file Constrained choice: a trie of the token ids of the allowed answers.
 */
import type { ConstraintCursor } from "./request.ts";

interface Node {
  readonly children: Map<number, Node>;
  /** The string that ends here. */
  text: string | null;
}

/** Where an answer is in the trie. */
export interface ChoiceCursor extends ConstraintCursor {
  /** Tokens of the longest answer, with the one that ends it where another could go on. */
  readonly longest: number;
  /** The answer, once nothing can follow it; null before. */
  finished(): string | null;
  /** The answer if it ended here. */
  text(): string | null;
  copy(): ChoiceCursor;
}

/** A constraint of any kind as a choice without end: it is over when a stop token is drawn. */
export function constraintCursor(cursor: ConstraintCursor): ChoiceCursor {
  return {
    longest: 0,
    allowed: () => cursor.allowed(),
    advance: (id) => cursor.advance(id),
    finished: () => null,
    text: () => null,
    copy: () => constraintCursor(cursor.copy()),
  };
}

/**
 * A cursor over the given strings. `encode` gives the ids of a string; one of `stopTokens` ends an
 * answer that is the beginning of another.
 */
export function choiceCursor(
  choices: readonly string[],
  encode: (text: string) => readonly number[],
  stopTokens: readonly number[],
): ChoiceCursor {
  const end = [...new Set(stopTokens)];
  const root: Node = { children: new Map(), text: null };
  for (const choice of choices) {
    const ids = encode(choice);
    if (ids.length === 0) throw new RangeError("choices: an empty string cannot be chosen");
    if (end.some((id) => ids.includes(id)))
      throw new RangeError(`choices: ${JSON.stringify(choice)} contains a stop token`);
    let node = root;
    for (const id of ids) {
      let next = node.children.get(id);
      if (!next) {
        next = { children: new Map(), text: null };
        node.children.set(id, next);
      }
      node = next;
    }
    node.text = choice;
  }
  return cursorAt(root, longestAnswer(root, end.length > 0), end);
}

function cursorAt(place: Node, longest: number, end: readonly number[]): ChoiceCursor {
  let at = place;
  return {
    longest,
    allowed: () => [...at.children.keys(), ...(at.text !== null ? end : [])],
    advance: (id) => {
      const next = at.children.get(id);
      if (!next) throw new Error(`choices: token ${id} is not allowed here`);
      at = next;
    },
    finished: () => (at.children.size === 0 ? at.text : null),
    text: () => at.text,
    copy: () => cursorAt(at, longest, end),
  };
}

function longestAnswer(node: Node, canEnd: boolean): number {
  const below = [...node.children.values()].map((child) => 1 + longestAnswer(child, canEnd));
  if (below.length === 0 || node.text === null) return Math.max(0, ...below);
  if (!canEnd)
    throw new RangeError(
      `choices: ${JSON.stringify(node.text)} is the beginning of another choice; stopTokens must name a token that can end it`,
    );
  return Math.max(1, ...below);
}
