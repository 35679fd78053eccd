/**
 * @file Grammars over bytes, and the machine that follows one: after each byte it knows which may come next. States
 * are sets of stacks, met again and again, so each is computed once.
 */

/** What a text must be. */
export type Grammar =
  | { readonly kind: "bytes"; readonly allowed: (byte: number) => boolean }
  | { readonly kind: "all"; readonly parts: readonly Grammar[] }
  | { readonly kind: "one"; readonly of: readonly Grammar[] }
  /** Any number of times. What is repeated must not be empty. */
  | { readonly kind: "repeated"; readonly part: Grammar }
  /** Found when it is needed: grammars may contain themselves. */
  | { readonly kind: "later"; readonly find: () => Grammar };

export const NOTHING: Grammar = { kind: "all", parts: [] };

export function literal(text: string): Grammar {
  const bytes = new TextEncoder().encode(text);
  const parts = Array.from(bytes, (wanted): Grammar => byteWhere((byte) => byte === wanted));
  return parts.length === 1 ? parts[0]! : { kind: "all", parts };
}

export function byteWhere(allowed: (byte: number) => boolean): Grammar {
  return { kind: "bytes", allowed };
}

export function oneOf(...of: readonly Grammar[]): Grammar {
  return of.length === 1 ? of[0]! : { kind: "one", of };
}

export function inOrder(...parts: readonly Grammar[]): Grammar {
  return { kind: "all", parts };
}

export function repeated(part: Grammar): Grammar {
  return { kind: "repeated", part };
}

export function maybe(part: Grammar): Grammar {
  return oneOf(part, NOTHING);
}

/** From `least` to `most` times. */
export function times(part: Grammar, least: number, most: number): Grammar {
  const needed = Array.from({ length: least }, () => part);
  if (most === Infinity) return inOrder(...needed, repeated(part));
  let rest: Grammar = NOTHING;
  for (let i = least; i < most; i++) rest = maybe(inOrder(part, rest));
  return inOrder(...needed, rest);
}

export function later(find: () => Grammar): Extract<Grammar, { kind: "later" }> {
  let found: Grammar | undefined;
  return {
    kind: "later",
    find: () => {
      found ??= find();
      return found;
    },
  };
}

/** What is still to come: a grammar, and what is behind it. */
interface Stack {
  readonly id: number;
  readonly top: Extract<Grammar, { kind: "bytes" }>;
  readonly below: Rest | undefined;
}

/** Grammars to come, the next one first. */
interface Rest {
  readonly id: number;
  readonly first: Grammar;
  readonly rest: Rest | undefined;
}

export interface State {
  readonly id: number;
  /** Whether the text may end here. */
  readonly accepts: boolean;
  readonly stacks: readonly Stack[];
  readonly next: (State | null | undefined)[];
}

export class Machine {
  readonly start: State;
  readonly #states = new Map<string, State>();
  readonly #rests = new Map<string, Rest>();
  readonly #stacks = new Map<string, Stack>();
  readonly #numbers = new Map<Grammar, number>();

  constructor(grammar: Grammar) {
    this.start = this.#stateOf([this.#rest(grammar, undefined)]);
  }

  /** The state after a byte; null: it cannot come here. */
  step(state: State, byte: number): State | null {
    const known = state.next[byte];
    if (known !== undefined) return known;
    const after = state.stacks.filter(({ top }) => top.allowed(byte));
    const next = after.length === 0 ? null : this.#stateOf(after.map(({ below }) => below));
    state.next[byte] = next;
    return next;
  }

  #rest(first: Grammar, rest: Rest | undefined): Rest {
    let number = this.#numbers.get(first);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(first, number);
    }
    const key = `${number} ${rest?.id ?? ""}`;
    let known = this.#rests.get(key);
    if (!known) {
      known = { id: this.#rests.size, first, rest };
      this.#rests.set(key, known);
    }
    return known;
  }

  #stateOf(rests: readonly (Rest | undefined)[]): State {
    const stacks = new Map<number, Stack>();
    const seen = new Set<number>();
    let accepts = false;
    const open = [...rests];
    while (open.length > 0) {
      const rest = open.pop();
      if (rest === undefined) {
        accepts = true;
        continue;
      }
      if (seen.has(rest.id)) continue;
      seen.add(rest.id);
      const { first, rest: below } = rest;
      switch (first.kind) {
        case "bytes": {
          const stack = this.#stack(rest, first, below);
          stacks.set(stack.id, stack);
          break;
        }
        case "all":
          open.push(
            first.parts.reduceRight<Rest | undefined>(
              (tail, part) => this.#rest(part, tail),
              below,
            ),
          );
          break;
        case "one":
          for (const part of first.of) open.push(this.#rest(part, below));
          break;
        case "repeated":
          open.push(below, this.#rest(first.part, rest));
          break;
        case "later":
          open.push(this.#rest(first.find(), below));
      }
    }
    const ids = [...stacks.keys()].sort((a, b) => a - b);
    const key = `${accepts ? "!" : ""}${ids.join(",")}`;
    let state = this.#states.get(key);
    if (!state) {
      state = {
        id: this.#states.size,
        accepts,
        stacks: ids.map((id) => stacks.get(id)!),
        next: [],
      };
      this.#states.set(key, state);
    }
    return state;
  }

  #stack(rest: Rest, top: Stack["top"], below: Rest | undefined): Stack {
    const key = String(rest.id);
    let stack = this.#stacks.get(key);
    if (!stack) {
      stack = { id: this.#stacks.size, top, below };
      this.#stacks.set(key, stack);
    }
    return stack;
  }
}
