/**
 * @file How an episode that was not won looks: one of each class.
 */
import { expect, it } from "vitest";
import { FAILURES, failureOf } from "../../src/evaluation/index.ts";
import type { EpisodeStatus, Trajectory } from "../../src/rollout/index.ts";

type Shape = [status: EpisodeStatus, turns: readonly object[], score?: number];
const good = (action: string) => ({
  action,
  admissible: true,
  problems: [],
  reply: { finish: "stop" },
});
const unread = { action: null, admissible: null, problems: [{}], reply: { finish: "stop" } };
const wrong = { ...good("fly"), admissible: false };
const cut = { ...unread, reply: { finish: "length" } };
const ways = (count: number) => Array.from({ length: count }, (_, i) => good(`go ${i}`));

it.each<[string, Shape]>([
  ["not the agent's doing", ["environment error", [cut, cut]]],
  ["replies cut off", ["turn limit", [cut, cut, good("go")]]],
  ["replies not readable", ["parse failures", [unread, unread, good("go")]]],
  ["actions not admissible", ["turn limit", [wrong, unread, wrong, good("go")]]],
  [
    "goes round in a circle",
    [
      "turn limit",
      [
        ...ways(3),
        ...Array(4)
          .fill([good("a"), good("b")])
          .flat(),
      ],
    ],
  ],
  ["ended by a wrong move", ["lost", ways(9)]],
  ["context full", ["context full", ways(9)]],
  ["was getting on", ["turn limit", ways(9), 0.5]],
  ["out of turns", ["turn limit", ways(9)]],
])("%s", (name, [status, turns, score = 0]) => {
  const episode = { status, turns, score, won: false } as unknown as Trajectory;
  expect(failureOf(episode)).toBe(name);
  expect(Object.keys(FAILURES)).toContain(name);
  expect(failureOf({ ...episode, won: true })).toBeUndefined();
});
