/**
 * @file Names of the Hub where a model's folder may stand, in commands and in programs, and what is written down
 * of them.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { chat, evaluate, policyIn, sft } from "../../src/library/index.ts";
import { hubWithModel, type Setting, TOKEN } from "../models/hub/support.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { LIGHTS, newTinyFolder, tinySettings } from "../training/support/runs.ts";

const LIGHT = "tiny-org/lights";
const parent = temporaryFolder();
const tiny = newTinyFolder(parent);

let out: string[];
let errors: string[];
let setting: Setting;
let commit: string;
beforeEach(async () => {
  [out, errors] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text = "") => void out.push(String(text)));
  vi.spyOn(console, "error").mockImplementation((text = "") => void errors.push(String(text)));
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  setting = await hubWithModel();
  commit = setting.hub.add(LIGHT, filesOf(tiny));
  vi.stubEnv("HF_HUB_OFFLINE", "");
  for (const [name, value] of Object.entries(setting.variables)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function filesOf(folder: string): Record<string, Buffer> {
  const names = readdirSync(folder);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]));
}

async function ran(...words: string[]): Promise<string> {
  const code = await main(words);
  expect(code, errors.join("\n")).toBe(0);
  return out.join("\n");
}

describe("model fetch", () => {
  it("puts it into the cache, and tells where", async () => {
    const text = await ran("model", "fetch", LIGHT, "--json");
    const found = JSON.parse(text) as { folder: string };
    expect(found).toMatchObject({ model: `${LIGHT}@${commit}`, commit });
    expect(found.folder.startsWith(setting.cache)).toBe(true);
  });

  it("puts it into a folder of one's own, as files; one that is there is left alone", async () => {
    const folder = join(temporaryFolder(), "own");
    expect(await ran("model", "fetch", LIGHT, folder)).toContain(folder);
    expect(filesOf(folder)).toEqual(filesOf(tiny));
    expect(await main(["model", "fetch", LIGHT, folder])).toBe(1);
    expect(errors.join("\n")).toMatch(/is there already, and is not overwritten/);
  });

  it.each([
    [["fetch"], 2, /fetch takes a name, and perhaps a folder/],
    [["fetch", "a/b", "c", "d"], 2, /fetch takes a name, and perhaps a folder/],
    [
      ["fetch", "qwen"],
      2,
      /there is no model "qwen" here; there is smollm2, and on the Hub names are like/,
    ],
    [["fetch", "tiny-org/none"], 1, /there is no such model/],
    [["info", "tiny-org/none"], 1, /there is no such model/],
  ] as const)("says what is wrong: %j", async (words, code, sentence) => {
    expect(await main(["model", ...words])).toBe(code);
    expect(errors.join("\n")).toMatch(sentence);
  });
});

describe("a name in the place of a folder", () => {
  it("model info", async () => {
    expect(await ran("model", "info", `${LIGHT}@main`)).toMatch(/architecture +Qwen3ForCausalLM/);
  });

  it("rollout, eval, play, chat", async () => {
    await ran("rollout", LIGHTS, "--model", LIGHT, "--tasks", "2", "--reply-tokens", "4");
    await ran("play", LIGHTS, "--model", LIGHT);
    out = [];
    const text = await ran("eval", LIGHT, `env.env_name=${LIGHTS}`, "--tasks", "2");
    expect(text).toContain(`${LIGHT}@${commit}`);
    const found = await evaluate({
      ...{ model: LIGHT, against: LIGHT, world: LIGHTS, tasks: 2, progress: false },
    });
    expect(found.model).toBe(`${LIGHT}@${commit}`);
    expect(found.against.model).toBe(found.model);
    expect(found.comparison.difference).toBe(0);
    expect(typeof (await chat(LIGHT, "go", { maximumTokens: 2 }))).toBe("string");
  });

  it("of a path beside folders that are here, the Hub is not asked", async () => {
    const before = setting.hub.seen.length;
    expect(await main(["eval", "src/none", `env.env_name=${LIGHTS}`])).toBe(1);
    expect(errors.join("\n")).toMatch(/there is no model in "src\/none"/);
    expect(setting.hub.seen).toHaveLength(before);
  });

  it("sft", async () => {
    const folder = join(temporaryFolder(), "warm");
    const report = await sft({
      ...{ model: LIGHT, out: folder, world: LIGHTS, episodes: 4, epochs: 1, progress: false },
    });
    expect(existsSync(join(report.model, "config.json"))).toBe(true);
  });
});

describe("train", () => {
  it("writes down name and commit, and goes on with that commit when the name leads elsewhere", async () => {
    const run = join(temporaryFolder(), "run");
    const settings = [...tinySettings(LIGHT, run), "trainer.save_freq=1"];
    await ran("train", ...settings, "trainer.total_epochs=1");
    const described = readFileSync(join(run, "run.json"), "utf8");
    expect(JSON.parse(described)).toMatchObject({ start: `${LIGHT}@${commit}` });
    expect(readFileSync(join(run, "config.yaml"), "utf8")).toContain(`path: ${LIGHT}@${commit}`);
    expect(described).not.toContain(setting.home);
    const other = setting.hub.add(LIGHT, { "vocab.txt": "something new" });
    expect(other).not.toBe(commit);
    await ran("train", ...settings, "trainer.total_epochs=2");
    expect(readFileSync(join(run, "run.json"), "utf8")).toBe(described);
    expect(
      await main(["train", ...settings, `actor_rollout_ref.model.path=${LIGHT}@${other}`]),
    ).toBe(1);
    expect(errors.join("\n")).toMatch(/another configuration.*path/s);
  });

  it("with LoRA: the adapter names its base as PEFT does", async () => {
    const run = join(temporaryFolder(), "run");
    const lora = ["actor_rollout_ref.model.lora_rank=2", "actor_rollout_ref.model.lora_alpha=4"];
    await ran(
      "train",
      ...tinySettings(LIGHT, run),
      ...lora,
      "trainer.total_epochs=1",
      "trainer.save_freq=1",
    );
    const [step] = readdirSync(join(run, "checkpoints")).filter((name) => name.startsWith("step-"));
    const file = join(run, "checkpoints", step!, "actor", "adapter_config.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      ...{ base_model_name_or_path: LIGHT, revision: commit },
    });
    expect(existsSync(join(policyIn(run), "model.safetensors"))).toBe(true);
  });
});

describe("model push", () => {
  /** What is on the main branch, as text. */
  const pushed = (name: string, file: string): string => {
    const { revisions, trees } = setting.hub.repositories.get(name)!;
    return trees.get(revisions.get("main")!)!.get(file)!.bytes.toString();
  };

  beforeEach(() => {
    setting.hub.token = TOKEN;
    vi.stubEnv("HF_TOKEN", TOKEN);
  });

  it("sends a run's policy, with a card that tells how it was made, and how good it is", async () => {
    const run = join(temporaryFolder(), "run");
    const validated = [
      "trainer.val_before_train=True",
      "trainer.test_freq=1",
      "trainer.save_freq=1",
    ];
    await ran("train", ...tinySettings(LIGHT, run), ...validated, "trainer.total_epochs=2");
    out = [];
    const last = join(run, "checkpoints", "step-000002", "actor");
    const found = JSON.parse(
      await ran("model", "push", last, "me/trained", "--private", "--json"),
    ) as {
      model: string;
    };
    expect(found.model).toMatch(/^me\/trained@[0-9a-f]{40}$/);
    expect(setting.hub.repositories.get("me/trained")!.isPrivate).toBe(true);
    const card = pushed("me/trained", "README.md");
    expect(card).toMatch(/^---\nbase_model: tiny-org\/lights\n/);
    expect(card).toMatch(/library_name: transformers\npipeline_tag: text-generation\ntags:\n/);
    expect(card).toContain(`commit \`${commit}\``);
    for (const policy of ["before training", "after iteration 2"])
      expect(card).toMatch(
        new RegExp(`\\| ${policy} \\| 4 \\| \\d \\| [\\d.]+ % \\| [\\d.]+ % – [\\d.]+ % \\|`),
      );
    expect(card).toContain(`actor_rollout_ref.model.path=${LIGHT}@${commit}`);
    expect(card).toMatch(/openmanus-rl train \\\n {2}\S+=/);
    expect(card).toContain("env.env_name=./lights.ts");
    expect(pushed("me/trained", "openmanus-rl.json")).toContain("./lights.ts");
    // Of this machine, and of the token, nobody hears.
    const texts = ["README.md", "openmanus-rl.json"]
      .map((file) => pushed("me/trained", file))
      .join();
    for (const secret of [TOKEN, run, setting.home, LIGHTS]) expect(texts).not.toContain(secret);
    // And it comes back.
    out = [];
    expect(await ran("model", "info", found.model)).toMatch(/Qwen3ForCausalLM/);
  });

  it("sends a run's best policy, unless that is what it began with", async () => {
    const begun = join(temporaryFolder(), "begun");
    const validated = ["trainer.test_freq=1", "trainer.total_epochs=1"];
    await ran("train", ...tinySettings(LIGHT, begun), ...validated);
    await ran("model", "push", begun, "me/best");
    expect(pushed("me/best", "README.md")).toContain("the policy after iteration 1 of 1");
    const still = join(temporaryFolder(), "still");
    const slow = ["trainer.val_before_train=True", "actor_rollout_ref.actor.optim.lr=1e-12"];
    await ran("train", ...tinySettings(LIGHT, still), ...validated, ...slow);
    expect(await main(["model", "push", still, "me/base"])).toBe(1);
    expect(errors.join("\n")).toMatch(/nothing that was learned has validated better/);
    expect(setting.hub.repositories.has("me/base")).toBe(false);
  });

  it("sends a folder, with its own card where it has one", async () => {
    const folder = join(temporaryFolder(), "own");
    await ran("model", "fetch", LIGHT, folder);
    await ran("model", "push", folder, "me/plain");
    expect(pushed("me/plain", "README.md")).toMatch(/It was not made by a run/);
    writeFileSync(join(folder, "README.md"), "# my own words");
    await ran("model", "push", folder, "me/plain");
    expect(pushed("me/plain", "README.md")).toBe("# my own words");
  });

  it.each([
    [["push", "x"], 2, /push takes a folder and a name/],
    [["push", "nowhere", "me/x"], 1, /there is no model in "nowhere"/],
    [["push", tiny, "nameless"], 1, /is no place on the Hub/],
  ] as const)("says what is wrong: %j", async (words, code, sentence) => {
    expect(await main(["model", ...words])).toBe(code);
    expect(errors.join("\n")).toMatch(sentence);
  });
});
