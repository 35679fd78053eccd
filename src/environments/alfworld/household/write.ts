/**
 * @file A household game as a file of the original's form, for keeping, showing and exchanging it.
 */

import { HELP } from "../files/help.ts";
import type { Expression } from "../pddl/expression.ts";
import { KINDS, type Problem } from "../pddl/problem.ts";
import type { HouseholdGame } from "./problem.ts";

/** The text of a game.tw-pddl. Its rules are those of our engine, so it carries none. */
export function gameFileText(
  { problem, task }: HouseholdGame,
  walkthrough: readonly string[],
): string {
  const rule = JSON.stringify({ task: [{ rhs: `Your task is to: ${task}` }] });
  return JSON.stringify({
    pddl_domain: "; The rules of openmanus-rl's household games: docs/environments.md",
    grammar: `grammar :: """${rule}""";\n\naction help {\n    template :: "help";\n    feedback :: "${HELP}";\n}\n`,
    pddl_problem: problemText(problem),
    solvable: true,
    walkthrough,
  });
}

/** PDDL that reads back as the same problem. */
export function problemText({ kinds, facts, goal }: Problem): string {
  const objects = KINDS.flatMap((kind) =>
    [...kinds].filter(([, its]) => its === kind).map(([id]) => `    ${id} - ${kind}`),
  );
  return [
    "(define (problem household)",
    "  (:domain alfred)",
    `  (:objects\n${objects.join("\n")})`,
    `  (:init\n${facts.map((fact) => `    (${fact.join(" ")})`).join("\n")})`,
    `  (:goal ${expressionText(goal)}))`,
    "",
  ].join("\n");
}

function expressionText(expression: Expression): string {
  return typeof expression === "string"
    ? expression
    : `(${expression.map(expressionText).join(" ")})`;
}
