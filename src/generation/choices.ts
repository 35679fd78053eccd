/**
 * @file Constrained choice: a trie of the token ids of the allowed answers.
 */

interface Node {
  readonly children: Map<number, Node>;
  /** The string that ends here. */
  text: string | null;
}

/** Where an answer is in the trie. */
export interface ChoiceCursor {
  /** Tokens that may come next; `end` are those that end the answer here. */
  allowed(end: readonly number[]): number[];
  advance(id: number): void;
  /** The answer, once nothing can follow it; null before. */
  finished(): string | null;
  /** The answer if it ended here. */
  text(): string | null;
}

/** A cursor over the given strings; `encode` gives the ids of a string. */
export function choiceCursor(
  choices: readonly string[],
  encode: (text: string) => readonly number[],
): ChoiceCursor {
  const root: Node = { children: new Map(), text: null };
  for (const choice of choices) {
    const ids = encode(choice);
    if (ids.length === 0) throw new RangeError("choices: an empty string cannot be chosen");
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
  let at = root;
  return {
    allowed: (end) => [...at.children.keys(), ...(at.text !== null ? end : [])],
    advance: (id) => {
      const next = at.children.get(id);
      if (!next) throw new Error(`choices: token ${id} is not allowed here`);
      at = next;
    },
    finished: () => (at.children.size === 0 ? at.text : null),
    text: () => at.text,
  };
}
