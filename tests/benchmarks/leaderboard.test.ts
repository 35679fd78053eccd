/**
 * @file The leaderboard: docs/leaderboard.md is as its entries are, goals are found, and a run's folder becomes an entry.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  bestOf,
  type Entry,
  oneAfterAnother,
  reached,
  readEntries,
  validationsOf,
  writeEntry,
} from "../../benchmarks/leaderboard/entry.ts";
import { leaderboardPage, leaderboardPictures } from "../../benchmarks/leaderboard/page.ts";
import { temporaryFolder } from "../rollout/support.ts";

const at = (step: number, held_out: number, unseen_rooms: number) => ({
  ...{ step, episodes: 128 * step, tokens: 20_000 * step, minutes: step / 4 },
  success: { held_out, unseen_rooms },
});
const entry: Entry = {
  ...{ name: "one", by: "us", algorithm: "gigpo", model: "0.4 M", start: "SFT" },
  ...{ expertEpisodes: 100, command: "true", seed: 0, commit: "0123abc", machine: "2 cores" },
  ...{ date: "2026-11-18", games: 100, turns: 30 },
  validations: [at(0, 0.5, 0.4), at(20, 0.88, 0.7), at(40, 0.91, 0.867)],
  chosen: { step: 40, won: { held_out: [180, 200] } },
};

it("is as its entries are", () => {
  const page = readFileSync(new URL("../../docs/leaderboard.md", import.meta.url), "utf8");
  expect(page).toBe(leaderboardPage(readEntries()));
  const pictures = leaderboardPictures(readEntries());
  expect(pictures.size).toBeGreaterThan(0);
  for (const [name, text] of pictures)
    expect(readFileSync(new URL(`../../docs/pictures/${name}`, import.meta.url), "utf8")).toBe(
      text,
    );
});

it("has commands that the scripts of today take", () => {
  for (const { name, command } of readEntries()) {
    const script = /examples\/\S+\.ts/.exec(command)![0];
    const text = readFileSync(new URL(`../../${script}`, import.meta.url), "utf8");
    const options = [...command.matchAll(/--([a-z-]+)/g)].map((one) => one[1]!);
    const unknown = options.filter((option) => !new RegExp(`\\b${option}"?: \\{ type`).test(text));
    expect({ name, unknown }).toEqual({ name, unknown: [] });
  }
});

it("counts on in a run that began where another ended", () => {
  const [start, end] = [at(0, 0.4, 0.4), at(10, 0.8, 0.7)];
  const whole = oneAfterAnother([
    [start, end],
    [at(0, 0.8, 0.7), at(5, 0.9, 0.8)],
  ]);
  expect(whole.map(({ step }) => step)).toEqual([0, 10, 15]);
  expect(whole[2]).toEqual({
    ...at(5, 0.9, 0.8),
    step: 15,
    episodes: end.episodes + at(5, 0, 0).episodes,
    tokens: end.tokens + at(5, 0, 0).tokens,
    minutes: end.minutes + at(5, 0, 0).minutes,
  });
  expect(oneAfterAnother([[start, end]])).toEqual([start, end]);
});

it("finds the first validation that reached a goal", () => {
  expect(reached(entry, "held_out", 0.867)?.step).toBe(20);
  expect(reached(entry, "unseen_rooms", 0.867)?.step).toBe(40);
  expect(reached(entry, "unseen_rooms", 0.9)).toBeUndefined();
  expect(reached(entry, "valid_seen", 0.1)).toBeUndefined();
  expect(bestOf([at(0, 0.5, 1), at(1, 0.9, 0), at(2, 0.9, 0)], "held_out").step).toBe(1);
});

it("puts who was sooner first, and says what nobody measured", () => {
  const slow = { ...entry, name: "slow", validations: [at(0, 0.5, 0.4), at(60, 0.95, 0.9)] };
  const page = leaderboardPage([slow, entry]);
  const held = page.slice(page.indexOf("## Held-out"), page.indexOf("## `valid_seen`"));
  expect(held.indexOf("| one ")).toBeLessThan(held.indexOf("| slow "));
  expect(held).toMatch(/\| one +\| +50\.0 % \| +91\.0 % \| +5 \| +2560 \| +0\.4 M \| +10 \| +5120/);
  expect(page).toContain("No entry has measured it while it trained.");
  expect(page).toContain("90.0 % of 200 (85.1 % to 93.4 %)");
});

it("reads a run's folder, and refuses an entry that is none", () => {
  const run = temporaryFolder();
  const lines = [
    {
      step: 0,
      "val/success_rate": 0.5,
      "val/unseen_rooms/success_rate": 0.4,
      "val/a_success_rate": 1,
    },
    { step: 1, "timing_s/step": 30 },
    {
      ...{ step: 2, "timing_s/step": 60, "timing_s/testing": 30, "val/success_rate": 0.6 },
      ...{ "training/episodes": 256, "training/tokens": 4000 },
    },
  ];
  writeFileSync(
    join(run, "metrics.jsonl"),
    `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`,
  );
  expect(validationsOf(run, "held_out")).toEqual([
    { step: 0, episodes: 0, tokens: 0, minutes: 0, success: { held_out: 0.5, unseen_rooms: 0.4 } },
    { step: 2, episodes: 256, tokens: 4000, minutes: 1, success: { held_out: 0.6 } },
  ]);
  const folder = join(run, "entries");
  mkdirSync(folder);
  writeEntry(entry, folder);
  expect(readEntries(folder)).toEqual([entry]);
  writeFileSync(join(folder, "other.json"), JSON.stringify({ ...entry, seed: "zero" }));
  expect(() => readEntries(folder)).toThrow(/other\.json: .*seed/s);
});

it("refuses on the command line what it cannot do", () => {
  const main = new URL("../../benchmarks/leaderboard/main.ts", import.meta.url).pathname;
  const said = (...words: string[]) => {
    const tsx = import.meta.resolve("tsx");
    return spawnSync(process.execPath, ["--import", tsx, main, ...words], { encoding: "utf8" });
  };
  expect(said("run", "nobody")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^there is no entry nobody/),
  });
  expect(said("add", "runs/none")).toMatchObject({ status: 2 });
});
