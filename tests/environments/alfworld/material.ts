/**
 * @file What the tests of ALFWorld share: where the real games are, and small problems.
 */

import { compileGame } from "../../../src/environments/alfworld/engine/game.ts";
import { type Game, readProblem } from "../../../src/environments/alfworld/internals.ts";
import type { Random } from "../../../src/environments/index.ts";
import { sharedFile } from "../../support/shared.ts";

/** In the shared folder. */
export const REAL_GAMES_PATH = "data/alfworld/json_2.1.1.tar.xz";
export const REAL_GAMES = sharedFile(REAL_GAMES_PATH);

/** A problem from facts and a goal; every id is declared with the kind that its first letter says. */
export function problemText(
  facts: string,
  goal: string,
  declared: readonly (readonly [string, string])[] = [],
): string {
  const kinds: Record<string, string> = {
    ...{ a: "agent", l: "location", r: "receptacle", o: "object", s: "rtype", t: "otype" },
  };
  const ids = new Set(`${facts} ${goal}`.match(/\b[alorst]\d[\w]*/g) ?? []);
  const objects = [...ids].map((id) => `${id} - ${kinds[id[0]!]}`);
  for (const [id, kind] of declared) objects.push(`${id} - ${kind}`);
  return `(define (problem p) (:domain alfred) (:objects ${objects.join(" ")}) (:init ${facts}) (:goal ${goal}))`;
}

export function smallGame(...parts: Parameters<typeof problemText>): Game {
  return compileGame(readProblem(problemText(...parts)), { task: "do it.", help: "help yourself" });
}

/** Any sequence of UTF-16 units, well-formed or not. */
export function anyText(random: Random, longest: number): string {
  const units = Array.from({ length: random.integer(longest + 1) }, () =>
    random.chance(0.7) ? 32 + random.integer(95) : random.integer(0x10000),
  );
  return String.fromCharCode(...units);
}
