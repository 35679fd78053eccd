/**
 * @file Why episodes of ALFWorld were lost (benchmarks/compare/failures.ts): one episode of each class.
 */
import { expect, it } from "vitest";
import { failureOf } from "../../benchmarks/compare/failures.ts";
import type { Trajectory, Turn } from "../../src/rollout/index.ts";

const ROOM = "You see a desk 1, and a shelf 1.\n\nYour task is to: put a clean mug in shelf.";

/** What was seen, what was done, and whether it could be done. */
function episode(turns: readonly [string, string, boolean][], won = false): Trajectory {
  return {
    won,
    turns: turns.map(([observation, action, admissible]) => ({
      ...{ observation, action, admissible },
    })) as unknown as Turn[],
  } as unknown as Trajectory;
}

it.each([
  ["won", undefined, episode([[ROOM, "go to desk 1", true]], true)],
  [
    "nothing happened, again and again",
    "went in circles",
    episode([
      [ROOM, "go to bed 1", false],
      ["Nothing happens.", "go to bed 1", false],
      ["Nothing happens.", "go to desk 1", true],
    ]),
  ],
  [
    "a mug stood there",
    "overlooked",
    episode([
      [ROOM, "go to desk 1", true],
      ["On the desk 1, you see a mug 2.", "go to shelf 1", true],
    ]),
  ],
  [
    "a mug was taken",
    "did not finish",
    episode([
      [ROOM, "go to desk 1", true],
      ["On the desk 1, you see a mug 2.", "take mug 2 from desk 1", true],
    ]),
  ],
  [
    "there was none",
    "searched to the end",
    episode([
      [ROOM, "go to desk 1", true],
      ["On the desk 1, you see a mugshot 2.", "go to shelf 1", true],
    ]),
  ],
] as const)("%s: %s", (_, expected, trajectory) => {
  expect(failureOf(trajectory)).toBe(expected);
});
