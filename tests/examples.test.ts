/**
 * @file The examples as a user has them: copied into a project with the installed package, run with
 * `npx tsx FILE`, or named on the command line; and the project that `init` makes.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readMetrics } from "../src/monitoring/index.ts";
import { readTrajectories, type Trajectory } from "../src/rollout/index.ts";
import { runCommand } from "../src/setup/support/command.ts";
import { type InstalledPackage, installedPackage } from "./support/installed.ts";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));
/** Of one run, on a machine that does other things, too. */
const TIMEOUT = 120_000;

let installed: InstalledPackage;
/** The folder with the files of examples/own. */
let own: string;
/** The temporary folder of the examples: one of their own, so that what they leave is theirs. */
let temporary: string;

beforeAll(async () => {
  installed = await installedPackage();
  own = join(installed.folder, "own");
  temporary = join(installed.folder, "temporary");
  mkdirSync(temporary);
  for (const name of ["own", "desk", "pretrained"]) {
    const folder = join(installed.folder, name);
    cpSync(join(CHECKOUT, "examples", name), folder, { recursive: true });
    // As `init` writes it: tsx takes files with a top-level await only as modules.
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  }
  const { status, stderr } = await installed.run(["setup"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
}, 300_000);
afterAll(() => installed?.remove());

interface Outcome {
  readonly stdout: string;
  readonly trajectories: readonly Trajectory[];
  /** Everything that the agent was told before its first reply, of the first episode. */
  readonly firstPrompt: string;
  /** Everything that agents were told. */
  readonly prompts: string;
  readonly config: Record<string, Record<string, unknown>>;
}

/** What a run of two iterations left in its folder. */
function outcomeOf(folder: string, stdout: string): Outcome {
  const steps = readMetrics(join(folder, "metrics.jsonl")).map(({ step }) => step);
  expect(steps.filter((step) => step > 0)).toEqual([1, 2]);
  const trajectories = [...readTrajectories(join(folder, "trajectories"))];
  const told = (turns: Trajectory["turns"]) =>
    turns.flatMap(({ messages }) => messages.map(({ content }) => content)).join("\n");
  return {
    stdout,
    trajectories,
    firstPrompt: told(trajectories[0]!.turns.slice(0, 1)),
    prompts: trajectories.map(({ turns }) => told(turns)).join("\n"),
    config: parse(readFileSync(join(folder, "config.yaml"), "utf8")) as Outcome["config"],
  };
}

const worldOf =
  (name: string) =>
  ({ trajectories, config }: Outcome) => {
    expect(new Set(trajectories.map(({ task }) => task.environment))).toEqual(new Set([name]));
    expect(config.env!.env_name).toBe(name);
  };

/** Of each example: its run's folder, where it is not the file's name, and what shows that it was used. */
const EXAMPLES: Record<string, { run?: string; proof: (outcome: Outcome) => void }> = {
  "async-world.ts": { proof: worldOf("echo") },
  "episodes.ts": { proof: worldOf("capitals") },
  "estimator.ts": {
    proof: ({ config }) => expect(config.algorithm!.adv_estimator).toBe("against_median"),
  },
  "format.ts": {
    proof: ({ trajectories, firstPrompt }) => {
      expect(new Set(trajectories.map(({ format }) => format))).toEqual(new Set(["look-then-do"]));
      expect(firstPrompt).not.toBe("");
    },
  },
  "history.ts": {
    proof: ({ prompts, trajectories }) => {
      expect(prompts).toMatch(/Here you have tried: \S/);
      expect(trajectories[0]!.context).toBe("steps");
    },
  },
  "logger.ts": {
    proof: ({ stdout }) =>
      expect(stdout).toMatch(/^iteration 1: [\d.]+\niteration 2: [\d.]+\nthat was all\n$/),
  },
  "loss.ts": {
    proof: ({ config }) =>
      expect(config.actor_rollout_ref!.actor).toMatchObject({
        policy_loss: { loss_mode: "reinforce" },
      }),
  },
  "prompts.ts": { proof: ({ firstPrompt }) => expect(firstPrompt).toMatch(/^10 left\. /m) },
  "resource-world.ts": {
    proof: (outcome) => {
      worldOf("notebook")(outcome);
      expect(readdirSync(temporary).filter((name) => name.startsWith("notebooks-"))).toEqual([]);
    },
  },
  "reward.ts": {
    proof: ({ trajectories }) => {
      const given = trajectories.map(({ rewards }) => rewards!.no_returning!);
      expect(Math.min(...given)).toBeLessThan(0);
    },
  },
  "tools.ts": { proof: ({ firstPrompt }) => expect(firstPrompt).toContain("compass") },
  "world.ts": { run: "own-world", proof: worldOf("higher-or-lower") },
};

/** As `npx tsx FILE` runs it. */
function tsx(file: string, folder: string) {
  const command = join(installed.folder, "node_modules/.bin/tsx");
  return runCommand(command, [file], { folder, environment: { TMPDIR: temporary } });
}

describe("examples/own", () => {
  it("are all here", () => {
    expect(Object.keys(EXAMPLES)).toEqual(readdirSync(join(CHECKOUT, "examples/own")).sort());
  });

  it.each(Object.entries(EXAMPLES))(
    "npx tsx %s",
    { timeout: TIMEOUT },
    async (file, { run = file.replace(/\.ts$/, ""), proof }) => {
      const { status, stdout, stderr } = await tsx(file, own);
      expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
      proof(outcomeOf(join(own, "runs", run), stdout));
    },
  );

  it("are at most forty lines long", () => {
    for (const file of Object.keys(EXAMPLES)) {
      const text = readFileSync(join(CHECKOUT, "examples/own", file), "utf8");
      expect(text.trim().split("\n").length, file).toBeLessThanOrEqual(40);
    }
  });
});

// After the examples: they leave models to begin with.
describe("openmanus-rl train with files", () => {
  const train = (model: string, run: string, settings: readonly string[]) =>
    installed.run(
      [
        ...["train", "--model", join("runs", model, "warm"), ...settings],
        ...["data.train_batch_size=2", "data.max_response_length=12", "env.max_steps=4"],
        ...["trainer.total_epochs=2", "trainer.test_freq=-1", "trainer.val_before_train=False"],
        ...[`trainer.default_local_dir=runs/${run}`],
      ],
      { folder: own },
    );

  it("a world, a reward, a format, prompts, an estimator, a loss and a logger", {
    timeout: TIMEOUT,
  }, async () => {
    const { status, stdout, stderr } = await train("own-world", "files", [
      ...["env.env_name=world.ts", "reward.files=[reward.ts]", "env.format=format.ts"],
      ...["env.prompts=prompts.ts", "algorithm.adv_estimator=estimator.ts"],
      "actor_rollout_ref.actor.policy_loss.loss_mode=loss.ts",
      "trainer.logger=[console,logger.ts]",
    ]);
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
    const { trajectories, firstPrompt, config } = outcomeOf(join(own, "runs/files"), stdout);
    const [first] = trajectories;
    expect(first).toMatchObject({
      task: { environment: "higher-or-lower" },
      format: "look-then-do",
    });
    expect(first!.rewards).toHaveProperty("no_returning");
    expect(firstPrompt).toMatch(/^4 left\. /m);
    expect(config.algorithm!.adv_estimator).toBe("estimator.ts");
    expect(config.actor_rollout_ref!.actor).toMatchObject({
      policy_loss: { loss_mode: "loss.ts" },
    });
    expect(stdout).toMatch(/^iteration 1: [\d.]+$[\s\S]*^that was all$/m);
  });

  it("tools and a history", { timeout: TIMEOUT }, async () => {
    const { status, stdout, stderr } = await train("history", "tools-and-history", [
      ...["env.env_name=maze", "env.options.maze=generated", "env.tools=[tools.ts]"],
      ...["env.format=tools", "env.context=steps", "env.history=history.ts"],
      "env.prompts=full",
    ]);
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
    const folder = join(own, "runs/tools-and-history");
    const { trajectories, firstPrompt, prompts } = outcomeOf(folder, stdout);
    expect(trajectories[0]).toMatchObject({ format: "tools", context: "steps" });
    expect(firstPrompt).toContain("compass");
    expect(prompts).toMatch(/Here you have tried: /);
  });

  it.each<[string, RegExp]>([
    ["env.env_name=reward.ts", /reward\.ts: the file must export one world/],
    ["reward.files=[format.ts]", /format\.ts: exports nothing that is a reward component/],
    ["env.format=reward.ts", /reward\.ts: exports nothing that is a reply format/],
    ["env.prompts=reward.ts", /reward\.ts: exports nothing that is prompts/],
    ["algorithm.adv_estimator=loss.ts", /loss\.ts: exports nothing that is an advantage estimator/],
    [
      "actor_rollout_ref.actor.policy_loss.loss_mode=world.ts",
      /world\.ts: exports nothing that is a policy loss/,
    ],
    ["trainer.logger=[console,loss.ts]", /loss\.ts: exports nothing that is a logger/],
    ["env.tools=[loss.ts]", /loss\.ts: exports nothing that is a tool/],
    ["reward.files=[none.ts]", /none\.ts: there is no such file \(looked for a reward component/],
    ["env.env_name=none.ts", /none\.ts: there is no file .*none\.ts\. Is the path right\?/],
    ["trainer.logger=[none.ts]", /none\.ts: there is no such file \(looked for a logger/],
  ])("%s is refused in a sentence", { timeout: TIMEOUT }, async (setting, message) => {
    const { status, stdout, stderr } = await train("own-world", "refused", [
      ...(setting.startsWith("env.env_name") ? [] : ["env.env_name=world.ts"]),
      setting,
    ]);
    expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^openmanus-rl train: .*\n$/);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(existsSync(join(own, "runs/refused"))).toBe(false);
  });
});

// The real model is not here; its worlds are, and the settings under which it learns them.
describe("examples/pretrained", () => {
  it.each([
    ["larger.ts", "env.examples=4"],
    [
      ...["keys.ts", "env.examples=1", "env.show_admissible=False"],
      ...["actor_rollout_ref.rollout.constrain=True", "actor_rollout_ref.model.lora_rank=4"],
    ],
  ])("%s", { timeout: TIMEOUT }, async (world, ...settings) => {
    const folder = join(installed.folder, "pretrained");
    const verified = await installed.run(["env", "verify", world], { folder });
    expect(verified, verified.stderr).toMatchObject({ status: 0 });
    const model = `model-${world}`;
    const made = await installed.run(
      ["model", "init", model, "--preset", "tiny", `env.env_name=${world}`, "--tasks", "20"],
      { folder },
    );
    expect(made, made.stderr).toMatchObject({ status: 0 });
    const { status, stdout, stderr } = await installed.run(
      [
        ...["train", "--model", model, `env.env_name=${world}`, ...settings],
        ...["algorithm.adv_estimator=grpo", "env.rollout.n=4", "data.train_batch_size=2"],
        ...["data.max_response_length=12", "trainer.total_epochs=2", "trainer.test_freq=-1"],
        ...["trainer.val_before_train=False", `trainer.default_local_dir=runs/${world}`],
      ],
      { folder },
    );
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
    const { trajectories } = outcomeOf(join(folder, "runs", world), stdout);
    const { messages } = trajectories[0]!.turns[0]!;
    expect(messages.some(({ role }) => role === "assistant")).toBe(true);
  });
});

/** What a program like examples/desk/train.ts says at its end. */
function expectImprovement(stdout: string): void {
  const [before, after] = [...stdout.matchAll(/^ +200 +(\d+) +[\d.]+ % /gm)].map((row) =>
    Number(row[1]),
  );
  expect(after! - before!).toBeGreaterThan(50);
  expect(Number(/^p = (\S+),/m.exec(stdout)![1])).toBeLessThan(1e-6);
  expect(stdout.trim().split("\n").at(-1)).not.toMatch(/<\|/);
}

it("examples/desk: npx tsx train.ts", { timeout: 240_000 }, async () => {
  const { status, stdout, stderr } = await tsx("train.ts", join(installed.folder, "desk"));
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
  expectImprovement(stdout);
});

describe("the project that init makes", () => {
  const npm = (...words: string[]) =>
    runCommand("npm", ["--silent", ...words], { folder: join(installed.folder, "my-desk") });

  // Inside the other project, whose packages it finds: npm install would need a registry.
  it("comes with the package that it depends on", async () => {
    const { status, stdout, stderr } = await installed.run(["init", "my-desk"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      /cd my-desk\n +npm install\n +npx openmanus-rl setup .*\n +npm run train/,
    );
    const folder = join(installed.folder, "my-desk");
    const read = (place: string) => JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
    const wanted = read(folder).dependencies["openmanus-rl"] as string;
    const original = read(installed.folder).dependencies["openmanus-rl"] as string;
    const tarball = (text: string) => readFileSync(text.replace("file:", ""));
    expect(tarball(join(folder, wanted.replace("file:", ""))).equals(tarball(original))).toBe(true);
    expect(readdirSync(folder)).toContain(".gitignore");
    expect(readFileSync(join(folder, "world.ts"), "utf8")).toMatch(/name: "my-desk"/);
  });

  it("has types and tests that hold", { timeout: TIMEOUT }, async () => {
    const folder = join(installed.folder, "my-desk");
    const compiler = join(CHECKOUT, "node_modules/.bin/tsc");
    const types = join(CHECKOUT, "node_modules/@types");
    const checked = await runCommand(compiler, ["-p", ".", "--typeRoots", types], { folder });
    expect(checked).toMatchObject({ status: 0, stdout: "" });
    const tested = await npm("test");
    expect(tested.status, tested.stdout + tested.stderr).toBe(0);
    expect(tested.stdout).toMatch(/pass 4/);
    const verified = await installed.run(["env", "verify", "world.ts"], { folder });
    expect(verified.status, verified.stderr).toBe(0);
  });

  it("trains an agent that is clearly better than before", { timeout: 240_000 }, async () => {
    const { status, stdout, stderr } = await npm("run", "train");
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
    expectImprovement(stdout);
    const watched = await installed.run(["play", "world.ts", "--model", "runs/my-desk"], {
      folder: join(installed.folder, "my-desk"),
    });
    expect(watched.stdout).toMatch(/The door is open\.\n\nwon after 3 turns\./);
  });
});
