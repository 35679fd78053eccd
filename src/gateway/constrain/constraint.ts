/**
 * @file A grammar as a constraint of generation: which tokens may come next, and when a reply may end.
 */
import type { Constraint, ConstraintCursor } from "../../generation/index.ts";
import type { Tokenizer } from "../../models/index.ts";
import { GatewayError } from "../errors.ts";
import { type Grammar, Machine, type State } from "./grammar.ts";
import { allowedTokens } from "./vocabulary.ts";

export function grammarConstraint(tokenizer: Tokenizer, grammar: Grammar): Constraint {
  const machine = new Machine(grammar);
  if (machine.start.stacks.length === 0 && !machine.start.accepts)
    throw new GatewayError("invalid_request", "the schema allows no value.");
  /** By state; most replies meet few. */
  const allowed = new Map<number, readonly number[]>();
  const tokensAt = (state: State): readonly number[] => {
    let known = allowed.get(state.id);
    if (!known) {
      known = allowedTokens(tokenizer, machine, state);
      allowed.set(state.id, known);
    }
    return known;
  };
  return {
    cursor(stopTokens) {
      const at = (start: State): ConstraintCursor => {
        let state = start;
        return {
          allowed: () => [...tokensAt(state), ...(state.accepts ? stopTokens : [])],
          advance(id) {
            for (const byte of tokenizer.tokenBytes(id)) {
              const next = machine.step(state, byte);
              if (!next) throw new RangeError("the schema allows no value: nothing can come next");
              state = next;
            }
          },
          copy: () => at(state),
        };
      };
      return at(machine.start);
    },
  };
}
