/**
 * @file What the explorer says it thinks, in rooms of our own: it carries what an agent must know from
 * turn to turn, and speaks of nothing that was not seen.
 */
import { describe, expect, it } from "vitest";
import { thoughtOf } from "../../../src/environments/alfworld/explorer/thought.ts";
import type { Wish } from "../../../src/environments/alfworld/explorer/wish.ts";
import { TASK_TYPES } from "../../../src/environments/alfworld/files/tasks.ts";
import { findWorld, openWorld, type World } from "../../../src/environments/index.ts";

const WISH: Wish = {
  object: "apple",
  count: 1,
  treatment: "cool",
  target: "shelf",
  lamp: undefined,
};

/** Lamps may stand where no text tells. */
const TYPES = TASK_TYPES.filter((type) => type !== "look_at_obj_in_light");

interface Turn {
  readonly seen: string;
  readonly thought: string;
  readonly action: string;
}

async function episodes(options: Record<string, unknown>, count: number): Promise<Turn[][]> {
  const world: World = await openWorld(await findWorld("household"), options);
  const tasks = await world.tasks("train");
  const environment = world.environment();
  const all: Turn[][] = [];
  for (let i = 0; i < count; i++) {
    const expert = world.expert!(i);
    let observation = await environment.reset(tasks.task(i));
    const turns: Turn[] = [];
    for (let turn = 0; turn < 50; turn++) {
      const action = expert.act(observation);
      turns.push({ seen: observation.text, thought: expert.thought!(), action });
      const result = await environment.step(action);
      if (result.done) break;
      observation = result.observation;
    }
    all.push(turns);
  }
  return all;
}

describe("the explorer's thoughts", () => {
  it("say what is wanted, what is in hand and what is to be done with it", () => {
    const cool = { treatment: "cool" } as const;
    expect(thoughtOf(WISH, undefined, undefined, cool)).toBe("shelf needs cool apple");
    const seen = { ...cool, next: { found: "apple 2", place: "desk 1" } };
    expect(thoughtOf(WISH, undefined, undefined, seen)).toBe(
      "shelf needs cool apple apple 2 at desk 1",
    );
    expect(thoughtOf(WISH, "apple 2", undefined, cool)).toBe(
      "shelf needs cool apple, have apple 2",
    );
    expect(thoughtOf(WISH, "apple 2", undefined, {})).toBe("shelf needs apple, have apple 2");
    const two = { ...WISH, count: 2 as const, treatment: undefined };
    expect(thoughtOf(two, undefined, undefined, {})).toBe("shelf needs two apple");
    expect(thoughtOf(two, undefined, "apple 3", {})).toBe("shelf has apple 3, needs apple");
    const other = { found: "apple 1", place: "desk 1" };
    const both = { next: { found: "apple 3", place: "desk 1" }, other };
    expect(thoughtOf(two, undefined, undefined, both)).toBe(
      "shelf needs two apple apple 3, apple 1 at desk 1",
    );
    expect(thoughtOf(two, "apple 3", undefined, { other })).toBe(
      "shelf needs two apple, have apple 3, apple 1 at desk 1",
    );
    const look = { ...WISH, target: undefined, treatment: undefined, lamp: "desklamp" };
    expect(thoughtOf(look, "apple 1", undefined, {})).toBe("desklamp needs apple, have apple 1");
    const lamp = { next: { found: "desklamp 2", place: "desk 1" } };
    expect(thoughtOf(look, "apple 1", undefined, lamp)).toBe(
      "desklamp needs apple, have apple 1, desklamp 2 at desk 1",
    );
  });

  it("name what the action takes, and only what was seen before", async () => {
    for (const turns of await episodes({ expert: "orderly", types: TYPES }, 60)) {
      let told = "";
      for (const { seen, thought, action } of turns) {
        told += seen;
        expect(thought).not.toBe("");
        const taken = /^take (.+) from (.+)$/.exec(action);
        if (taken)
          expect(thought).toMatch(new RegExp(`${taken[1]}(, [a-z]+ \\d+)? at ${taken[2]}`));
        const named = /([a-z]+ \d+) at/.exec(thought)?.[1];
        if (named !== undefined) expect(told).toContain(named);
      }
    }
  });

  it("keep the second of two things in mind until it is taken", async () => {
    const types = ["pick_two_obj_and_place"];
    let kept = 0;
    for (const turns of await episodes({ expert: "orderly", types }, 60)) {
      const holding = turns.filter(({ thought }) => / needs two .*, have /.test(thought));
      const second = /, have .*, (.+) at (.+)$/.exec(holding.at(-1)?.thought ?? "");
      if (!second) continue;
      kept++;
      const later = turns.slice(turns.indexOf(holding.at(-1)!) + 1);
      const taken = later.find(({ action }) => action.startsWith("take "));
      const [, name, place] = second;
      expect(taken?.action).toBe(`take ${name} from ${place}`);
      // Said from the first thing on, in every turn.
      expect(holding.every(({ thought }) => thought.endsWith(`, ${name} at ${place}`))).toBe(true);
    }
    expect(kept).toBeGreaterThan(10);
  });

  it("an orderly one looks into places of a kind as the room lists them", async () => {
    let followed = 0;
    for (const turns of await episodes({ expert: "orderly", difficulty: "hard" }, 40)) {
      const listed = [...turns[0]!.seen.matchAll(/an? ([a-z]+ \d+)/g)].map((found) => found[1]!);
      const first = turns
        .filter(({ thought }) => !/have|has| at /.test(thought))
        .map(({ action }) => /^go to (.+)$/.exec(action)?.[1])
        .filter((name) => name !== undefined);
      for (const [i, name] of first.entries()) {
        const before = first[i - 1];
        if (before?.split(" ")[0] !== name.split(" ")[0] || before === name) continue;
        expect(listed.indexOf(name)).toBeGreaterThan(listed.indexOf(before!));
        followed++;
      }
    }
    expect(followed).toBeGreaterThan(10);
  });
});
