/**
 * @file The commands that train and evaluate: the documents' command lines, --dry-run, Ctrl-C, sft, eval.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { initModelFolder, presetConfig } from "../../src/models/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { startScript } from "../training/support/processes.ts";
import { newTinyFolder, tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const BIN = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
const parent = mkdtempSync(join(tmpdir(), "openmanus-train-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));
let warm: string;
/** A model of the tiny preset with a tokenizer of English. */
let tiny: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
  tiny = join(parent, "tiny");
  initModelFolder(tiny, {
    config: { ...presetConfig("tiny"), maximumPositions: 8192 },
    texts: ["You are in the middle of a room. search[shoe] click[Buy Now] <action>go</action>"],
    vocabularySize: 400,
    seed: 1,
  });
});

let out: string[];
let errors: string[];
beforeEach(() => {
  [out, errors] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text = "") => void out.push(String(text)));
  vi.spyOn(console, "error").mockImplementation((text = "") => void errors.push(String(text)));
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
});
afterEach(() => vi.restoreAllMocks());

describe("the documents' command lines", () => {
  /** Theirs, word for word; model paths and sizes come behind. */
  const WEBSHOP =
    "algorithm.adv_estimator=gae algorithm.use_kl_in_reward=False data.train_batch_size=128 " +
    "data.max_prompt_length=4096 data.max_response_length=512 " +
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-1.5B-Instruct actor_rollout_ref.actor.optim.lr=1e-6 " +
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.kl_loss_coef=0.01 " +
    "actor_rollout_ref.rollout.tensor_model_parallel_size=2 critic.optim.lr=1e-5 " +
    "critic.model.path=Qwen/Qwen2.5-1.5B-Instruct env.env_name=Webshop env.max_steps=15 " +
    "trainer.total_epochs=150 trainer.test_freq=5 trainer.n_gpus_per_node=4";
  const ALFWORLD =
    "algorithm.adv_estimator=gae data.train_batch_size=128 data.max_prompt_length=2048 " +
    "data.max_response_length=512 actor_rollout_ref.model.path=Qwen/Qwen2.5-1.5B-Instruct " +
    "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_type=low_var_kl " +
    "critic.model.path=Qwen/Qwen2.5-1.5B-Instruct env.env_name=alfworld/AlfredTWEnv " +
    "env.max_steps=50 trainer.total_epochs=150 trainer.test_freq=5 trainer.n_gpus_per_node=4";
  const sizes = (run: string) => [
    `actor_rollout_ref.model.path=${tiny}`,
    `critic.model.path=${tiny}`,
    `trainer.default_local_dir=${run}`,
    "data.train_batch_size=2",
    "data.val_batch_size=2",
    "data.max_response_length=8",
    "env.max_steps=3",
    "trainer.total_epochs=2",
    "trainer.threads=1",
    // Four in the documents; they are real.
    "trainer.n_gpus_per_node=2",
  ];

  it.each([
    ["webshop", WEBSHOP],
    ["alfworld", ALFWORLD],
  ])(
    "%s runs as it is written, but for the model and sizes",
    { timeout: 300_000 },
    async (name, line) => {
      const run = join(parent, name);
      const code = await main(["train", ...line.split(" "), ...sizes(run)]);
      expect(code, [...out, ...errors].join("\n")).toBe(0);
      expect(readMetrics(join(run, "metrics.jsonl")).map(({ step }) => step)).toEqual([0, 1, 2]);
      expect(existsSync(join(run, "report.html"))).toBe(true);
    },
  );

  it("with the documents' model, which is not here, and without a network: the message says so", async () => {
    // As a person sees it: each rank may be the first that says so, and rank 0 has the terminal itself.
    const { ended, lines } = startScript(BIN, ["train", ...WEBSHOP.split(" ")]);
    expect(await ended).toBe(1);
    expect(lines.join("\n")).toMatch(
      /no model in "Qwen\/Qwen2.5-1.5B-Instruct".*not whole in the Hub's cache.*HF_HUB_OFFLINE/,
    );
  });
});

describe("train", () => {
  it("--dry-run prints the configuration and the plan, and writes nothing", async () => {
    const run = join(parent, "dry");
    expect(await main(["train", "--dry-run", ...tinySettings(warm, run)])).toBe(0);
    const text = out.join("\n");
    expect(text).toMatch(/^algorithm:\n {2}adv_estimator: gigpo/m);
    expect(text).toMatch(/^tasks +40 to train on \(train\), 4 to validate on \(test\)/m);
    expect(text).toMatch(/^memory +about/m);
    expect(existsSync(run)).toBe(false);
  });

  it.each([
    [["nonsense"], 2, /"nonsense" is no setting/],
    [["trainer.total_epoch=3"], 1, /Did you mean trainer.total_epochs/],
    [["--preset", "nowhere"], 1, /no preset "nowhere"/],
    [["actor_rollout_ref.model.path="], 1, /no model: name its folder .*--model FOLDER/],
    [["actor_rollout_ref.model.path=/nowhere"], 1, /there is no model in "\/nowhere"/],
    [
      ["critic.model.path=/nowhere", "algorithm.adv_estimator=gae"],
      1,
      /there is no model in "\/now/,
    ],
    [["env.env_name=nowhere"], 1, /no world of this name/],
    [["env.options.colour=red"], 1, /no option "colour"/],
    [["env.train_split=nowhere"], 1, /nowhere/],
    [["env.val_split=nowhere"], 1, /nowhere/],
    [["env.format=nowhere"], 1, /nowhere/],
    [["trainer.device=tpu"], 1, /trainer.device is "tpu"/],
    [
      ["actor_rollout_ref.model.lora_rank=2", "actor_rollout_ref.model.target_modules=[x]"],
      1,
      /"x"/,
    ],
  ])("%j: a message, and no run's folder", async (words, code, message) => {
    const run = join(parent, "bad");
    const given = ["train", ...tinySettings(warm, run), "trainer.total_epochs=1", ...words];
    expect(await main(given), errors.join("\n")).toBe(code);
    expect(errors.join("\n")).toMatch(message);
    expect(existsSync(run)).toBe(false);
  });

  it.each([
    ["data.max_prompt_length=1", /context full/],
    ["actor_rollout_ref.rollout.cache_bytes=1", /cache/],
  ])("%s: no episode can be played, and the run says so and fails", async (word, message) => {
    const run = join(parent, `unplayable-${word.length}`);
    const words = ["train", ...tinySettings(warm, run), "trainer.total_epochs=3", word];
    const { ended, lines } = startScript(BIN, words);
    expect(await ended, lines.join("\n")).toBe(1);
    expect(lines.join("\n")).toMatch(/none of the 9 episodes can be trained on/);
    expect(lines.join("\n")).toMatch(message);
  });

  it("a tokenizer that is another model's", async () => {
    const folder = newTinyFolder(parent, "mixed");
    const other = join(parent, "larger");
    initModelFolder(other, {
      config: presetConfig("tiny"),
      texts: Array.from({ length: 900 }, (_, i) => {
        const syllable = (k: number) => `${"bdfglmnprst"[k % 11]}${"aeiou"[k % 5]}`;
        return `${syllable(i)}${syllable(i >> 2)} ${syllable(i >> 3)}`;
      }),
      vocabularySize: 500,
      seed: 1,
    });
    const { copyFileSync } = await import("node:fs");
    for (const name of readdirSync(other).filter((file) => file.startsWith("tokenizer")))
      copyFileSync(join(other, name), join(folder, name));
    const run = join(parent, "mixed-run");
    expect(await main(["train", ...tinySettings(folder, run)])).toBe(1);
    expect(errors.join("\n")).toMatch(/the tokenizer has \d+ tokens, the model only \d+/);
    expect(existsSync(run)).toBe(false);
  });

  it("Ctrl-C finishes the iteration, saves, exits 130; the same command goes on", {
    timeout: 300_000,
  }, async () => {
    const run = join(parent, "interrupted");
    const words = ["train", ...tinySettings(warm, run), "trainer.total_epochs=40"];
    let pressed = false;
    const first = startScript(BIN, words, (line) => {
      if (pressed || !/\b2\b/.test(line)) return;
      pressed = true;
      first.child.kill("SIGINT");
    });
    expect(await first.ended, first.lines.join("\n")).toBe(130);
    expect(first.lines.join("\n")).toMatch(/The same command goes on from here/);
    const { length } = readMetrics(join(run, "metrics.jsonl"));
    expect(length).toBeLessThan(40);
    expect(await main([...words.slice(0, -1), `trainer.total_epochs=${length + 1}`])).toBe(0);
    expect(out.join("\n")).toMatch(new RegExp(`${length + 1} of ${length + 1} iterations`));
    expect(readMetrics(join(run, "metrics.jsonl"))).toHaveLength(length + 1);
  });
});

describe("sft and eval", () => {
  it("a model learns from experts, and is compared with what it was", {
    timeout: 120_000,
  }, async () => {
    const better = join(parent, "better");
    const sft = ["sft", "--out", better, "--episodes", "60", "--epochs", "2", "--lr", "3e-3"];
    expect(await main([...sft, "--evaluate", "4", ...tinySettings(warm, "unused")])).toBe(0);
    expect(out.join("\n")).toMatch(/the expert solved \d+ of 60 tasks/);
    expect(out.join("\n")).toMatch(/held-out loss/);
    expect(out.join("\n")).toMatch(/test: \d of 4 tasks solved/);

    out = [];
    const words = ["eval", better, "--against", warm, "--episodes", "2", "trainer.threads=1"];
    expect(await main([...words, "--json"]), errors.join("\n")).toBe(0);
    const found = JSON.parse(out.join("\n")) as Record<string, Record<string, unknown>>;
    expect(found.all).toMatchObject({ episodes: 24 });
    expect(found.against).toMatchObject({ model: warm, all: { episodes: 24 } });
    expect(found.comparison).toMatchObject({ tasks: 12 });

    out = [];
    expect(await main([...words, "--out", join(parent, "episodes")])).toBe(0);
    expect(out.join("\n")).toMatch(/points against .*: better on \d+ tasks, worse on \d+, p = /);
    expect(await main(["trajectories", "list", join(parent, "episodes")])).toBe(0);

    out = [];
    const constrained = "actor_rollout_ref.rollout.constrain=True";
    expect(await main(["eval", better, constrained, "trainer.threads=1"])).toBe(0);
    expect(out.join("\n")).toMatch(/12 tasks.*, only admissible actions can be drawn\n/);
  });

  it("learns from an expert that wanders, and from one that goes on after the model", async () => {
    const household = ["env.env_name=household", "env.options.difficulty=easy", "env.max_steps=8"];
    const few = ["--episodes", "6", "--epochs", "1", "--holdout", "1", "--seed", "3"];
    const settings = [...tinySettings(warm, "unused"), ...household];
    const wandering = ["sft", "--out", join(parent, "wandering"), "--wanders", "0.3", ...few];
    expect(await main([...wandering, "--again", "0.5", ...settings]), errors.join("\n")).toBe(0);
    expect(out.join("\n")).toMatch(/episodes: built-in household games.*\nthe expert solved/);
    out = [];
    const corrected = ["sft", "--out", join(parent, "corrected"), "--corrected", "0.3", ...few];
    expect(await main([...corrected, ...settings]), errors.join("\n")).toBe(0);
    expect(out.join("\n")).toMatch(/model and expert solved \d of 6 tasks\n5 sequences to learn/);
  });

  it("learns from a file of chats", async () => {
    const file = join(parent, "chats.jsonl");
    const chat = {
      messages: [
        { role: "user", content: "It is red." },
        { role: "assistant", content: "stop" },
      ],
    };
    writeFileSync(file, `${JSON.stringify(chat)}\n`.repeat(4));
    const folder = join(parent, "from-chats");
    const words = ["sft", "--data", file, "--epochs", "1", "--holdout", "1", "--out", folder];
    expect(await main([...words, ...tinySettings(warm, "unused")]), errors.join("\n")).toBe(0);
    expect(out.join("\n")).toMatch(/3 sequences to learn, 1 held out/);
    writeFileSync(file, '{"messages": 3}\n');
    const again = [...words.slice(0, -1), `${folder}-2`];
    expect(await main([...again, ...tinySettings(warm, "unused")])).toBe(1);
    expect(errors.join("\n")).toMatch(/chats.jsonl, line 1: expected "messages"/);
  });

  it("how fast a run learned", async () => {
    const run = join(parent, "webshop");
    expect(await main(["eval", "--run", run, "--json"])).toBe(0);
    expect(JSON.parse(out.join("\n"))[0]).toMatchObject({ successRate: 0.25 });
    out = [];
    expect(await main(["eval", "--run", run])).toBe(0);
    expect(out.join("\n")).toMatch(/an iteration takes [\d.]+ s: (\w+ \d+ %(, )?)+/);
    expect(await main(["eval", "--run", join(parent, "nowhere")])).toBe(1);
  });

  it.each([
    [["eval"], 2, /the folder of one model/],
    [["eval", "/nowhere"], 1, /there is no model in "\/nowhere"/],
    [["eval", "WARM", "--tasks", "none"], 2, /--tasks must be a whole number/],
    [["eval", "WARM", "--split", "nowhere"], 1, /nowhere/],
    [["start", "nonsense"], 2, /start takes no "nonsense"/],
    [["sft"], 2, /sft needs --out/],
    [["sft", "--out", "x", "--epochs", "0"], 2, /--epochs must be a whole number, 1 or more/],
    [
      ["sft", "--out", "x", "--corrected", "1"],
      2,
      /--corrected is called --dagger now[\s\S]*--dagger cannot be "1"/,
    ],
    [["sft", "--out", "x", "--whims", "("], 2, /--random-pattern cannot be "\("/],
    [["sft", "--out", "x", "--data", "/nowhere.jsonl"], 1, /nowhere.jsonl/],
  ])("%j", async (words, code, message) => {
    const [command, ...rest] = words.map((word) => (word === "WARM" ? warm : word));
    const settings = command === "sft" || rest[0] === warm ? tinySettings(warm, "unused") : [];
    expect(await main([command!, ...rest, ...settings])).toBe(code);
    expect(errors.join("\n")).toMatch(message);
  });
});
