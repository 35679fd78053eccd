/**
 * @file The real games: every walkthrough, the golden transcripts, the planner, the explorer.
 */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import { explorer } from "../../../src/environments/alfworld/explorer/explorer.ts";
import {
  admissibleCommands,
  type Game,
  gameOf,
  type Library,
  openLibrary,
  play,
  shortestPlan,
} from "../../../src/environments/alfworld/internals.ts";
import { alfworldWorld } from "../../../src/environments/alfworld/world.ts";
import type { LocalEnvironment, World } from "../../../src/environments/index.ts";
import { checkAlfworld } from "../../../tools/golden/alfworld.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";
import { REAL_GAMES, REAL_GAMES_PATH } from "./material.ts";

/** The step at which the goal is first reached; every command must be possible. */
function stepOfVictory(game: Game, commands: readonly string[]): number | undefined {
  let { start: state } = game;
  if (game.goal.isReached(state)) return 0;
  for (const [number, command] of commands.entries()) {
    const outcome = play(game, state, command);
    if (!outcome.admissible || !admissibleCommands(game, state).includes(command)) return undefined;
    state = outcome.state;
    if (game.goal.isReached(state)) return number + 1;
  }
  return undefined;
}

describe.skipIf(isMissing(REAL_GAMES_PATH, "golden/alfworld.json"))("the real games", () => {
  let world: World<LocalEnvironment>;
  let library: Library;

  beforeAll(async () => {
    library = await openLibrary(REAL_GAMES);
    world = alfworldWorld("alfworld", library, {
      types: undefined,
      winReward: 10,
      expert: "whimsical",
      unseenRooms: 0,
      variants: 1,
    });
  }, 120_000);

  it("are all there, by split and kind", async () => {
    expect(world.splits).toEqual(["train", "valid_seen"]);
    const counts = async (split: string): Promise<Record<string, number>> => {
      const tasks = await world.tasks(split);
      const found: Record<string, number> = { all: tasks.length };
      for (let i = 0; i < tasks.length; i++) {
        const type = tasks.type(i)!;
        found[type] = (found[type] ?? 0) + 1;
      }
      return found;
    };
    const kinds = (all: number, ...by: number[]) => ({
      all,
      pick_and_place_simple: by[0],
      look_at_obj_in_light: by[1],
      pick_clean_then_place_in_recep: by[2],
      pick_heat_then_place_in_recep: by[3],
      pick_cool_then_place_in_recep: by[4],
      pick_two_obj_and_place: by[5],
    });
    expect(await counts("train")).toEqual(kinds(3553, 790, 308, 650, 459, 533, 813));
    expect(await counts("valid_seen")).toEqual(kinds(140, 35, 13, 27, 16, 25, 24));
  });

  it("are all won by their walkthroughs at the last step; every fifth has no shorter plan", () => {
    const failed: string[] = [];
    for (const [number, { id }] of library.entries.entries()) {
      const file = library.read(id);
      const game = gameOf(file);
      if (stepOfVictory(game, file.walkthrough) !== file.walkthrough.length) failed.push(id);
      if (number % 5 !== 0) continue;
      const plan = shortestPlan(game, game.start) ?? [];
      if (plan.length !== file.walkthrough.length) failed.push(`${id}: ${plan}`);
      if (stepOfVictory(game, plan) !== plan.length) failed.push(`${id}: ${plan}`);
    }
    expect(failed).toEqual([]);
    expect(library.entries).toHaveLength(3693);
  }, 180_000);

  it("are verified through the interface of worlds", async () => {
    const found = await verifyWorld(world, world.splits, 20);
    expect(found).toEqual({ games: 40, won: 40, failures: [] });
  });

  it("answer as the golden transcripts say", async () => {
    const golden: unknown = JSON.parse(readFileSync(sharedFile("golden/alfworld.json"), "utf8"));
    const results = await checkAlfworld(golden, library);
    expect(results).toHaveLength(12);
    for (const { name, problems } of results) expect([name, problems]).toEqual([name, []]);
  });

  it("are won by the explorer: at least 95 % of valid_seen within 50 steps", async () => {
    const tasks = await world.tasks("valid_seen");
    const environment = world.environment();
    const share = (newExpert: (seed: number) => ReturnType<typeof explorer>): number => {
      let won = 0;
      for (let i = 0; i < tasks.length; i++) {
        const expert = newExpert(i);
        let observation = environment.reset(tasks.task(i));
        for (let step = 0; step < 50; step++) {
          const result = environment.step(expert.act(observation));
          if (!result.admissible) throw new Error("the explorer did what cannot be done");
          if (result.won) won++;
          if (result.done) break;
          observation = result.observation;
        }
      }
      return won / tasks.length;
    };
    expect(share(world.expert!)).toBeGreaterThanOrEqual(0.95);
    // Also without having learned from training games where things usually are.
    expect(share((seed) => explorer(seed))).toBeGreaterThanOrEqual(0.9);
  }, 60_000);
});
