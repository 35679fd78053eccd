/**
 * @file Generated questions about a made-up country: what to look up, what to calculate.
 */
import { EnvironmentError } from "../../environment.ts";
import { seededRandom, stableHash } from "../../random.ts";
import { ANSWER } from "../action.ts";
import { calculate } from "../calculator/expression.ts";
import { type Country, type Facts, makeCountry } from "./country.ts";
import { drawNames, KINDS, type Kind, wording } from "./kinds.ts";
import type { Question } from "./question.ts";

export const GENERATED_SPLITS = ["train", "test"] as const;

export interface GeneratedQuestions {
  readonly country: Country;
  /** The question of a split by its number. */
  question(split: string, index: number): Question;
}

export function generatedQuestions(seed: number, towns: number): GeneratedQuestions {
  const country = makeCountry(seed, towns);
  const facts = new Map(country.places.map(({ name, facts }) => [name, facts]));
  // One place in five, by its name, is asked about in the test split only.
  const isHeldOut = (name: string): boolean => stableHash("tools", name) % 5 === 0;
  const places = {
    train: country.places.filter(({ name }) => !isHeldOut(name)),
    test: country.places.filter(({ name }) => isHeldOut(name)),
  };
  return {
    country,
    question(split, index) {
      const random = seededRandom("tools", "question", seed, split, index);
      for (const kind of random.shuffled(KINDS)) {
        const drawn = drawNames(kind, places[split as "train" | "test"], random);
        if (!drawn) continue;
        const names = drawn.map(({ name }) => name);
        const solution = solve(kind, names, (place) => facts.get(place));
        return {
          id: `${split}/${seed}-${towns}-${index}`,
          split,
          type: kind.name,
          question: wording(kind, names),
          answer: solution.answer,
          solution: solution.actions,
        };
      }
      throw new EnvironmentError(
        "tools",
        `${towns} towns are too few for questions; take 30 or more.`,
      );
    },
  };
}

/** A call as an action. */
export function callText(name: string, given: Readonly<Record<string, string>>): string {
  return JSON.stringify({ name, arguments: given });
}

export function answerText(answer: string): string {
  return callText(ANSWER.name, { answer });
}

function solve(
  kind: Kind,
  names: readonly string[],
  factsOf: (place: string) => Facts | undefined,
): { actions: readonly string[]; answer: string } {
  const actions: string[] = [];
  const values: string[] = [];
  const searched = new Set<string>();
  for (const [named, field] of kind.needs(names)) {
    const place = named === "*" ? values.at(-1)! : named;
    if (!searched.has(place)) actions.push(callText("search", { query: place }));
    searched.add(place);
    values.push(factsOf(place)![field]!);
  }
  const expression = kind.expression?.(values);
  if (expression !== undefined) actions.push(callText("calculator", { expression }));
  const answer = expression === undefined ? values.at(-1)! : calculate(expression);
  return { actions: [...actions, answerText(answer)], answer };
}
