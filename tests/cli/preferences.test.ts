/**
 * @file From a search to what is learned from it, by commands: rollout, dpo, reward-model, its judgement in a search, and
 * sft of what was won.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { readFindings, readTrajectories } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { LIGHTS, warmTinyFolder } from "../training/support/runs.ts";

const parent = temporaryFolder();
const place = (name: string) => join(parent, name);
let model: string;
let out: string[];
let errors: string[];

beforeAll(async () => {
  model = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
});
beforeEach(() => {
  out = [];
  errors = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void out.push(text));
  vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
});
afterEach(() => vi.restoreAllMocks());

const FORM = ["--bare", "--hide-actions", "--reply-tokens", "6", "--tasks", "6"];
const played = (name: string, ...more: string[]) =>
  main(["rollout", LIGHTS, "--model", model, ...FORM, "--out", place(name), ...more]);
const learned = (command: string, name: string, ...more: string[]) =>
  main([command, "--model", model, "--out", place(name), "--lr", "1e-4", "--json", ...more]);
const report = () => JSON.parse(out.join("\n")) as Record<string, number>;

describe("a search", () => {
  it("leaves what it found, which dpo and reward-model learn from, and is judged by that", async () => {
    const mcts = ["--search", "mcts", "--budget-states", "30"];
    expect(await played("found", ...mcts)).toBe(0);
    const findings = readFindings(place("found/findings.jsonl"));
    const pairs = findings.reduce((sum, { preferences }) => sum + preferences.length, 0);
    const states = findings.reduce((sum, { values }) => sum + values.length, 0);
    expect(pairs).toBeGreaterThan(0);

    out = [];
    const steps = ["--data", place("found"), "--pairs", "steps", "--holdout", "1"];
    expect(await learned("dpo", "better", ...steps)).toBe(0);
    expect(report().learned! + report().heldOut!).toBe(pairs);
    expect(existsSync(place("better/config.json"))).toBe(true);

    out = [];
    expect(await learned("reward-model", "judge", "--kind", "steps", ...steps)).toBe(0);
    expect(report().learned! + report().heldOut!).toBe(states);
    expect(JSON.parse(readFileSync(place("judge/reward-model.json"), "utf8"))).toMatchObject({
      kind: "steps",
    });

    const judge = ["--judge", "reward_model", "--judge-path", place("judge")];
    const levels = ["--search", "tree_of_thoughts", "--width", "2", "--branches", "2"];
    expect(await played("judged", ...levels, ...judge)).toBe(0);
    expect([...readTrajectories(place("judged"))]).toHaveLength(6);
  });

  it("is an expert where there is none: sft learns what was won", async () => {
    expect(await played("won", "--episodes", "4", "--temperature", "1")).toBe(0);
    const won = [...readTrajectories(place("won"))].filter((episode) => episode.won).length;
    expect(won).toBeGreaterThan(0);
    out = [];
    const keep = ["--data", place("won"), "--keep", "won", "--holdout", "0", "--epochs", "1"];
    const world = `env.env_name=${LIGHTS}`;
    expect(await learned("sft", "imitated", ...keep, world)).toBe(0);
    expect(report().learned).toBe(won);
  });
});

describe("dpo", () => {
  it("learns from a file of TRL's, with an adapter", async () => {
    const file = place("pairs.jsonl");
    const row = (chosen: string, rejected: string) =>
      JSON.stringify({
        prompt: [{ role: "user", content: "It is red." }],
        chosen: [{ role: "assistant", content: chosen }],
        rejected: [{ role: "assistant", content: rejected }],
      });
    writeFileSync(file, `${row("stop", "go")}\n${row("stop", "wait")}\n`);
    const how = ["--data", file, "--holdout", "0", "--lora-rank", "2", "--kind", "ipo"];
    expect(await learned("dpo", "adapted", ...how, "--epochs", "2")).toBe(0);
    expect(report()).toMatchObject({ learned: 2, heldOut: 0, updates: 2 });
    expect(existsSync(place("adapted/model.safetensors"))).toBe(true);
  });

  it.each([
    [["dpo"], /dpo needs --out FOLDER/],
    [["dpo", "--out", "x", "--model", "y"], /dpo needs --data PLACE/],
    [
      ["dpo", "--out", "x", "--model", "y", "--data", "z", "--kind", "best"],
      /--kind takes one of sigmoid/,
    ],
    [
      ["reward-model", "--out", "x", "--model", "y", "--data", "z", "--lr", "0"],
      /--lr takes a number above 0/,
    ],
    [["sft", "--out", "x", "--keep", "some"], /--keep takes one of all, won, best/],
  ])("%j is refused", async (words, sentence) => {
    expect(await main(words)).toBe(2);
    expect(errors.join("\n")).toMatch(sentence);
  });
});
