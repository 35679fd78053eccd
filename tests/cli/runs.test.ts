/**
 * @file What commands do with a run's folder, as a user goes from one to the next: train --json, eval, play,
 * trajectories, rollout with the prompts that eval has; and sentences in place of stacks.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { initModelFolder, presetConfig } from "../../src/models/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { LIGHTS, tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const SILENT = fileURLToPath(new URL("../support/world-without-expert.ts", import.meta.url));
const ONE_SPLIT = fileURLToPath(new URL("../support/world-of-one-split.ts", import.meta.url));
const parent = temporaryFolder();
const run = join(parent, "run");
let warm: string;

let out: string[];
let errors: string[];
beforeEach(() => {
  [out, errors] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text = "") => void out.push(String(text)));
  vi.spyOn(console, "error").mockImplementation((text = "") => void errors.push(String(text)));
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation(() => true);
});
afterEach(() => vi.restoreAllMocks());

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
});

const lines = () => out.join("\n");

describe("a run's folder", () => {
  it("train --json: one object, with the paths of the best and the last policy", async () => {
    const settings = [...tinySettings(warm, run), "trainer.total_epochs=2", "trainer.test_freq=1"];
    expect(await main(["train", "--json", "--model", warm, ...settings]), errors.join("\n")).toBe(
      0,
    );
    const facts = JSON.parse(lines()) as {
      iterations: number;
      folder: string;
      model: string;
      best: { folder: string; successRate: number };
      report: string;
    };
    expect(facts).toMatchObject({ iterations: 2, folder: run });
    for (const path of [facts.model, facts.best.folder, facts.report])
      expect(existsSync(path)).toBe(true);
    expect(facts.best.successRate).toBeGreaterThanOrEqual(0);
  });

  it("eval takes it, and its best policy plays", async () => {
    expect(await main(["eval", run, "--json"]), errors.join("\n")).toBe(0);
    const { model, all } = JSON.parse(lines()) as { model: string; all: { episodes: number } };
    expect(model).toMatch(/run\/checkpoints\/step-00000[12]\/actor$/);
    expect(all.episodes).toBe(12);
  });

  it("eval of a folder without a model says what is expected", async () => {
    expect(await main(["eval", parent])).toBe(1);
    expect(errors.join("\n")).toMatch(/there is no model in .*A run's folder will do/);
  });

  it("eval of a split that is smaller than what training held out", async () => {
    const folder = join(parent, "held-out");
    const settings = [...tinySettings(warm, folder), "data.held_out=6", "trainer.total_epochs=1"];
    expect(await main(["train", ...settings]), errors.join("\n")).toBe(0);
    out = [];
    const unseen = [`env.env_name=${ONE_SPLIT}`, "--split", "valid_unseen", "--json"];
    expect(await main(["eval", folder, ...unseen]), errors.join("\n")).toBe(0);
    expect(JSON.parse(lines())).toMatchObject({ split: "valid_unseen", all: { episodes: 5 } });
    const [own, ...rest] = [`trainer.default_local_dir=${folder}-2`, "data.held_out=40"];
    expect(await main(["train", ...settings, own, ...rest])).toBe(1);
    expect(errors.join("\n")).toMatch(/40 tasks are to be held out, but the split "train"/);
  });

  it("play --model knows its world", async () => {
    expect(await main(["play", "--model", run, "--task", "1"]), errors.join("\n")).toBe(0);
    expect(lines()).toMatch(/^It is \w+\.\n\n> /);
    expect(lines()).toMatch(/(won|turn limit) after \d turns\./);
  });

  it("trajectories show --tokens finds the run's own tokenizer", async () => {
    for (const place of [run, join(run, "trajectories")]) {
      out = [];
      expect(await main(["trajectories", "show", place, "--tokens"])).toBe(0);
      expect(lines()).toMatch(/It is/);
      expect(lines()).not.toMatch(/no tokenizer/);
    }
  });

  it("rollout --model gives the prompts that eval gives", async () => {
    const [episode] = readTrajectories(join(run, "validation"));
    expect(
      await main([
        "rollout",
        LIGHTS,
        "--model",
        join(run, "checkpoints/step-000002/actor"),
        "--dry-run",
        "--json",
        "--split",
        "test",
      ]),
    ).toBe(0);
    const { messages } = JSON.parse(lines()) as { messages: { content: string }[] };
    // Bare, and without the list of actions: as it was trained.
    expect(messages.map(({ content }) => content.replace(/red|green|blue/, ""))).toEqual(
      episode!.turns[0]!.messages.map(({ content }) => content.replace(/red|green|blue/, "")),
    );
  });
});

describe("sft", () => {
  it("--json: one object; the making of episodes shows where there is no terminal", async () => {
    const shown: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) =>
      Boolean(shown.push(String(text))),
    );
    const words = ["sft", "--json", "--out", join(parent, "more"), "--episodes", "20"];
    const few = ["--epochs", "1", "--model", warm];
    expect(await main([...words, ...few, ...tinySettings(warm, run)]), errors.join("\n")).toBe(0);
    expect(JSON.parse(lines())).toMatchObject({ model: join(parent, "more"), success: null });
    expect(shown.join("")).toMatch(/expert episodes: 20 of 20\n/);
    expect(shown.join("")).toMatch(/warm start: \d+ of \d+, loss/);
  });

  it("of a world without an expert: a sentence", async () => {
    const settings = [...tinySettings(warm, run), `env.env_name=${SILENT}`];
    expect(await main(["sft", "--out", join(parent, "x"), ...settings])).toBe(1);
    expect(errors.join("\n")).toMatch(/silent has no scripted expert .* --data FILE/);
  });
});

it("eval --split plays a split of data that has no training tasks to set aside", async () => {
  const world = join(parent, "unseen.ts");
  writeFileSync(
    world,
    `import lights from ${JSON.stringify(LIGHTS)};
     export default {
       ...lights,
       open: async (options) => {
         const world = await lights.open(options);
         return { ...world, splits: ["test"] };
       },
     };`,
  );
  const words = [`env.env_name=${world}`, "data.held_out=30"];
  expect(await main(["eval", warm, "--split", "test", "--json", ...words]), errors.join("\n")).toBe(
    0,
  );
  expect(JSON.parse(lines())).toMatchObject({ split: "test", all: { episodes: 12 } });
  expect(await main(["eval", warm, "--split", "held_out", ...words])).toBe(1);
  expect(errors.join("\n")).toMatch(/30 tasks are to be held out/);
});

it("a logger's name that is a mistake gets the nearest one", async () => {
  expect(await main(["train", ...tinySettings(warm, run), "trainer.logger=[wandbb]"])).toBe(1);
  expect(errors.join("\n")).toMatch(
    /trainer.logger: there is no logger "wandbb"; did you mean "wandb"/,
  );
});

it("a model folder that is there is kept where that is asked for, and refused where not", () => {
  const folder = join(parent, "twice");
  const options = { config: presetConfig("tiny"), texts: ["a b c"], vocabularySize: 300, seed: 1 };
  const first = initModelFolder(folder, options);
  expect(() => initModelFolder(folder, options)).toThrow(/exists already; .*keepExisting/);
  const again = initModelFolder(folder, { ...options, seed: 2, keepExisting: true });
  expect(again.vocabularySize).toBe(first.vocabularySize);
});
