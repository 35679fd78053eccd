/**
 * @file Broken, truncated and hostile game files: a clear error or a game that can be played, never
 * anything else, and never for long.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { GameError } from "../../../src/environments/alfworld/errors.ts";
import { TASK_TYPES } from "../../../src/environments/alfworld/files/tasks.ts";
import { DIFFICULTIES } from "../../../src/environments/alfworld/household/difficulty.ts";
import { gameOfParameters } from "../../../src/environments/alfworld/household/world.ts";
import { gameFileText } from "../../../src/environments/alfworld/household/write.ts";
import {
  admissibleCommands,
  gameOf,
  openLibrary,
  play,
  readGameFile,
  readProblem,
  shortestPlan,
} from "../../../src/environments/alfworld/internals.ts";
import { EnvironmentError, openWorld, seededRandom } from "../../../src/environments/index.ts";
import { anyText, problemText, smallGame } from "./material.ts";

const made = gameOfParameters({
  ...{ seed: 0, split: "train", index: 1, types: TASK_TYPES, difficulty: DIFFICULTIES.easy },
});
const good = gameFileText(made, ["look"]);

/** Reads and plays a little; returns the error's message, if it is one of ours. */
function attempt(text: string): string | undefined {
  try {
    const game = gameOf(readGameFile(text));
    let { start: state } = game;
    for (let step = 0; step < 5; step++) {
      const list = admissibleCommands(game, state);
      state = play(game, state, list[(step * 7) % list.length]!).state;
      game.goal.isReached(state);
    }
    shortestPlan(game, state);
    return undefined;
  } catch (error) {
    if (!(error instanceof GameError)) throw error;
    return error.message;
  }
}

/** The good file with its problem replaced. */
const withProblem = (problem: string): string =>
  JSON.stringify({ ...(JSON.parse(good) as object), pddl_problem: problem });

describe("a game file", () => {
  it("that is good is read", () => {
    expect(attempt(good)).toBeUndefined();
  });

  it("that is cut off anywhere is refused", () => {
    for (let end = 0; end < good.length; end += 61)
      expect(attempt(good.slice(0, end))).toMatch(/not JSON/);
    const { pddl_problem: problem } = JSON.parse(good) as { pddl_problem: string };
    for (let end = 0; end < problem.trimEnd().length; end += 37)
      expect(attempt(withProblem(problem.slice(0, end)))).toMatch(/./);
  });

  it("with random damage is refused or played", () => {
    const random = seededRandom("damage");
    const { pddl_problem: problem } = JSON.parse(good) as { pddl_problem: string };
    const words = problem.split(/(\s+|[()])/);
    for (let i = 0; i < 1500; i++) {
      const damaged = [...words];
      for (let hits = 1 + random.integer(4); hits > 0; hits--) {
        const at = random.integer(damaged.length);
        const change = random.integer(4);
        if (change === 0) damaged.splice(at, 1);
        else if (change === 1) damaged[at] = random.pick(words);
        else if (change === 2) damaged.splice(at, 0, random.pick(words));
        else damaged[at] = anyText(random, 6);
      }
      attempt(withProblem(damaged.join("")));
    }
  });

  it.each([
    ["[]", /not a JSON object/],
    ["null", /not a JSON object/],
    ["{}", /"grammar" is not a text/],
    ['{"grammar": 3}', /"grammar" is not a text/],
    ['{"grammar": "", "pddl_problem": ""}', /no rule "task"/],
    [JSON.stringify({ ...(JSON.parse(good) as object), walkthrough: [1] }), /walkthrough/],
    [JSON.stringify({ ...(JSON.parse(good) as object), pddl_problem: undefined }), /pddl_problem/],
    [" ".repeat(17_000_000), /at most 16000000 are read/],
  ])("like %.40s is refused with the reason", (text, message) => {
    expect(attempt(text)).toMatch(message);
  });
});

describe("a problem", () => {
  const facts = "(atLocation a1 l0) (receptacleAtLocation r1 l1)";
  it.each([
    ["", /is empty/],
    ["hello", /instead of a parenthesis/],
    ["(define", /ends inside 1 open/],
    ["(define))", /closes a parenthesis/],
    ["(define) (more)", /goes on after/],
    ["(define) more", /after its last parenthesis/],
    ["(undefine)", /does not begin with "\(define"/],
    ["(define)", /0 sections "\(:goal …\)"/],
    [`${"(".repeat(1_000_000)}`, /nests more than 100/],
    [`(define (:goal ${"(and ".repeat(99_999)}`, /nests more than 100/],
    [`(define "${"x".repeat(9_000_000)}")`, /at most 8000000 are read/],
    ["(define (:objects \u{1f600} - object))", /beyond the basic plane/],
    [problemText("", "(and)"), /agent must be at one place; its facts name 0/],
    [problemText("(atLocation a1 l1) (atLocation a1 l2)", "(and)"), /its facts name 2/],
    [problemText(`${facts} (receptacleAtLocation r1 l2)`, "(and)"), /more than one location/],
    [problemText(`${facts} (holds a1 o1) (holds a1 o2)`, "(and)"), /holds more than one/],
    [problemText(`${facts} (inReceptacle r1 o1)`, "(and)"), /needs a object, and "r1" is a recep/],
    [problemText(`${facts} (inReceptacle o1)`, "(and)"), /should be about 2 things/],
    [problemText(`${facts} (explodes o1)`, "(and)"), /unknown predicate/],
    [problemText(`${facts} (__proto__ o1)`, "(and)"), /unknown predicate/],
    [problemText(`${facts} (constructor o1)`, "(and)"), /unknown predicate/],
    [problemText(`${facts} ((x))`, "(and)"), /not a fact/],
    [problemText(facts, "x"), /is no condition/],
    [problemText(facts, "(opened)"), /should be about 1 things/],
    [problemText(facts, "(opened ?r)"), /is not declared/],
    [problemText(facts, "(exists (?r - receptacle))"), /should have 2 parts/],
    [problemText(facts, "(exists ?r (opened ?r))"), /should have 2 parts|no list of variables/],
    [problemText(facts, "(exists (?r) (opened ?r))"), /has no type/],
    [problemText(facts, "(exists (?r - hamster) (opened ?r))"), /is not a type/],
    [problemText(facts, "(not (opened r1) (opened r1))"), /should have 1 parts/],
    [problemText(facts, "(checked r1)"), /no rule of the game decides/],
  ])("like %.50s is refused with the reason", (problem, message) => {
    expect(attempt(withProblem(problem))).toMatch(message);
  });

  it("with a goal that would take for ever is refused", () => {
    const many = Array.from({ length: 60 }, (_, i) => `(pickupable o${i})`).join(" ");
    const variables = ["?a", "?b", "?c", "?d", "?e"].map((name) => `${name} - object`).join(" ");
    const goal = `(exists (${variables}) (and (not (= ?a ?b)) (isHot ?c) (isHot ?d) (isHot ?e)))`;
    expect(attempt(withProblem(problemText(`${facts} ${many}`, goal)))).toMatch(/too many combin/);
  });

  it("with too many things is refused before it takes the memory", () => {
    const many = Array.from({ length: 5000 }, (_, i) => `(pickupable o${i})`).join(" ");
    expect(attempt(withProblem(problemText(`${facts} ${many}`, "(and)")))).toMatch(/at most 4096/);
  });

  it("with odd but harmless facts is played", () => {
    const game = smallGame(
      `${facts} (= (total-cost) 0) (inReceptacle o1 r1) (inReceptacle o1 r1) (inReceptacle o2 r2)
       (pickupable o1) ; a comment with ( in it
       (opened r1) (holds a1 o3)`,
      "(and)",
    );
    expect(play(game, game.start, "go to r1 1").text).toBe(
      "You arrive at r1 1. On the r1 1, you see a o1 1.",
    );
    expect(play(game, game.start, "inventory").text).toBe("You are carrying: a o3 1.");
  });

  it("with names like parts of JavaScript's objects is played", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    const problem = `(define (problem p) (:objects a1 - agent l0 l1 - location ${names.join(" ")} - receptacle)
      (:init (atLocation a1 l0) ${names.map((name) => `(receptacleAtLocation ${name} l1)`).join(" ")})
      (:goal (forall (?r - receptacle) (opened ?r))))`;
    expect(attempt(withProblem(problem))).toBeUndefined();
    expect(readProblem(problem).kinds.size).toBe(7);
  });
});

describe("a folder", () => {
  const root = mkdtempSync(join(tmpdir(), "hostile-"));
  afterAll(() => rmSync(root, { recursive: true }));
  const put = (path: string, text: string): void => {
    const file = join(root, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  };
  put("valid_seen/pick_and_place_simple-A-None-B-1/trial_1/game.tw-pddl", good);
  put("valid_seen/pick_and_place_simple-A-None-B-1/trial_2/game.tw-pddl", good.slice(0, 500));
  put("valid_seen/pick_and_place_simple-ASliced-None-B-1/trial_1/game.tw-pddl", good);
  put("valid_seen/pick_and_place_with_movable_recep-A-B-C-1/trial_1/game.tw-pddl", good);
  put(
    "valid_seen/look_at_obj_in_light-A-None-B-1/trial_1/game.tw-pddl",
    good.replace('"solvable":true', '"solvable":false'),
  );
  put("valid_seen/look_at_obj_in_light-A-None-B-1/trial_1/traj_data.json", "{}");
  put("elsewhere/any.tw-pddl", good);
  symlinkSync(root, join(root, "elsewhere/again"));

  it("gives the games that the original would play; links in circles end", async () => {
    const library = await openLibrary(join(root, "valid_seen"));
    expect(library.entries.map(({ id, type }) => [id, type])).toEqual([
      ["valid_seen/pick_and_place_simple-A-None-B-1/trial_1/game.tw-pddl", "pick_and_place_simple"],
      ["valid_seen/pick_and_place_simple-A-None-B-1/trial_2/game.tw-pddl", "pick_and_place_simple"],
    ]);
    expect(library.leftOut).toBe(3);
    const all = await openLibrary(root);
    expect(all.entries.length).toBeGreaterThanOrEqual(3);
  });

  it("names the broken file, and goes on with the others", async () => {
    const world = await openWorld("alfworld", { data: join(root, "valid_seen") });
    const tasks = await world.tasks("valid_seen");
    const environment = world.environment();
    expect((await environment.reset(tasks.task(0))).text).toMatch(/Welcome/);
    expect(() => environment.reset(tasks.task(1))).toThrow(/trial_2\/game.tw-pddl cannot be used/);
    expect(() => environment.reset({ ...tasks.task(0), id: "../../etc/passwd" })).toThrow(
      EnvironmentError,
    );
    expect(await environment.step("look")).toMatchObject({ admissible: true });
  });

  it("that is empty, missing or no folder of games is refused", async () => {
    mkdirSync(join(root, "nothing"));
    await expect(openLibrary(join(root, "nothing"))).rejects.toThrow(
      /holds no games.* is this the folder json_2\.1\.1\?/,
    );
    put("nothing/json_2.1.1.tar.xz", "x");
    await expect(openLibrary(join(root, "nothing"))).rejects.toThrow(
      /are they in .*nothing\/json_2\.1\.1\.tar\.xz\?/,
    );
    await expect(openLibrary(join(root, "missing"))).rejects.toThrow(/there is nothing at/);
    put("file.rar", "x");
    await expect(openLibrary(join(root, "file.rar"))).rejects.toThrow(/neither a folder nor/);
    const world = openWorld("alfworld", { data: root, types: "pick_two_obj_and_place" });
    await expect(world).rejects.toThrow(/no games of the kinds/);
  });
});
