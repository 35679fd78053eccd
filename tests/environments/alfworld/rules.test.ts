/**
 * @file The rules, on small games: every quirk of the specification, and the list of admissible
 * commands against trying everything.
 */
import { describe, expect, it } from "vitest";
import { readCommand } from "../../../src/environments/alfworld/engine/command.ts";
import { isPossible } from "../../../src/environments/alfworld/engine/rules.ts";
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
} from "../../../src/environments/alfworld/internals.ts";
import { seededRandom } from "../../../src/environments/index.ts";
import { anyText, smallGame } from "./material.ts";

/** Plays commands, and gives the answers. */
function answers(game: Game, ...commands: string[]): string[] {
  let state = game.start;
  return commands.map((command) => {
    const outcome = play(game, state, command);
    state = outcome.state;
    return outcome.text;
  });
}

/**
 * r1 and r2 (which has a door) stand side by side; r3 is a sink, r4 a microwave, r5 a fridge. o1 can be
 * cleaned, heated, cooled and cut; o2 is a knife; o3 is in r1 and in r3; o4 is a lamp inside r2; o5
 * holds o6.
 */
const FACTS = `
  (atLocation a1 l0)
  (receptacleAtLocation r1 l1) (receptacleAtLocation r2 l1) (receptacleAtLocation r3 l3)
  (receptacleAtLocation r4 l4) (receptacleAtLocation r5 l5)
  (openable r2) (openable r4) (openable r5)
  (receptacleType r1 s1type) (receptacleType r2 s1type) (receptacleType r3 sinkbasintype)
  (receptacleType r4 microwavetype) (receptacleType r5 fridgetype)
  (objectType o1 t1type) (objectType o2 knifetype) (objectType o3 t3type) (objectType o4 t4type)
  (objectType o5 t5type) (objectType o6 t3type)
  (canContain s1type t1type) (canContain s1type knifetype) (canContain s1type t3type)
  (canContain s1type t5type)
  (pickupable o1) (pickupable o2) (pickupable o3) (pickupable o5) (pickupable o6)
  (cleanable o1) (heatable o1) (coolable o1) (sliceable o1) (toggleable o4)
  (isReceptacleObject o5) (inReceptacleObject o6 o5)
  (inReceptacle o1 r1) (inReceptacle o2 r1) (inReceptacle o3 r1) (inReceptacle o3 r3)
  (inReceptacle o4 r2) (inReceptacle o5 r1)
  (objectAtLocation o1 l1) (objectAtLocation o2 l1) (objectAtLocation o3 l1)
  (objectAtLocation o4 l1) (objectAtLocation o5 l1)`;

/** The types that the rules know by name. */
const NAMED = [
  ["sinkbasintype", "rtype"],
  ["microwavetype", "rtype"],
  ["fridgetype", "rtype"],
  ["knifetype", "otype"],
] as const;

const kitchen = (): Game => smallGame(FACTS, "(holds a1 o6)", NAMED);

describe("the answers", () => {
  it("to looking around", () => {
    const game = kitchen();
    expect(game.intro).toBe(
      "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly " +
        "around you, you see a r1 1, a r2 1, a r3 1, a r4 1, and a r5 1.\n\nYour task is to: do it.",
    );
    expect(answers(game, "look", "inventory", "help", "go to r1 1", "look")).toEqual([
      "You are in the middle of a room. Looking quickly around you, you see nothing.",
      "You are not carrying anything.",
      "help yourself",
      "You arrive at r1 1. On the r1 1, you see a o1 1, a o2 1, a o3 1, and a o5 1.",
      "You are facing the r1 1, and r2 1. Next to it, you see nothing.",
    ]);
  });

  it("to doors", () => {
    expect(
      answers(
        ...([
          kitchen(),
          "go to r2 1",
          "examine r2 1",
          "open r1 1",
          "close r2 1",
          "open r2 1",
        ] as const),
        ...["open r2 1", "examine r2 1", "close r2 1", "examine r2 1", "open r4 1"],
      ),
    ).toEqual([
      "You arrive at r2 1. The r2 1 is closed.",
      "The r2 1 is closed.",
      "Nothing happens.",
      "Nothing happens.",
      "You open the r2 1. The r2 1 is open. In it, you see a o4 1.",
      "Nothing happens.",
      "The r2 1 is open. In it, you see a o4 1.",
      "You close the r2 1.",
      "The r2 1 is closed.",
      "Nothing happens.",
    ]);
  });

  it("to what is within reach of one place without going there", () => {
    const [arrival, again, open] = answers(kitchen(), "go to r1 1", "go to r2 1", "open r2 1");
    expect(arrival).toMatch(/^You arrive/);
    expect(again).toBe("Nothing happens.");
    expect(open).toMatch(/^You open the r2 1/);
  });

  it("to an object that is in two receptacles", () => {
    expect(
      answers(
        ...([
          kitchen(),
          "go to r1 1",
          "take o3 1 from r1 1",
          "examine r1 1",
          "go to r3 1",
        ] as const),
        ...["take o3 1 from r3 1", "go to r1 1", "move o3 1 to r1 1", "go to r3 1"],
      ),
    ).toEqual([
      "You arrive at r1 1. On the r1 1, you see a o1 1, a o2 1, a o3 1, and a o5 1.",
      "You pick up the o3 1 from the r1 1.",
      "On the r1 1, you see a o1 1, a o2 1, and a o5 1.",
      "You arrive at r3 1. On the r3 1, you see a o3 1.",
      "Nothing happens.",
      "You arrive at r1 1. On the r1 1, you see a o1 1, a o2 1, and a o5 1.",
      "You move the o3 1 to the r1 1.",
      "You arrive at r3 1. On the r3 1, you see a o3 1.",
    ]);
  });

  it("to looking when something was moved to its neighbour", () => {
    const moved = [...["go to r1 1", "open r2 1", "take o1 1 from r1 1", "look"]];
    expect(answers(kitchen(), ...moved, "move o1 1 to r2 1", "look").slice(-3)).toEqual([
      "You are facing the r1 1, and r2 1. Next to it, you see nothing.",
      "You move the o1 1 to the r2 1.",
      "You are facing the r1 1, and r2 1. Next to it, you see a o1 1.",
    ]);
    expect(answers(kitchen(), ...moved, "move o1 1 to r1 1", "look").at(-1)).toBe(
      "You are facing the r1 1, and r2 1. Next to it, you see nothing.",
    );
  });

  it("to treatments, and to examining what was treated", () => {
    const game = kitchen();
    const take = ["go to r1 1", "take o1 1 from r1 1"];
    const treat = (...commands: string[]): string[] => answers(game, ...take, ...commands).slice(2);
    expect(treat("examine o1 1", "inventory")).toEqual([
      "There's nothing special about o1 1.",
      "You are carrying: a o1 1.",
    ]);
    expect(
      treat(
        ...["go to r3 1", "clean o1 1 with r3 1", "examine o1 1", "go to r5 1"],
        ...["cool o1 1 with r5 1", "examine o1 1", "go to r4 1", "heat o1 1 with r4 1"],
        ...["examine o1 1", "cool o1 1 with r5 1"],
      ),
    ).toEqual([
      "You arrive at r3 1. On the r3 1, you see a o3 1.",
      "You clean the o1 1 using the r3 1.",
      "This is a clean o1 1.",
      "You arrive at r5 1. The r5 1 is closed.",
      "You cool the o1 1 using the r5 1.",
      "This is a cool and clean o1 1.",
      "You arrive at r4 1. The r4 1 is closed.",
      "You heat the o1 1 using the r4 1.",
      "This is a hot and clean o1 1.",
      "Nothing happens.",
    ]);
    expect(treat("go to r5 1", "cool o1 1 with r5 1", "examine o1 1").at(-1)).toBe(
      "This is a cold o1 1.",
    );
    expect(treat("go to r4 1", "heat o1 1 with r4 1", "examine o1 1").at(-1)).toBe(
      "This is a hot o1 1.",
    );
  });

  it("to cutting", () => {
    const game = kitchen();
    expect(
      answers(
        ...([game, "go to r1 1", "slice o1 1 with o2 1", "take o2 1 from r1 1"] as const),
        ...["slice o1 1 with o2 1", "slice o3 1 with o2 1", "move o2 1 to r1 1"],
        ...[
          "take o1 1 from r1 1",
          "examine o1 1",
          "go to r5 1",
          "cool o1 1 with r5 1",
          "examine o1 1",
        ],
        ...["go to r3 1", "clean o1 1 with r3 1", "examine o1 1"],
      ),
    ).toEqual([
      expect.stringMatching(/^You arrive/),
      "Nothing happens.",
      "You pick up the o2 1 from the r1 1.",
      "You sliced the o1 1 with the o2 1.",
      "Nothing happens.",
      "You move the o2 1 to the r1 1.",
      "You pick up the o1 1 from the r1 1.",
      "This is a sliced o1 1.",
      expect.stringMatching(/^You arrive/),
      "You cool the o1 1 using the r5 1.",
      "This is a cool sliced o1 1.",
      expect.stringMatching(/^You arrive/),
      "You clean the o1 1 using the r3 1.",
      "This is a cool and clean sliced o1 1.",
    ]);
  });

  it("to lamps, which work behind closed doors, and to things in things", () => {
    expect(
      answers(kitchen(), "use o4 1", "go to r1 1", "use o4 1", "use o4 1", "take o4 1 from r2 1"),
    ).toEqual([
      "Nothing happens.",
      expect.stringMatching(/^You arrive/),
      "You turn on the o4 1.",
      "You turn on the o4 1.",
      "Nothing happens.",
    ]);
    expect(
      answers(kitchen(), "go to r1 1", "examine o5 1", "take o5 1 from r1 1", "examine o5 1"),
    ).toEqual([
      expect.stringMatching(/^You arrive/),
      "Nothing happens.",
      "You pick up the o5 1 from the r1 1.",
      "This is a normal o5 1. In it, you see a o6 1.",
    ]);
  });

  it("numbers things of a class downwards, and knows basins", () => {
    const game = smallGame(
      "(atLocation a1 l0) (receptacleAtLocation r1_bar_b l1) (receptacleAtLocation r1_bar_a l2) " +
        "(receptacleAtLocation r2_bar_x_basin l3)",
      "(and)",
    );
    expect(game.receptacleNames).toEqual(["r1 2", "r1 1", "r2basin 1"]);
  });

  it("keeps white space at the edges apart from the command, and cases apart", () => {
    const game = kitchen();
    const at = (command: string): boolean => play(game, game.start, command).admissible;
    expect(at(" \t\n\u3000go to r1 1\u0085\u001c ")).toBe(true);
    for (const wrong of ["Go to r1 1", "go to  r1 1", "go to r1", "go to r1 1.", "", " ", "go to "])
      expect([wrong, at(wrong)]).toEqual([wrong, false]);
  });
});

describe("goals", () => {
  const facts =
    "(atLocation a1 l0) (receptacleAtLocation r1 l1) (openable r1) (inReceptacle o1 r1)";
  const reached = (goal: string, ...commands: string[]): boolean => {
    const game = smallGame(facts, goal);
    let { start: state } = game;
    for (const command of commands) ({ state } = play(game, state, command));
    return game.goal.isReached(state);
  };

  it.each([
    ["(and)", true],
    ["(or)", false],
    ["(inReceptacle o1 r1)", true],
    ["(not (inReceptacle o1 r1))", false],
    ["(or (opened r1) (atLocation a1 l0))", true],
    ["(imply (opened r1) (holdsAny a1))", true],
    ["(forall (?r - receptacle) (not (opened ?r)))", true],
    ["(forall (?o - object) (exists (?r - receptacle) (inReceptacle ?o ?r)))", true],
    ["(exists (?o - object ?p - object) (and (not (= ?o ?p)) (inReceptacle ?o r1)))", false],
    ["(exists (?o - object) (and (openable r1) (objectAtLocation ?o l1)))", false],
  ])("%s is %s at the start", (goal, expected) => {
    expect(reached(goal)).toBe(expected);
  });

  it("follow what happens", () => {
    expect(reached("(opened r1)", "go to r1 1", "open r1 1")).toBe(true);
    expect(reached("(forall (?r - receptacle) (not (opened ?r)))", "go to r1 1", "open r1 1")).toBe(
      false,
    );
  });
});

/** Every text that could be a command about the things of a game. */
function* everyCommand(game: Game): Generator<string> {
  yield* ["look", "inventory", "help"];
  for (const place of game.receptacleNames)
    for (const verb of ["go to", "open", "close", "examine"]) yield `${verb} ${place}`;
  for (const thing of game.objectNames) {
    yield `use ${thing}`;
    yield `examine ${thing}`;
    for (const place of game.receptacleNames) {
      yield `take ${thing} from ${place}`;
      yield `move ${thing} to ${place}`;
      for (const verb of ["clean", "heat", "cool"]) yield `${verb} ${thing} with ${place}`;
    }
    for (const other of game.objectNames) yield `slice ${thing} with ${other}`;
  }
}

describe("admissible commands", () => {
  const games = [
    kitchen(),
    ...Array.from({ length: 6 }, (_, index) =>
      compileHousehold(
        gameOfParameters({
          ...{ seed: 7, split: "train" as const, index, types: TASK_TYPES },
          difficulty: { receptacles: [5, 9], objects: [3, 9], closed: 0.5 },
        }),
      ),
    ),
  ];

  it("are those that would do something, once each, sorted, on random walks", () => {
    for (const [number, game] of games.entries()) {
      const random = seededRandom("walk", number);
      const all = [...everyCommand(game)];
      const possible = (state: State): string[] =>
        all.filter((command) => isPossible(game, state, readCommand(game, command)!)).sort();
      let state = game.start;
      for (let step = 0; step < 150; step++) {
        const list = admissibleCommands(game, state);
        expect(list).toEqual(possible(state));
        // Commands that change something are rarer than walking about; prefer them.
        const deeds = list.filter((command) => !/^(go|look|help|inv|examine)/.test(command));
        const choice = deeds.length > 0 && random.chance(0.6) ? deeds : list;
        state = play(game, state, random.pick(choice)).state;
      }
    }
  });

  it("never throw anything at any action, however long", () => {
    const random = seededRandom("bytes");
    const game = games[0]!;
    const words = [...everyCommand(game)].flatMap((command) => command.split(" "));
    for (let i = 0; i < 20_000; i++) {
      const action = random.chance(0.5)
        ? anyText(random, 60)
        : Array.from({ length: random.integer(8) }, () => random.pick(words)).join(" ");
      expect(typeof play(game, game.start, action).text).toBe("string");
    }
    const started = performance.now();
    for (const unit of ["x", " ", "go to r1 1", "take ", "\0", "\ud800", "with "]) {
      const action = unit.repeat(10_000_000 / unit.length);
      expect(play(game, game.start, action).text).toBe("Nothing happens.");
      expect(play(game, game.start, `${action}x`).text).toBe("Nothing happens.");
    }
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
