/**
 * @file Run folders that are somebody else's, torn, shared or swapped, through the commands: nothing of others is
 * touched, nothing goes on with what does not belong to it, and a run that ends badly says so.
 */
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { checkpointSteps } from "../../src/training/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { startScript } from "../training/support/processes.ts";
import { LIGHTS, newTinyFolder, tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const SMALL_START = fileURLToPath(new URL("../cli/support/small-start.ts", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
const parent = temporaryFolder();
let warm: string;
let count = 0;

let out: string[];
let errors: string[];
beforeEach(() => {
  [out, errors] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text = "") => void out.push(String(text)));
  vi.spyOn(console, "error").mockImplementation((text = "") => void errors.push(String(text)));
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation((text) => {
      out.push(String(text));
      return true;
    });
});
afterEach(() => vi.restoreAllMocks());

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
});

const place = (name = "folder") => join(parent, `${name}-${count++}`);

function train(folder: string, ...own: string[]): Promise<number> {
  const settings = [...tinySettings(warm, folder), "trainer.total_epochs=2", "trainer.save_freq=1"];
  return main(["train", ...settings, ...own]);
}

/** A run of two iterations, copied for each test. */
let finished: string | undefined;
async function aRun(): Promise<string> {
  if (!finished) {
    const folder = place("original");
    expect(await train(folder), errors.join("\n")).toBe(0);
    finished = folder;
  }
  const copy = place("run");
  cpSync(finished, copy, { recursive: true });
  return copy;
}

/** Every file below a folder and the hash of its content. */
function content(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.map((file) => [
      relative(folder, file),
      createHash("sha256").update(readFileSync(file)).digest("hex"),
    ]),
  );
}

/** The command fails with this sentence, without a stack, and the folder is as it was. */
async function refused(folder: string, run: () => Promise<number>, sentence: RegExp) {
  const before = content(folder);
  expect(await run()).toBeGreaterThan(0);
  expect(errors.join("\n")).toMatch(sentence);
  expect(errors.join("\n")).not.toMatch(/\n {4}at /);
  expect(content(folder)).toEqual(before);
}

describe("a folder of somebody else's", () => {
  it("the configuration that a run reads is not overwritten", async () => {
    const folder = place();
    mkdirSync(folder);
    const file = join(folder, "config.yaml");
    writeFileSync(file, "# mine\ntrainer:\n  seed: 3\n");
    await refused(
      folder,
      () => train(folder, "--config", file),
      /there is config.yaml already, which no run made in this folder/,
    );
  });

  it.each(["auto", "disable"])("foreign checkpoints, policy, validation: %s", async (mode) => {
    for (const name of ["checkpoints", "policy", "validation", "report.html"]) {
      const folder = place();
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "thesis.txt"), "years of work");
      await refused(
        folder,
        () => train(folder, `trainer.resume_mode=${mode}`),
        new RegExp(`there is ${name} already`),
      );
    }
  });

  it("what lies beside a run's own things stays when it begins anew", async () => {
    const folder = await aRun();
    for (const name of ["thesis.txt", "checkpoints-old", "model"]) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "x"), "years of work");
    }
    expect(await train(folder, "trainer.resume_mode=disable"), errors.join("\n")).toBe(0);
    for (const name of ["thesis.txt", "checkpoints-old", "model"])
      expect(readFileSync(join(folder, name, "x"), "utf8")).toBe("years of work");
    expect(out.join("")).not.toMatch(/going on after/);
  });

  it("a rollout's folder is no run's, and a run's no rollout's", async () => {
    const folder = place();
    expect(await main(["rollout", LIGHTS, "--expert", "--tasks", "2", "--out", folder])).toBe(0);
    await refused(folder, () => train(folder), /is the folder of a rollout, not of a run/);
    const run = await aRun();
    errors = [];
    await refused(
      run,
      () => main(["rollout", LIGHTS, "--expert", "--tasks", "2", "--out", run]),
      /is the folder of a run, not of a rollout/,
    );
  });

  it("start --again takes nothing away before it can begin", { timeout: 200_000 }, async () => {
    const folder = place();
    const started = async (...words: string[]) => {
      const running = startScript(SMALL_START, ["--folder", folder, ...words]);
      onTestFinished(() => void running.child.kill("SIGKILL"));
      return { code: await running.ended, text: running.lines.join("\n") };
    };
    const first = await started("trainer.total_epochs=1");
    expect(first.code, first.text).toBe(0);
    const before = content(folder);
    for (const wrong of ["env.options.difficulty=nonsense", "env.val_split=nowhere"]) {
      const { code, text } = await started("--again", "trainer.total_epochs=1", wrong);
      expect(code, text).not.toBe(0);
      expect(content(folder)).toEqual(before);
    }
    const again = await started("--again", "trainer.total_epochs=1");
    expect(again.code, again.text).toBe(0);
    expect(again.text).toMatch(/a new model of/);
    expect(readdirSync(folder).filter((name) => name.startsWith(".previous"))).toEqual([]);
  });
});

describe("another run's checkpoint", () => {
  it("does not take the place of what a run has saved; in a folder of its own it goes on", async () => {
    const [other, run] = [await aRun(), await aRun()];
    const from = [
      "trainer.resume_mode=resume_path",
      `trainer.resume_from_path=${join(other, "checkpoints/step-000001")}`,
    ];
    await refused(run, () => train(run, ...from), /is a checkpoint of another run than the one in/);
    const folder = place();
    expect(await train(folder, ...from), errors.join("\n")).toBe(0);
    expect(readMetrics(join(folder, "metrics.jsonl")).map(({ step }) => step)).toEqual([2]);
  });

  it("of the same run: what came after it is its own to give up", async () => {
    const run = await aRun();
    const from = join(run, "checkpoints/step-000001");
    expect(
      await train(run, "trainer.resume_mode=resume_path", `trainer.resume_from_path=${from}`),
      errors.join("\n"),
    ).toBe(0);
    expect(checkpointSteps(run)).toEqual([1, 2]);
  });
});

describe("a torn folder", () => {
  it.each(["config.yaml", "run.json", "versions.json"])(
    "%s is mended from whole checkpoints",
    async (name) => {
      const run = await aRun();
      truncateSync(join(run, name), 5);
      expect(await train(run, "trainer.total_epochs=3"), errors.join("\n")).toBe(0);
      expect(out.join("")).toMatch(/going on after iteration 2/);
      expect(statSync(join(run, name)).size).toBeGreaterThan(50);
    },
  );

  it("the marker: nothing is guessed", async () => {
    const run = await aRun();
    writeFileSync(join(run, ".openmanus-rl.json"), '{"version":1,"kind":"run","made":["../../x"]}');
    await refused(
      run,
      () => train(run, "trainer.resume_mode=disable"),
      /\.openmanus-rl\.json: cannot be read, so it is not known what/,
    );
  });

  it("a run of a version without markers goes on, and is not cleared", async () => {
    const run = await aRun();
    rmSync(join(run, ".openmanus-rl.json"));
    await refused(
      run,
      () => train(run, "trainer.resume_mode=disable"),
      /there is config.yaml already, which no run made/,
    );
    expect(await train(run, "trainer.total_epochs=3"), errors.join("\n")).toBe(0);
  });
});

describe("files that somebody wrote", () => {
  /** A checkpoint whose manifest fits what was put into it. */
  function forged(run: string, name: string, text: string): void {
    const folder = join(run, "checkpoints/step-000002");
    writeFileSync(join(folder, name), text);
    const file = join(folder, "manifest.json");
    const manifest = JSON.parse(readFileSync(file, "utf8")) as { files: Record<string, object> };
    manifest.files[name] = {
      bytes: Buffer.byteLength(text),
      sha256: createHash("sha256").update(text).digest("hex"),
    };
    writeFileSync(file, JSON.stringify(manifest));
  }

  const TEXTS = [
    "null",
    "[]",
    "5",
    '"x"',
    "{}",
    "",
    "[".repeat(100_000),
    '{"version":1,"step":-3}',
  ];

  it("a checkpoint's state and manifest, the run's files: sentences", {
    timeout: 120_000,
  }, async () => {
    const run = await aRun();
    for (const text of TEXTS) {
      for (const name of ["manifest.json", "state.json"]) {
        const copy = place("forged");
        cpSync(run, copy, { recursive: true });
        if (name === "state.json") forged(copy, name, text);
        else writeFileSync(join(copy, "checkpoints/step-000002", name), text);
        errors = [];
        await refused(copy, () => train(copy), /step-000002\/(manifest|state)\.json: /);
        errors = [];
        expect(await main(["eval", copy, "--json"])).toBe(1);
        expect(errors.join("\n")).toMatch(/step-000002\/(manifest|state)\.json: /);
      }
      const copy = place("forged");
      cpSync(run, copy, { recursive: true });
      for (const name of ["run.json", "versions.json", "config.yaml"])
        writeFileSync(join(copy, name), text);
      expect(await train(copy, "trainer.total_epochs=2"), errors.join("\n")).toBe(0);
    }
  });

  it("a manifest that leads out of its folder", async () => {
    const run = await aRun();
    const file = join(run, "checkpoints/step-000002/manifest.json");
    writeFileSync(
      file,
      '{"files":{"../../../../../../../../etc/hostname":{"bytes":1,"sha256":"x"}}}',
    );
    await refused(run, () => train(run), /which is not in the checkpoint/);
  });
});

describe("what does not belong together", () => {
  const LORA = "actor_rollout_ref.model.lora_rank=4";

  it("an adapter on another base is refused", { timeout: 120_000 }, async () => {
    const folder = place();
    const base = place("base");
    cpSync(warm, base, { recursive: true });
    const settings = [LORA, `actor_rollout_ref.model.path=${base}`];
    expect(await train(folder, ...settings), errors.join("\n")).toBe(0);
    // Another model of the same shape and tokenizer under the same name.
    const other = join(newTinyFolder(parent, "other"), "model.safetensors");
    cpSync(other, join(base, "model.safetensors"));
    await refused(
      folder,
      () => train(folder, ...settings, "trainer.total_epochs=3"),
      /step-000002 was trained from another model than .*which has other weights/,
    );
  });

  it("so is a run whose tokenizer or template has changed", async () => {
    const folder = place();
    const base = place("base");
    cpSync(warm, base, { recursive: true });
    const settings = [`actor_rollout_ref.model.path=${base}`, "trainer.total_epochs=3"];
    expect(await train(folder, ...settings.slice(0, 1)), errors.join("\n")).toBe(0);
    const file = join(base, "tokenizer.json");
    const text = readFileSync(file, "utf8");
    // Two tokens change places.
    const { vocab } = (JSON.parse(text) as { model: { vocab: Record<string, number> } }).model;
    const [one, two] = [vocab.a!, vocab.b!];
    const swapped = JSON.parse(text) as { model: { vocab: Record<string, number> } };
    Object.assign(swapped.model.vocab, { a: two, b: one });
    writeFileSync(file, JSON.stringify(swapped));
    await refused(folder, () => train(folder, ...settings), /which has another tokenizer/);
    writeFileSync(file, text);
    const template = join(base, "chat_template.jinja");
    writeFileSync(template, `${readFileSync(template, "utf8")} `);
    errors = [];
    await refused(folder, () => train(folder, ...settings), /which has another chat template/);
  });

  it("episodes with ids of another tokenizer are not learned from", async () => {
    const other = newTinyFolder(parent, "other-words", [
      "wait wait wait go go go stop stop stop. is It red green blue No Yes done",
    ]);
    const episodes = place("episodes");
    const words = ["rollout", LIGHTS, "--expert", "--tasks", "3", "--out", episodes];
    expect(await main([...words, "--model", other]), errors.join("\n")).toBe(0);
    const sft = (data: string) =>
      main([
        "sft",
        "--model",
        warm,
        "--out",
        place("sft"),
        "--data",
        data,
        `env.env_name=${LIGHTS}`,
      ]);
    const stored = join(episodes, "trajectories", "000000.jsonl");
    expect(await sft(stored)).toBe(1);
    expect(errors.join("\n")).toMatch(/has token ids of another tokenizer/);
    // Of a version that did not name it: the words do not fit the ids.
    const old = place("old");
    writeFileSync(
      `${old}.jsonl`,
      readFileSync(stored, "utf8").replaceAll(/"tokenizer":"\w+",/g, ""),
    );
    errors = [];
    expect(await sft(`${old}.jsonl`)).toBe(1);
    expect(errors.join("\n")).toMatch(/has token ids of another tokenizer/);
  });
});

describe("a run that diverges", () => {
  it("fails, and the last checkpoint that played well is kept", { timeout: 120_000 }, async () => {
    const folder = place();
    // The rate rises with every iteration until nothing is left of the policy.
    const code = await train(
      folder,
      ...["trainer.total_epochs=12", "trainer.max_actor_ckpt_to_keep=1"],
      ...["data.train_batch_size=8", "env.rollout.n=4", "trainer.keep_trajectories=False"],
      ...[
        "actor_rollout_ref.actor.optim.lr=400",
        "actor_rollout_ref.actor.optim.lr_warmup_steps=2000",
      ],
    );
    const rates = readMetrics(join(folder, "metrics.jsonl")).map(
      ({ metrics }) => metrics["episode/success_rate"],
    );
    expect(code, `${rates}\n${out.join("")}`).toBe(1);
    expect(out.join("")).toMatch(
      /the policy has diverged: .*the last checkpoint that played well is/,
    );
    const steps = checkpointSteps(folder);
    expect(steps).toHaveLength(2);
    expect(out.join("")).toContain(`step-${String(steps[0]).padStart(6, "0")}`);
  });
});

describe("sft", () => {
  const words = (folder: string, ...own: string[]) => [
    ...["sft", "--model", warm, "--out", folder, "--episodes", "20", "--epochs", "3"],
    ...[
      "--save-minutes",
      "0",
      `env.env_name=${LIGHTS}`,
      "env.prompts=bare",
      "env.show_admissible=False",
    ],
    ...["trainer.threads=1", ...own],
  ];

  it("looks at --out before it works, and replaces no model", async () => {
    await refused(warm, () => main(words(warm)), /is the model that it begins with/);
    const other = newTinyFolder(parent, "trained");
    errors = [];
    await refused(other, () => main(words(other)), /has a model already, which would be lost/);
    const file = place("file");
    writeFileSync(file, "");
    errors = [];
    expect(await main(words(file))).toBe(1);
    expect(errors.join("\n")).toMatch(/is a file; choose another folder/);
    errors = [];
    expect(await main(words(join(file, "below")))).toBe(1);
    expect(errors.join("\n")).toMatch(/cannot be made/);
    expect(out.join("")).not.toMatch(/sequences to learn/);
  });

  it("killed, it goes on bitwise; another one is refused", { timeout: 120_000 }, async () => {
    const whole = place("whole");
    expect(await main(words(whole)), errors.join("\n")).toBe(0);
    expect(existsSync(`${whole}.training`)).toBe(false);

    const killed = place("killed");
    const training = `${killed}.training`;
    const running = startScript(COMMAND, words(killed));
    onTestFinished(() => void running.child.kill("SIGKILL"));
    await vi.waitUntil(() => checkpointSteps(training).length > 0, {
      timeout: 60_000,
      interval: 5,
    });
    running.child.kill("SIGKILL");
    await running.ended;
    expect(existsSync(killed), running.lines.join("\n")).toBe(false);

    errors = [];
    expect(await main(words(killed, "--lr", "0.1"))).toBe(1);
    expect(errors.join("\n")).toMatch(/is another one:\n {2}lr: 0.001 there, 0.1 now/);
    out = [];
    expect(await main(words(killed)), errors.join("\n")).toBe(0);
    expect(out.join("\n")).toMatch(/going on after update \d+/);
    expect(content(killed)).toEqual(content(whole));
    expect(existsSync(training)).toBe(false);
  });

  it("interrupted, it saves and says so", { timeout: 120_000 }, async () => {
    const folder = place("interrupted");
    const long = [...words(folder), "--epochs", "2000", "--save-minutes", "60"];
    const running = startScript(COMMAND, long, (line) => {
      if (/sequences to learn/.test(line)) setTimeout(() => running.child.kill("SIGTERM"), 500);
    });
    onTestFinished(() => void running.child.kill("SIGKILL"));
    expect(await running.ended, running.lines.join("\n")).toBe(130);
    expect(running.lines.join("\n")).toMatch(
      /interrupted after update \d+, and saved; the same call/,
    );
    expect(checkpointSteps(`${folder}.training`)).toHaveLength(1);
  });
});
