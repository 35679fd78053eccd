/**
 * @file ALFWorld's games: the file, the PDDL in it, and playing what was read. Tasks of our own worlds that somebody edited.
 */
import { admissibleCommands } from "../../../src/environments/alfworld/engine/admissible.ts";
import { compileGame, type Game } from "../../../src/environments/alfworld/engine/game.ts";
import { play } from "../../../src/environments/alfworld/engine/play.ts";
import { GameError } from "../../../src/environments/alfworld/errors.ts";
import { gameOf, readGameFile } from "../../../src/environments/alfworld/files/game-file.ts";
import { DIFFICULTIES } from "../../../src/environments/alfworld/household/difficulty.ts";
import { gameOfParameters } from "../../../src/environments/alfworld/household/world.ts";
import { gameFileText, problemText } from "../../../src/environments/alfworld/household/write.ts";
import { TASK_TYPES } from "../../../src/environments/alfworld/files/tasks.ts";
import { PREDICATES, readProblem } from "../../../src/environments/alfworld/pddl/problem.ts";
import { EnvironmentError, openWorld, type Task } from "../../../src/environments/index.ts";
import { type Target, texts, values } from "../target.ts";

/** Games of our own, one of each kind of task. */
function games() {
  return TASK_TYPES.map((type, index) =>
    gameOfParameters({
      ...{ seed: 1, split: "train", index, types: [type] },
      difficulty: { ...DIFFICULTIES.easy, receptacles: [3, 4], objects: [3, 4] },
    }),
  );
}

/** A few commands, also such that were made for another game. */
function playOn(game: Game): void {
  let state = game.start;
  for (let turn = 0; turn < 6; turn++) {
    const commands = admissibleCommands(game, state);
    const command = commands[(turn * 7) % Math.max(1, commands.length)] ?? "look";
    for (const said of [command, "examine desk 1", "inventory", "look"])
      state = play(game, state, said).state;
  }
}

const WORDS = [
  ...Object.keys(PREDICATES).map((name) => `(${name} `),
  ...[
    "(and ",
    "(exists (?o - object) ",
    "(forall ",
    "(not ",
    "(or ",
    "(:goal ",
    "(:init",
    ":objects",
  ],
  ...["?r - receptacle", "- object", "- otype", ")", "(imply ", "(= ?a ?b)"],
];

const pddl: Target = {
  name: "pddl",
  words: WORDS,
  errors: [GameError],
  forms: () => [texts(...games().map(({ problem }) => problemText(problem)))],
  open: () => ({
    run: (given) => playOn(compileGame(readProblem(given.toString()), { task: "x", help: "y" })),
  }),
};

const game: Target = {
  name: "game",
  words: WORDS,
  errors: [GameError, EnvironmentError],
  forms() {
    const files = games().map((made) => JSON.parse(gameFileText(made, ["look"])) as object);
    return [values(files), texts(...files.map((file) => JSON.stringify(file)))];
  },
  open: () => ({
    run: (given) => playOn(gameOf(readGameFile(given.toString()))),
  }),
};

/** Worlds of ours whose tasks carry data. */
const WORLDS = ["household", "maze", "textcraft", "wordle", "tools", "sql"];

async function tasksOfWorlds(): Promise<Task[]> {
  const all: Task[] = [];
  for (const name of WORLDS) {
    const world = await openWorld(name);
    const set = await world.tasks(world.splits[0]!);
    all.push(set.task(0), set.task(1));
    await world.close?.();
  }
  return all;
}

const task: Target = {
  name: "task",
  words: ["environment", "split", "data", "train", "id", "seed", "index", "question", "answer"],
  errors: [EnvironmentError],
  forms: async () => [values(await tasksOfWorlds())],
  async open() {
    const worlds = await Promise.all(WORLDS.map((name) => openWorld(name)));
    return {
      async run(given) {
        const read = JSON.parse(given.toString()) as Task;
        const world = worlds.find(({ name }) => name === read?.environment);
        if (!world) return;
        const environment = world.environment();
        try {
          await environment.reset(read);
          await environment.step("look");
        } finally {
          await environment.close?.();
        }
      },
      close: () => Promise.all(worlds.map((world) => world.close?.())),
    };
  },
};

export const targets: readonly Target[] = [pddl, game, task];
