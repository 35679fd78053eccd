/**
 * @file A game's PDDL problem as facts: what there is, what is true at the beginning, what is wanted.
 */
import { GameError } from "../errors.ts";
import { type Expression, excerpt, readExpression } from "./expression.ts";

export const KINDS = ["agent", "location", "receptacle", "object", "rtype", "otype"] as const;
export type Kind = (typeof KINDS)[number];

/** A true statement: the predicate, then what it is about. All lower case. */
export type Fact = readonly [predicate: string, ...ids: string[]];

export interface Problem {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly facts: readonly Fact[];
  readonly goal: Expression;
}

/** How many ids each predicate of the domain is about, and of which kinds. */
export const PREDICATES: Readonly<Record<string, readonly Kind[]>> = {
  atlocation: ["agent", "location"],
  receptacleatlocation: ["receptacle", "location"],
  objectatlocation: ["object", "location"],
  openable: ["receptacle"],
  opened: ["receptacle"],
  inreceptacle: ["object", "receptacle"],
  isreceptacleobject: ["object"],
  inreceptacleobject: ["object", "object"],
  receptacletype: ["receptacle", "rtype"],
  cancontain: ["rtype", "otype"],
  objecttype: ["object", "otype"],
  holds: ["agent", "object"],
  holdsany: ["agent"],
  isclean: ["object"],
  cleanable: ["object"],
  ishot: ["object"],
  heatable: ["object"],
  iscool: ["object"],
  coolable: ["object"],
  pickupable: ["object"],
  moveable: ["object"],
  toggleable: ["object"],
  ison: ["object"],
  istoggled: ["object"],
  sliceable: ["object"],
  issliced: ["object"],
};

export function readProblem(text: string): Problem {
  const [define, ...sections] = readExpression(text, "its problem");
  if (define !== "define") throw new GameError('its problem does not begin with "(define".');
  const section = (name: string): readonly Expression[] => {
    const found = sections.filter((each) => Array.isArray(each) && each[0] === name);
    if (found.length !== 1)
      throw new GameError(`its problem has ${found.length} sections "(${name} …)" instead of one.`);
    return found[0]!.slice(1) as readonly Expression[];
  };
  const goal = section(":goal");
  if (goal.length !== 1) throw new GameError("its goal must be one expression.");
  const kinds = readKinds(section(":objects"));
  return { kinds, facts: readFacts(section(":init"), kinds), goal: goal[0]! };
}

/** `a b - kind c - kind …` */
export function readKinds(words: readonly Expression[]): Map<string, Kind> {
  const kinds = new Map<string, Kind>();
  let waiting: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (typeof word !== "string") throw new GameError(`${excerpt(word)} is not a name.`);
    if (word !== "-") {
      waiting.push(word);
      continue;
    }
    const kind = words[++i];
    if (!KINDS.includes(kind as Kind))
      throw new GameError(`"${excerpt(kind ?? "")}" is not a type; there are ${KINDS.join(", ")}.`);
    for (const name of waiting) kinds.set(name, kind as Kind);
    waiting = [];
  }
  if (waiting.length > 0) throw new GameError(`"${excerpt(waiting[0]!)}" has no type.`);
  return kinds;
}

function readFacts(init: readonly Expression[], kinds: ReadonlyMap<string, Kind>): Fact[] {
  const facts: Fact[] = [];
  for (const fact of init) {
    const predicate = fact[0];
    if (typeof fact === "string" || typeof predicate !== "string")
      throw new GameError(`its facts hold ${excerpt(fact)}, which is not a fact.`);
    // Costs, such as (= (total-cost) 0): no rule of the game reads them.
    if (predicate === "=") continue;
    const expected = Object.hasOwn(PREDICATES, predicate) ? PREDICATES[predicate] : undefined;
    if (!expected) throw new GameError(`its facts hold the unknown predicate ${excerpt(fact)}.`);
    if (fact.length !== expected.length + 1)
      throw new GameError(`${excerpt(fact)} should be about ${expected.length} things.`);
    for (let i = 0; i < expected.length; i++) {
      const id = fact[i + 1]!;
      const kind = typeof id === "string" ? kinds.get(id) : undefined;
      if (kind !== expected[i])
        throw new GameError(
          `${excerpt(fact)} needs a ${expected[i]}, and "${excerpt(id)}" is ${kind ? `a ${kind}` : "not declared"}.`,
        );
    }
    facts.push(fact as unknown as Fact);
  }
  return facts;
}
