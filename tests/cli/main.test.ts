/**
 * @file What all commands share: errors that are told and errors that are bugs, and readers that go away.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { play } from "../../src/cli/commands/play.ts";
import { main } from "../../src/cli/main.ts";
import { ConfigError } from "../../src/config/index.ts";
import { EnvironmentError } from "../../src/environments/index.ts";
import { ModelFileError } from "../../src/models/index.ts";
import { TrajectoryLineError } from "../../src/rollout/index.ts";
import { SetupError } from "../../src/setup/index.ts";
import { ProcessGroupError } from "../../src/torch/index.ts";
import { CheckpointError } from "../../src/training/index.ts";
import { newTinyFolder, tinySettings } from "../training/support/runs.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "openmanus-main-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("an error", () => {
  let errors: string[];
  beforeEach(() => {
    errors = [];
    vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
  });
  afterEach(() => vi.restoreAllMocks());

  it.each([
    new EnvironmentError("maze", "it has no walls"),
    new ConfigError("there is no setting x"),
    new ModelFileError("config.json", "it is no JSON"),
    new CheckpointError("there is no checkpoint"),
    new TrajectoryLineError("line 3 is no trajectory"),
    new ProcessGroupError("rank 1 has ended", "died", [1]),
    new SetupError("the native addon has not been built here"),
  ])("for the person at the terminal: the message, the command, no stack (%s)", async (error) => {
    vi.spyOn(play, "run").mockRejectedValue(error);
    expect(await main(["play"])).toBe(1);
    expect(errors).toEqual([`openmanus-rl play: ${error.message}`]);
  });

  it("that is a bug keeps its stack", async () => {
    vi.spyOn(play, "run").mockRejectedValue(new TypeError("x is undefined"));
    await expect(main(["play"])).rejects.toThrow(TypeError);
    expect(errors).toEqual([]);
  });

  it("comes so from each command", async () => {
    const model = newTinyFolder(folder);
    const run = join(folder, "run");
    const broken = join(folder, "broken.jsonl");
    writeFileSync(broken, "{}\n");
    const nowhere = join(folder, "nowhere");
    const settings = tinySettings(model, run);
    const resume = ["trainer.resume_mode=resume_path", `trainer.resume_from_path=${nowhere}`];
    const cases: [string[], RegExp][] = [
      [["env", "show", "alfwrld"], /^openmanus-rl env: .*did you mean "alfworld"/],
      [["play", "household", "--model", nowhere], /^openmanus-rl play: there is no model in/],
      [["model", "info", nowhere], /^openmanus-rl model: .*nowhere/],
      [["train", ...settings, ...resume], /^openmanus-rl train: .*there is no checkpoint/],
      [["trajectories", "list", broken], /^openmanus-rl trajectories: .*broken\.jsonl/],
      [["start", "env.nothing=1"], /^openmanus-rl start: there is no setting env\.nothing/],
      [["start", "nothing=1"], /^openmanus-rl start: there is no setting nothing/],
      [["sft", "--out", "x", "env.nothing=1"], /^openmanus-rl sft: there is no setting/],
      [["eval", model, "env.nothing=1"], /^openmanus-rl eval: there is no setting/],
    ];
    for (const [words, message] of cases) {
      errors = [];
      expect(await main(words), words.join(" ")).toBe(1);
      expect(errors.join("\n")).toMatch(message);
    }
  });
});

describe("a word that is not known", () => {
  let errors: string[];
  beforeEach(() => {
    errors = [];
    vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
    vi.spyOn(console, "log").mockImplementation(() => {});
  });
  afterEach(() => vi.restoreAllMocks());

  it.each([
    [["trian"], /^openmanus-rl: there is no command "trian"; did you mean "train"\?\n.*--help/],
    [["Rollout"], /did you mean "rollout"\?/],
    [["xyzzyxyzzy"], /^openmanus-rl: there is no command "xyzzyxyzzy"\.\n\nUsage: /],
    [
      ["rollout", "household", "--taks", "3"],
      /^openmanus-rl rollout: .*--taks; did you mean --task/,
    ],
    [["doctor", "--jsno"], /there is no option --jsno; did you mean --json\?/],
    [["doctor", "-j"], /there is no option -j/],
    [["doctor", "--xyzzyxyzzy"], /there is no option --xyzzyxyzzy\.\nopenmanus-rl doctor --help/],
  ])("gets the nearest name (%s)", async (words, message) => {
    expect(await main(words)).toBe(2);
    expect(errors.join("\n")).toMatch(message);
  });
});

/** Runs a shell line in the checkout; `openmanus` is the command. */
function shell(line: string): Promise<{ code: number | null; out: string; errors: string }> {
  const script = `openmanus() { "${process.execPath}" bin/openmanus-rl.mjs "$@"; }; ${line}`;
  const child = spawn("bash", ["-o", "pipefail", "-c", script], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, errors] = ["", ""];
  child.stdout.on("data", (bytes: Buffer) => {
    out += bytes.toString();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    errors += bytes.toString();
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out, errors })));
}

describe("a reader that goes away", () => {
  it.each([
    ["play household --expert", "head -n 1"],
    ["play household --expert", "true"],
    ["rollout household difficulty=easy games=4 --expert --tasks 2", "true"],
    ["--help", "true"],
  ])("%s | %s ends quietly, as programs that SIGPIPE ends", async (command, reader) => {
    // The wait lets the reader go before anything is written; head reads one line of many.
    const { code, errors } = await shell(`(sleep 1; openmanus ${command}) | ${reader}`);
    expect(errors).toBe("");
    expect(code).toBe(141);
  });

  it("of trajectories, too", async () => {
    const out = join(folder, "played");
    const made = await shell(
      `openmanus rollout household difficulty=easy games=4 --expert --tasks 2 --out ${out} && ` +
        `(sleep 1; openmanus trajectories show ${out}) | true`,
    );
    expect(made.errors).toBe("");
    expect(made.code).toBe(141);
  });

  it("a reader that stays gets everything", async () => {
    const { code, out, errors } = await shell("openmanus play household --expert | cat");
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(out).toMatch(/Solved after \d+ steps/);
  });
});

it("--version and -v say the package's", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    version: string;
  };
  const { out } = await shell("openmanus --version; openmanus -v");
  expect(out).toBe(`${version}\n${version}\n`);
});

it("without set-up, one line says what to do, and what needs no addon works", async () => {
  // A wish that nobody set up for.
  const without = `export OPENMANUS_LIBTORCH=${join(folder, "nowhere")}; openmanus`;
  for (const command of ["train", "demo", "start"]) {
    const { code, out, errors } = await shell(`${without} ${command}`);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(errors).toMatch(
      new RegExp(`^openmanus-rl ${command}: the native addon .*\\. Run: npm run setup\n$`),
    );
  }
  for (const command of ["env list", "play household --expert", "sft --help", "eval -h"])
    expect(await shell(`${without} ${command}`)).toMatchObject({ code: 0, errors: "" });
  const doctor = await shell(`${without} doctor`);
  expect(doctor.code).toBe(1);
  expect(doctor.out).toMatch(/OPENMANUS_LIBTORCH=\S+ cannot be used[\s\S]*Run: npm run setup$/m);
});

it.runIf(process.platform === "linux")("--help does not load libtorch", async () => {
  const script =
    'import { readFileSync } from "node:fs"; import { main } from "./src/cli/main.ts";' +
    'await main(["--help"]); await main(["train", "--help"]);' +
    'console.log(/libtorch/.test(readFileSync("/proc/self/maps", "utf8")));';
  const { out, errors, code } = await shell(
    `"${process.execPath}" --import tsx --input-type=module -e '${script}'`,
  );
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(out).toMatch(/Usage: openmanus-rl <command>/);
  expect(out.trim().split("\n").at(-1)).toBe("false");
});
