/**
 * @file The goal of a game: read from its PDDL, and decided for a state.
 *
 * What never changes (types, abilities) is decided while compiling: it narrows down which things a
 * variable can stand for, so that deciding a state means looking at a handful of objects.
 */

import type { State } from "../engine/state.ts";
import { GameError } from "../errors.ts";
import { type Expression, excerpt } from "./expression.ts";
import { type Kind, PREDICATES, type Problem, readKinds } from "./problem.ts";

/** A thing, as a number (see Goal.indices), or the variable ~slot. */
export type Term = number;

/** The predicates that actions change, with what they are about: object, receptacle, location. */
export type Changing =
  | "inreceptacle"
  | "objectatlocation"
  | "atlocation"
  | "holds"
  | "holdsany"
  | "opened"
  | "isclean"
  | "ishot"
  | "iscool"
  | "istoggled"
  | "issliced"
  | "ison";

/** A variable, and what it may stand for. */
export interface Variable {
  readonly slot: number;
  readonly domain: readonly number[];
}

export type Formula =
  | { readonly kind: "and" | "or"; readonly parts: readonly Formula[] }
  | { readonly kind: "not"; readonly part: Formula }
  | {
      readonly kind: "exists" | "forall";
      readonly slots: readonly Variable[];
      readonly body: Formula;
      /** The body's conditions by the number of variables that must be bound to decide them. */
      readonly stages: readonly (readonly Formula[])[];
    }
  | { readonly kind: "equal"; readonly terms: readonly [Term, Term] }
  /** True for the terms whose key (see keyOf) is in the set. */
  | { readonly kind: "fixed"; readonly terms: readonly Term[]; readonly keys: ReadonlySet<number> }
  | { readonly kind: "changing"; readonly predicate: Changing; readonly terms: readonly Term[] };

export interface Goal {
  readonly formula: Formula;
  /** For each term's thing its index among the game's objects, receptacles or locations, or −1. */
  readonly indices: readonly number[];
  readonly slots: number;
  /** Whether walking, opening and closing can decide it. */
  readonly watchesAgent: boolean;
  isReached(state: State): boolean;
}

export interface Indices {
  readonly object: ReadonlyMap<string, number>;
  readonly receptacle: ReadonlyMap<string, number>;
  readonly location: ReadonlyMap<string, number>;
}

const CONDITIONS: Readonly<Partial<Record<Changing, number>>> = {
  isclean: 1,
  ishot: 2,
  iscool: 4,
  istoggled: 8,
  issliced: 16,
  ison: 32,
};

const CHANGING: ReadonlySet<string> = new Set([
  ...["inreceptacle", "objectatlocation", "atlocation", "holds", "holdsany", "opened"],
  ...Object.keys(CONDITIONS),
]);

/** Goals that could take for ever to decide are refused: real ones try some hundred combinations. */
const MOST_COMBINATIONS = 1_000_000;

export function compileGoal(problem: Problem, indices: Indices): Goal {
  const ids = [...problem.kinds.keys()];
  const compiler = new GoalCompiler(problem, ids);
  const formula = compiler.formula(problem.goal, new Map());
  if (combinations(formula) > MOST_COMBINATIONS)
    throw new GameError("its goal has too many combinations of variables to be decided.");
  const indexOf = ids.map(
    (id) => indices.object.get(id) ?? indices.receptacle.get(id) ?? indices.location.get(id) ?? -1,
  );
  const bound = new Array<number>(compiler.slots).fill(-1);
  return {
    formula,
    indices: indexOf,
    slots: compiler.slots,
    watchesAgent: mentions(formula, ["atlocation", "opened"]),
    isReached: (state) => isTrue(formula, state, indexOf, bound),
  };
}

class GoalCompiler {
  slots = 0;
  readonly #problem: Problem;
  readonly #ids: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #fixed = new Map<string, ReadonlySet<number>>();

  constructor(problem: Problem, ids: readonly string[]) {
    this.#problem = problem;
    this.#ids = ids;
    this.#numbers = new Map(ids.map((id, index) => [id, index]));
  }

  formula(expression: Expression, scope: ReadonlyMap<string, number>): Formula {
    if (typeof expression === "string" || typeof expression[0] !== "string")
      throw new GameError(`its goal holds ${excerpt(expression)}, which is no condition.`);
    const [head, ...rest] = expression as readonly [string, ...Expression[]];
    const inner = (part: Expression): Formula => this.formula(part, scope);
    switch (head) {
      case "and":
      case "or":
        return { kind: head, parts: rest.map(inner) };
      case "not":
        return { kind: "not", part: inner(only(expression, 1)[0]!) };
      case "imply": {
        const [condition, consequence] = only(expression, 2);
        return {
          kind: "or",
          parts: [{ kind: "not", part: inner(condition!) }, inner(consequence!)],
        };
      }
      case "exists":
      case "forall":
        return this.#quantified(head, expression, scope);
      case "=": {
        const [one, other] = only(expression, 2);
        return { kind: "equal", terms: [this.#term(one!, scope), this.#term(other!, scope)] };
      }
      default:
        return this.#atom(expression, scope);
    }
  }

  #quantified(
    kind: "exists" | "forall",
    expression: readonly Expression[],
    scope: ReadonlyMap<string, number>,
  ): Formula {
    const [variables, body] = only(expression, 2);
    if (typeof variables === "string")
      throw new GameError(`${excerpt(expression)} has no list of variables.`);
    const kinds = readKinds(variables!);
    const inside = new Map(scope);
    const slots = [...kinds].map(([name, kind]) => {
      if (!name.startsWith("?"))
        throw new GameError(`the variable "${excerpt(name)}" needs a "?".`);
      inside.set(name, this.slots);
      return { slot: this.slots++, domain: this.#domain(kind) };
    });
    const formula = this.formula(body!, inside);
    return kind === "exists"
      ? narrowed(slots, formula)
      : { kind, slots, body: formula, stages: stagesOf(slots, [formula]) };
  }

  #domain(kind: Kind): number[] {
    return this.#ids.flatMap((id, index) => (this.#problem.kinds.get(id) === kind ? [index] : []));
  }

  #atom(expression: readonly Expression[], scope: ReadonlyMap<string, number>): Formula {
    const [predicate, ...words] = expression as readonly [string, ...Expression[]];
    const expected = Object.hasOwn(PREDICATES, predicate) ? PREDICATES[predicate]! : undefined;
    if (!expected)
      throw new GameError(
        `its goal holds ${excerpt(expression)}, which no rule of the game decides.`,
      );
    if (words.length !== expected.length)
      throw new GameError(`${excerpt(expression)} should be about ${expected.length} things.`);
    const terms = words.map((word) => this.#term(word, scope));
    return CHANGING.has(predicate)
      ? { kind: "changing", predicate: predicate as Changing, terms }
      : { kind: "fixed", terms, keys: this.#keys(predicate) };
  }

  #term(word: Expression, scope: ReadonlyMap<string, number>): Term {
    const slot = typeof word === "string" ? scope.get(word) : undefined;
    if (slot !== undefined) return ~slot;
    const number = typeof word === "string" ? this.#numbers.get(word) : undefined;
    if (number === undefined)
      throw new GameError(`its goal names ${excerpt(word)}, which is not declared.`);
    return number;
  }

  #keys(predicate: string): ReadonlySet<number> {
    let keys = this.#fixed.get(predicate);
    if (!keys) {
      const facts = this.#problem.facts.filter((fact) => fact[0] === predicate);
      keys = new Set(facts.map(([, ...ids]) => keyOf(ids.map((id) => this.#numbers.get(id)!))));
      this.#fixed.set(predicate, keys);
    }
    return keys;
  }
}

/** One number for one or two things. */
export function keyOf(things: readonly number[]): number {
  return things.length === 1 ? things[0]! : things[0]! * 0x100000 + things[1]!;
}

function only(expression: readonly Expression[], count: number): readonly Expression[] {
  if (expression.length !== count + 1)
    throw new GameError(`${excerpt(expression)} should have ${count} parts after its first word.`);
  return expression.slice(1);
}

/** Joins nested quantifiers, and keeps of each domain what the fixed conditions allow. */
function narrowed(slots: readonly Variable[], body: Formula): Formula {
  const conditions = conjuncts(body);
  const inner = conditions.length === 1 ? conditions[0]! : undefined;
  if (inner?.kind === "exists") return narrowed([...slots, ...inner.slots], inner.body);
  const used = new Set<Formula>();
  const domains = slots.map(({ slot, domain }) => {
    const tests = conditions.filter(
      (condition) =>
        condition.kind === "fixed" &&
        condition.terms.includes(~slot) &&
        condition.terms.every((term) => term === ~slot || term >= 0),
    );
    for (const test of tests) used.add(test);
    const allowed = domain.filter((thing) =>
      tests.every(
        (test) =>
          test.kind === "fixed" &&
          test.keys.has(keyOf(test.terms.map((term) => (term >= 0 ? term : thing)))),
      ),
    );
    return { slot, domain: allowed };
  });
  // The rarest first: its failures spare the others' loops.
  domains.sort((a, b) => a.domain.length - b.domain.length);
  const parts = conditions.filter((condition) => !used.has(condition));
  return {
    kind: "exists",
    slots: domains,
    body: { kind: "and", parts },
    stages: stagesOf(domains, parts),
  };
}

/** Each condition as early as its variables allow: most are decided before the loops get deep. */
function stagesOf(slots: readonly Variable[], conditions: readonly Formula[]): Formula[][] {
  const stages: Formula[][] = [[], ...slots.map(() => [])];
  for (const condition of conditions) {
    const used = slotsIn(condition);
    const last = slots.findLastIndex(({ slot }) => used.has(slot));
    stages[last + 1]!.push(condition);
  }
  return stages;
}

function mentions(formula: Formula, predicates: readonly Changing[]): boolean {
  switch (formula.kind) {
    case "and":
    case "or":
      return formula.parts.some((part) => mentions(part, predicates));
    case "not":
      return mentions(formula.part, predicates);
    case "exists":
    case "forall":
      return mentions(formula.body, predicates);
    case "changing":
      return predicates.includes(formula.predicate);
    default:
      return false;
  }
}

function slotsIn(formula: Formula): Set<number> {
  switch (formula.kind) {
    case "and":
    case "or":
      return new Set(formula.parts.flatMap((part) => [...slotsIn(part)]));
    case "not":
      return slotsIn(formula.part);
    case "exists":
    case "forall":
      return slotsIn(formula.body);
    default:
      return new Set(formula.terms.filter((term) => term < 0).map((term) => ~term));
  }
}

/** The parts of nested conjunctions. */
function conjuncts(formula: Formula): readonly Formula[] {
  return formula.kind === "and" ? formula.parts.flatMap(conjuncts) : [formula];
}

/** An upper bound of the work to decide the formula. */
function combinations(formula: Formula): number {
  switch (formula.kind) {
    case "and":
    case "or":
      return formula.parts.reduce((sum, part) => sum + combinations(part), 1);
    case "not":
      return combinations(formula.part);
    case "exists":
    case "forall":
      return formula.slots.reduce(
        (product, { domain }) => product * domain.length,
        combinations(formula.body),
      );
    default:
      return 1;
  }
}

type Indexed = readonly number[];

function isTrue(formula: Formula, state: State, indices: Indexed, bound: number[]): boolean {
  switch (formula.kind) {
    case "and":
      return areTrue(formula.parts, state, indices, bound);
    case "or":
      return formula.parts.some((part) => isTrue(part, state, indices, bound));
    case "not":
      return !isTrue(formula.part, state, indices, bound);
    case "exists":
      return (
        areTrue(formula.stages[0]!, state, indices, bound) &&
        existsFrom(formula.slots, formula.stages, 0, state, indices, bound)
      );
    case "forall":
      return holdsForAll(formula.slots, 0, formula.body, state, indices, bound);
    case "equal":
      return thingOf(formula.terms[0], bound) === thingOf(formula.terms[1], bound);
    case "fixed":
      return formula.keys.has(keyOfTerms(formula.terms, bound));
    case "changing":
      return isTrueNow(formula.predicate, formula.terms, state, indices, bound);
  }
}

/** keyOf, without making a list. */
function keyOfTerms(terms: readonly Term[], bound: readonly number[]): number {
  const first = thingOf(terms[0]!, bound);
  return terms.length === 1 ? first : first * 0x100000 + thingOf(terms[1]!, bound);
}

function areTrue(
  formulas: readonly Formula[],
  state: State,
  indices: Indexed,
  bound: number[],
): boolean {
  for (let i = 0; i < formulas.length; i++)
    if (!isTrue(formulas[i]!, state, indices, bound)) return false;
  return true;
}

function existsFrom(
  slots: readonly Variable[],
  stages: readonly (readonly Formula[])[],
  depth: number,
  state: State,
  indices: Indexed,
  bound: number[],
): boolean {
  if (depth === slots.length) return true;
  const { slot, domain } = slots[depth]!;
  const conditions = stages[depth + 1]!;
  for (let i = 0; i < domain.length; i++) {
    bound[slot] = domain[i]!;
    if (
      areTrue(conditions, state, indices, bound) &&
      existsFrom(slots, stages, depth + 1, state, indices, bound)
    )
      return true;
  }
  return false;
}

function holdsForAll(
  slots: readonly Variable[],
  depth: number,
  body: Formula,
  state: State,
  indices: Indexed,
  bound: number[],
): boolean {
  const variable = slots[depth];
  if (!variable) return isTrue(body, state, indices, bound);
  return variable.domain.every((thing) => {
    bound[variable.slot] = thing;
    return holdsForAll(slots, depth + 1, body, state, indices, bound);
  });
}

function thingOf(term: Term, bound: readonly number[]): number {
  return term >= 0 ? term : bound[~term]!;
}

function isTrueNow(
  predicate: Changing,
  terms: readonly Term[],
  state: State,
  indices: Indexed,
  bound: readonly number[],
): boolean {
  const first = indices[thingOf(terms[0]!, bound)]!;
  const second = terms.length > 1 ? indices[thingOf(terms[1]!, bound)]! : -1;
  switch (predicate) {
    case "inreceptacle":
      return second >= 0 && state.receptacles[second]!.objects.includes(first);
    case "objectatlocation":
      return second >= 0 && state.places[second]!.includes(first);
    case "atlocation":
      return state.location === second;
    case "holds":
      return second >= 0 && state.held === second;
    case "holdsany":
      return state.held >= 0;
    case "opened":
      return first >= 0 && state.receptacles[first]!.opened;
    default:
      return first >= 0 && (state.conditions[first]! & CONDITIONS[predicate]!) !== 0;
  }
}
