/**
 * @file The planner against searching everything, from the start and from the middle of games.
 */
import { describe, expect, it } from "vitest";
import type { State } from "../../../src/environments/alfworld/engine/state.ts";
import { TASK_TYPES } from "../../../src/environments/alfworld/files/tasks.ts";
import {
  compileHousehold,
  gameOfParameters,
} from "../../../src/environments/alfworld/household/world.ts";
import {
  admissibleCommands,
  type Game,
  play,
  shortestPlan,
} from "../../../src/environments/alfworld/internals.ts";
import { seededRandom } from "../../../src/environments/index.ts";
import { smallGame } from "./material.ts";

/** Everything that can matter to what is possible later. */
function key({ location, held, receptacles, conditions }: State): string {
  const inside = receptacles.map(({ objects, opened }) => `${objects}${opened ? "+" : ""}`);
  return [location, held, inside.join("|"), conditions.join()].join(";");
}

/** Breadth first over all commands: the fewest that reach the goal. */
function fewest(game: Game, start: State): number | undefined {
  const known = new Set([key(start)]);
  let level = [start];
  for (let depth = 0; level.length > 0; depth++) {
    if (level.some((state) => game.goal.isReached(state))) return depth;
    const next: State[] = [];
    for (const state of level)
      for (const command of admissibleCommands(game, state)) {
        if (/^(look|help|inventory|examine|close)/.test(command)) continue;
        const after = play(game, state, command).state;
        if (known.has(key(after))) continue;
        known.add(key(after));
        next.push(after);
      }
    level = next;
  }
  return undefined;
}

describe("the planner", () => {
  it("finds the fewest commands, from the start and from anywhere", () => {
    for (let index = 0; index < 24; index++) {
      const game = compileHousehold(
        gameOfParameters({
          ...{ seed: 3, split: "train", index, types: TASK_TYPES },
          difficulty: { receptacles: [5, 5], objects: [2, 3], closed: 0.4 },
        }),
      );
      const random = seededRandom("plan", index);
      let state = game.start;
      for (let round = 0; round < 3; round++) {
        const plan = shortestPlan(game, state)!;
        expect([index, round, plan.length]).toEqual([index, round, fewest(game, state)]);
        for (let step = 0; step < 6; step++) {
          const list = admissibleCommands(game, state);
          const deeds = list.filter((command) => /^(take|move|open|use|heat|cool)/.test(command));
          const next = random.pick(deeds.length > 0 && random.chance(0.7) ? deeds : list);
          state = play(game, state, next).state;
        }
      }
    }
  }, 60_000);

  it("says so when there is no way, or a goal that it does not know", () => {
    const facts =
      "(atLocation a1 l0) (receptacleAtLocation r1 l1) (inReceptacle o1 r1) (objectType o1 t1type)";
    const plan = (goal: string) => {
      const game = smallGame(facts, goal);
      return shortestPlan(game, game.start);
    };
    // o1 cannot be picked up.
    expect(plan("(exists (?o - object) (holds a1 ?o))")).toBeUndefined();
    expect(plan("(exists (?o - object) (isHot ?o))")).toBeUndefined();
    expect(plan("(forall (?o - object) (isSliced ?o))")).toBeUndefined();
    expect(plan("(inReceptacle o1 r1)")).toEqual([]);
    expect(
      plan("(exists (?l - location) (and (atLocation a1 ?l) (receptacleAtLocation r1 ?l)))"),
    ).toEqual(["go to r1 1"]);
  });
});
