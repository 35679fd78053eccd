/**
 * @file BabyAI: the published transcripts, minigrid's levels, the rules of the text game, the planner, the explorer.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import { type Beginning, generateLevel } from "../../../src/environments/babyai/level/generate.ts";
import { LEVELS } from "../../../src/environments/babyai/level/levels.ts";
import { numpyRandom } from "../../../src/environments/babyai/level/numpy-random.ts";
import {
  EnvironmentError,
  type LocalEnvironment,
  openWorld,
  type Task,
  type World,
} from "../../../src/environments/index.ts";
import { isMissing } from "../../support/shared.ts";
import { actionOf, transcripts } from "../transcripts.ts";

const open = async (options: Record<string, unknown> = {}) =>
  (await openWorld("babyai", options)) as World<LocalEnvironment>;

const numbered = (number: number): Task => ({
  ...{ environment: "babyai", split: "train", id: `babyai_${number}`, data: { number } },
});

describe("the published games", () => {
  it.skipIf(isMissing("data/openmanus/babyai/train.parquet"))(
    "are said word for word, from their numbers alone, and won where they end",
    async () => {
      const environment = (await open({ tasks: "agentgym" })).environment();
      const counts = { episodes: 0, observations: 0, won: 0 };
      for (const { id, number, turns } of await transcripts("babyai", ["train", "val"])) {
        let text = environment.reset(numbered(number)).text;
        for (const [index, { said, reply }] of turns.entries()) {
          expect(text, `${id}, turn ${index}`).toBe(said);
          counts.observations++;
          const result = environment.step(actionOf(reply));
          text = result.observation.text;
          if (index === turns.length - 1 && result.won) counts.won++;
        }
        counts.episodes++;
      }
      expect(counts).toEqual({ episodes: 830, observations: 4758, won: 830 });
    },
    120_000,
  );
});

describe("levels", () => {
  it("are those that minigrid draws, in every detail", () => {
    const file = new URL("levels.json", import.meta.url);
    const golden = JSON.parse(readFileSync(file, "utf8")) as Record<string, Record<string, string>>;
    expect(Object.keys(golden)).toEqual(LEVELS.map(({ name }) => name));
    for (const level of LEVELS)
      for (const [seed, hash] of Object.entries(golden[level.name]!)) {
        const beginning = generateLevel(level, Number(seed), { keysMayBeLockedIn: true });
        expect(hashOf(beginning), `${level.name}, seed ${seed}`).toBe(hash);
      }
  });

  it("draw NumPy's numbers", () => {
    // numpy.random.default_rng(7): integers(0, 10) three times, uniform(), integers(3, 9) twice.
    const random = numpyRandom(7);
    const drawn = [1, 2, 3].map(() => random.integer(0, 10));
    const unit = random.unit();
    expect([...drawn, unit, random.integer(3, 9), random.integer(3, 9)]).toEqual(NUMPY);
  });
});

/** Printed by NumPy 2.4. */
const NUMPY = [9, 6, 6, 0.7756856902451935, 8, 8];

/** As minigrid prints a level. */
function hashOf(level: Beginning): string {
  const { width, height, cells, carried, agent, direction } = level;
  const rows = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => {
      if (x === agent.x && y === agent.y) return [">>", "VV", "<<", "^^"][direction]!;
      const thing = cells[y * width + x];
      if (!thing || thing.id === carried?.id) return "  ";
      const sign = { wall: "W", key: "K", ball: "A", box: "B", door: "D" }[thing.kind];
      return (thing.state === "locked" ? "L" : sign) + thing.color[0]!.toUpperCase();
    }).join(""),
  );
  const text = `${rows.join("\n")}\n${level.missionText}\n${level.limit}`;
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

describe("the text game", () => {
  it("refuses in the original's words", async () => {
    const environment = (await open()).environment();
    const world = { environment: "babyai", split: "train", id: "a door" };
    environment.reset({ ...world, data: { level: "UnlockLocalDist", seed: 3 } });
    const said = (action: string): string => environment.step(action).observation.text;
    expect(said("dance")).toBe("The action is not recognized. Please check valid actions.");
    expect(said(" ")).toBe("No change in state.");
    expect(said("drop")).toBe("You cannot drop the object, as you are not carrying anything.");
    expect(said("please CHECK")).toMatch(
      /^You can take the following actions: turn left, turn right, /,
    );
    for (let turns = 0; turns < 4; turns++) said("turn left");
    const first = environment.reset({ ...world, data: { level: "OpenRedDoor", seed: 1 } });
    const again = environment.reset({ ...world, data: { level: "OpenRedDoor", seed: 1 } });
    expect(again.text).toBe(first.text);
    expect(first.admissible).toEqual(
      expect.arrayContaining(["turn left", "check available actions"]),
    );
    expect(environment.step("TURN LEFT ").admissible).toBe(false);
  });

  it("counts only how a command ends: going through the door that is to be opened does not win", async () => {
    const world = await open({ levels: "OpenRedDoor" });
    const environment = world.environment();
    let seen = 0;
    for (let index = 0; index < 20; index++) {
      const task = (await world.tasks("train")).task(index);
      const through = environment.reset(task).admissible!.find((a) => a.startsWith("toggle and"));
      if (!through) continue;
      seen++;
      expect(environment.step(through).won).toBe(false);
      expect(environment.reset(task).text).toMatch(/^Your goal: open the red door\n/);
      expect((await world.solution!(task))!.at(-1)).toBe("toggle");
    }
    expect(seen).toBeGreaterThan(3);
  });

  it("rewards haste, and copies are independent", async () => {
    const environment = (await open()).environment();
    const task = { ...numbered(0), data: { level: "GoToRedBall", seed: 0 } };
    environment.reset(task);
    const slow = environment.clone();
    const quick = environment.step("go to red ball 1");
    for (let i = 0; i < 4; i++) slow.step("turn left");
    const late = slow.step("go to red ball 1");
    expect([quick.won, late.won]).toEqual([true, true]);
    expect(quick.reward - late.reward).toBeCloseTo((0.9 * 4) / 64, 12);
    expect(quick.score).toBe(quick.reward);
  });

  it("lists actions in its text where that is wanted", async () => {
    const environment = (await open({ list: true })).environment();
    const first = environment.reset(numbered(0));
    expect(
      first.text.endsWith(
        `\nAvailable actions: ${JSON.stringify(first.admissible).replaceAll(",", ", ")}`,
      ),
    ).toBe(true);
  });

  it("answers anything", async () => {
    const environment = (await open()).environment();
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.nat(39), (action, level) => {
        environment.reset(numbered(level));
        expect(typeof environment.step(action).observation.text).toBe("string");
      }),
      { numRuns: 60 },
    );
    for (const data of [undefined, {}, { number: -1 }, { number: 2 ** 40 }, { level: "Open" }])
      expect(() => environment.reset({ ...numbered(0), data: data as never })).toThrow(
        EnvironmentError,
      );
  });
});

describe("tasks of our own", () => {
  it("are all won by the planner's commands", async () => {
    const world = await open();
    const found = await verifyWorld(world, ["train", "test"], 78);
    expect(found).toEqual({ games: 156, won: 156, failures: [] });
  }, 60_000);

  it("are of every level but the one that commands cannot solve, and differ by seed", async () => {
    const types = async (options: Record<string, unknown>) => {
      const tasks = await (await open(options)).tasks("train");
      return new Set(Array.from({ length: 80 }, (_, index) => tasks.type(index)));
    };
    expect((await types({})).size).toBe(39);
    expect(await types({ levels: "Open,KeyInBox" })).toEqual(new Set(["Open", "KeyInBox"]));
    const first = async (seed: number) =>
      (await (await open({ seed })).tasks("train")).task(0).data;
    expect(await first(0)).not.toEqual(await first(1));
  });

  it("are won by the explorer, where one room is enough", async () => {
    const world = await open({ levels: "GoToRedBall,GoToLocalS8N7,PickupLoc,OpenRedDoor" });
    const environment = world.environment();
    const tasks = await world.tasks("test");
    let won = 0;
    for (let index = 0; index < 40; index++) {
      const expert = world.expert!(index);
      let observation = environment.reset(tasks.task(index));
      for (let step = 0; step < 50; step++) {
        const result = environment.step(expert.act(observation));
        observation = result.observation;
        if (result.won) won++;
        if (result.done) break;
      }
    }
    expect(won).toBeGreaterThanOrEqual(38);
  });
});
