/**
 * @file The ways to reach a goal: each choice of things for its variables, as a list of simple wishes.
 */
import { CAN, type Game } from "../engine/game.ts";
import type { State } from "../engine/state.ts";
import { type Formula, keyOf, type Term } from "../pddl/goal.ts";

/** What must be true at the end, by indices of objects, receptacles and locations. */
export interface Wishes {
  /** Object and the receptacle that it should be in. */
  readonly inside: readonly (readonly [object: number, receptacle: number])[];
  readonly cleaned: readonly number[];
  readonly heated: readonly number[];
  readonly cooled: readonly number[];
  readonly switched: readonly number[];
  readonly held: readonly number[];
  /** Where the agent should be. */
  readonly at: readonly number[];
}

type Wish = readonly [kind: keyof Wishes, thing: number, other: number];

const KIND_OF_PREDICATE: Readonly<Record<string, keyof Wishes>> = {
  inreceptacle: "inside",
  isclean: "cleaned",
  ishot: "heated",
  iscool: "cooled",
  istoggled: "switched",
  holds: "held",
  atlocation: "at",
};

/** Undefined where the goal has a form for which there is no planner. */
export function waysToGoal(game: Game, state: State): readonly Wishes[] | undefined {
  const ways = new Map<string, Wishes>();
  const bound = new Array<number>(game.goal.slots).fill(-1);
  const wishes: Wish[] = [];
  const value = (term: Term): number => (term >= 0 ? term : bound[~term]!);
  const index = (term: Term | undefined): number =>
    term === undefined ? -1 : game.goal.indices[value(term)]!;

  /** Decides the formulas one after the other; false where one is of an unknown form. */
  const walk = (formulas: readonly Formula[], at: number): boolean => {
    const formula = formulas[at];
    if (!formula) {
      add(ways, wishes);
      return true;
    }
    switch (formula.kind) {
      case "and":
        return walk([...formula.parts, ...formulas.slice(at + 1)], 0);
      case "exists":
        return bind(formula, 0, formulas.slice(at + 1));
      case "equal":
        return value(formula.terms[0]) === value(formula.terms[1]) ? walk(formulas, at + 1) : true;
      case "fixed":
        return formula.keys.has(keyOf(formula.terms.map(value))) ? walk(formulas, at + 1) : true;
      case "not": {
        const { part } = formula;
        if (part.kind === "equal")
          return value(part.terms[0]) !== value(part.terms[1]) ? walk(formulas, at + 1) : true;
        if (part.kind === "fixed")
          return part.keys.has(keyOf(part.terms.map(value))) ? true : walk(formulas, at + 1);
        return false;
      }
      case "changing": {
        const kind = KIND_OF_PREDICATE[formula.predicate];
        if (!kind) return false;
        const [first, second] = [index(formula.terms[0]), index(formula.terms[1])];
        const aboutAgent = kind === "held" || kind === "at";
        const [thing, other] = aboutAgent ? [second, -1] : [first, second];
        if (thing < 0 || !isConceivable(game, state, kind, thing, other)) return true;
        wishes.push([kind, thing, other]);
        const known = walk(formulas, at + 1);
        wishes.pop();
        return known;
      }
      default:
        return false;
    }
  };
  const bind = (
    formula: Formula & { kind: "exists" | "forall" },
    depth: number,
    rest: readonly Formula[],
  ): boolean => {
    const variable = formula.slots[depth];
    if (!variable) return walk([formula.body, ...rest], 0);
    return variable.domain.every((thing) => {
      bound[variable.slot] = thing;
      return bind(formula, depth + 1, rest);
    });
  };
  return walk([game.goal.formula], 0) ? [...ways.values()] : undefined;
}

/** What cannot be taken stays where it is. */
function isConceivable(
  game: Game,
  state: State,
  kind: keyof Wishes,
  thing: number,
  other: number,
): boolean {
  const can = game.abilities[thing] ?? 0;
  switch (kind) {
    case "inside":
      return (
        state.receptacles[other]!.objects.includes(thing) ||
        ((can & CAN.beTaken) !== 0 && game.mayHold[other * game.objectIds.length + thing] === 1)
      );
    case "held":
      return (can & CAN.beTaken) !== 0;
    default:
      return true;
  }
}

/** Ways that differ in the order of their wishes are one. */
function add(ways: Map<string, Wishes>, wishes: readonly Wish[]): void {
  const sorted = wishes.map((wish) => wish.join(":")).sort();
  const key = [...new Set(sorted)].join(" ");
  if (ways.has(key)) return;
  const things = (kind: keyof Wishes): number[] => [
    ...new Set(wishes.filter((wish) => wish[0] === kind).map((wish) => wish[1])),
  ];
  const inside = wishes.filter(([kind]) => kind === "inside");
  ways.set(key, {
    inside: inside.map(([, object, receptacle]) => [object, receptacle] as const),
    cleaned: things("cleaned"),
    heated: things("heated"),
    cooled: things("cooled"),
    switched: things("switched"),
    held: things("held"),
    at: things("at"),
  });
}
