/**
 * @file `npm run bench -- worlds` without Python: its options, and that ours plays the games that it measures.
 */
import { describe, expect, it } from "vitest";
import { ArgumentError } from "../../benchmarks/arguments.ts";
import { worlds } from "../../benchmarks/worlds/worlds.ts";
import { isMissing } from "../support/shared.ts";

describe("options", () => {
  it.each([
    [["--games", "0"], /--games: expected a whole number above 0, got "0"/],
    [["--steps", "2.5"], /--steps: expected a whole number above 0, got "2\.5"/],
    [["--seconds", "no"], /--seconds: expected a number above 0, got "no"/],
    [["--gmaes", "3"], /gmaes/],
  ])("%j is refused", async (words, message) => {
    const error = await Promise.resolve()
      .then(() => worlds.run(words))
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ArgumentError);
    expect((error as Error).message).toMatch(message);
  });
});

const GAMES = "data/alfworld/json_2.1.1.tar.xz";
it.skipIf(isMissing(GAMES))("our engine is timed in the published games", async () => {
  const words = ["--no-python", "--no-native", "--games", "2", "--steps", "4", "--rounds", "1"];
  const figures = await worlds.run([...words, "--seconds", "0.01"]);
  expect(figures).toMatchObject({
    native: [],
    alfworld: { games: 2, steps: 8, players: [{ player: "ours" }] },
  });
  const report = worlds.report(figures);
  expect(report).toMatch(/2 games, the same 8 actions for everybody/);
  expect(report).toMatch(/^ours +[\d,.]+ +[\d,.]+ +[\d,.]+$/m);
});
