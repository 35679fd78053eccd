/**
 * @file A tokenizer's vocabulary as a tree of bytes: which tokens a grammar allows next is found by walking both.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { Machine, State } from "./grammar.ts";

interface Node {
  readonly children: Map<number, Node>;
  /** Tokens that end here: some have equal bytes. */
  readonly ids: number[];
}

const known = new WeakMap<Tokenizer, Node>();

/** Tokens that are text; special ones never are. */
function vocabularyOf(tokenizer: Tokenizer): Node {
  const made = known.get(tokenizer);
  if (made) return made;
  const root: Node = { children: new Map(), ids: [] };
  for (let id = 0; id < tokenizer.vocabularySize; id++) {
    if (tokenizer.specialIds.has(id)) continue;
    const bytes = tokenizer.tokenBytes(id);
    if (bytes.length === 0) continue;
    let node = root;
    for (const byte of bytes) {
      let next = node.children.get(byte);
      if (!next) {
        next = { children: new Map(), ids: [] };
        node.children.set(byte, next);
      }
      node = next;
    }
    node.ids.push(id);
  }
  known.set(tokenizer, root);
  return root;
}

/** The tokens after which a text may still become one of the grammar's. */
export function allowedTokens(tokenizer: Tokenizer, machine: Machine, state: State): number[] {
  const allowed: number[] = [];
  const open: { node: Node; state: State }[] = [{ node: vocabularyOf(tokenizer), state }];
  while (open.length > 0) {
    const place = open.pop()!;
    for (const [byte, node] of place.node.children) {
      const next = machine.step(place.state, byte);
      if (!next) continue;
      for (const id of node.ids) allowed.push(id);
      if (node.children.size > 0) open.push({ node, state: next });
    }
  }
  return allowed;
}
