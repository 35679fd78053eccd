/**
 * @file The commands about worlds: env, play.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { completions } from "../../src/cli/play.ts";
import { opened } from "../../src/cli/world.ts";
import { openRunWorld, worldFacts } from "../../src/assembly/index.ts";
import { resolvePlay } from "../../src/config/index.ts";

let out: string[];
let errors: string[];

beforeEach(() => {
  out = [];
  errors = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void out.push(text));
  vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
});
afterEach(() => vi.restoreAllMocks());

const json = (): unknown => JSON.parse(out.join("\n"));

describe("env", () => {
  it("lists the worlds", async () => {
    expect(await main(["env", "list", "--json"])).toBe(0);
    expect(json()).toContainEqual(expect.objectContaining({ name: "alfworld", maximumSteps: 50 }));
    expect(await main(["env", "list"])).toBe(0);
    expect(out.join("\n")).toMatch(/^household +household tasks/m);
  });

  it("shows one, with its options, splits, first task and solution", async () => {
    expect(await main(["env", "show", "household", "difficulty=easy", "--json"])).toBe(0);
    expect(json()).toMatchObject({
      name: "household",
      options: { difficulty: { default: "medium" } },
      splits: [{ split: "train", tasks: 10_000 }, {}, {}],
      example: { observation: expect.stringMatching(/Your task is to/) },
    });
    out = [];
    expect(await main(["env", "show", "household"])).toBe(0);
    expect(out.join("\n")).toMatch(/A solution:/);
  });

  it("verifies one", async () => {
    const words = ["env", "verify", "household", "games=12", "--limit", "12"];
    expect(await main([...words, "--json"])).toBe(0);
    expect(json()).toEqual({ games: 36, won: 36, failures: [] });
    out = [];
    expect(await main([...words, "--split", "train"])).toBe(0);
    expect(out.join("\n")).toMatch(/^12 of 12 won/m);
  });

  it("says in a line that a world without solutions has nothing to replay", async () => {
    const words = ["env", "verify", "./tests/cli/support/unsolved-world.ts"];
    expect(await main(words)).toBe(0);
    expect(out).toHaveLength(1);
    expect(out[0]).toMatch(
      /^Nothing to replay: unsolved knows no solutions\. 200 of 200 tasks begin/,
    );
    out = [];
    expect(await main([...words, "--limit", "3", "--json"])).toBe(0);
    expect(json()).toEqual({ games: 6, won: 6, failures: [], replayed: false });
  });

  it.each([
    ["luck=true", "it is not the same when it begins"],
    ["fragile=true", 'its function act \\(""\\) failed: nothing was said'],
  ])("finds what is wrong with a world without solutions: %s", async (option, reason) => {
    const words = ["env", "verify", "./tests/cli/support/unsolved-world.ts", option];
    expect(await main([...words, "--split", "test", "--limit", "2"])).toBe(1);
    expect(out.slice(0, 2).join("\n")).toMatch(
      new RegExp(`^(FAILED test/.: .*${reason}.*\n?){2}$`),
    );
    expect(out[2]).toMatch(/^Nothing to replay: .* 0 of 2 tasks begin/);
  });

  it("says what to do about a world whose file is taken for CommonJS", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openmanus-world-"));
    const file = join(folder, "world.ts");
    const source = fileURLToPath(new URL("./support/unsolved-world.ts", import.meta.url));
    writeFileSync(file, `export { default } from ${JSON.stringify(source)};\n`);
    // In a process of its own: how a file is loaded differs inside vitest.
    const words = ["bin/openmanus-rl.mjs", "env", "verify"];
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const run = (path: string) =>
      spawnSync(process.execPath, [...words, path], { cwd: root, encoding: "utf8" });
    const { status, stderr } = run(file);
    // A later Node may load it as it is.
    if (status !== 0) expect([status, stderr]).toEqual([1, expect.stringMatching(/Name it \.mts/)]);
    renameSync(file, `${folder}/world.mts`);
    expect(run(`${folder}/world.mts`)).toMatchObject({ status: 0, stderr: "" });
    rmSync(folder, { recursive: true });
  });

  it.each([
    [["env"], 2, /what about the worlds/],
    [["env", "dance"], 2, /no "env dance"/],
    [["env", "list", "x"], 2, /list takes no "x"/],
    [["env", "show"], 2, /which world/],
    [["env", "show", "alfwrld"], 1, /did you mean "alfworld"/],
    [["env", "show", "household", "colour=red"], 1, /no option "colour"/],
    [["env", "verify", "household", "--split", "x"], 1, /no split "x"/],
    [["env", "verify", "household", "--limit", "x"], 2, /--limit must be/],
    [["env", "verify", "household", "/nowhere"], 1, /no option "data"/],
    [["env", "verify", "alfworld", "/nowhere"], 1, /there is nothing at \/nowhere/],
    [["play", "household", "games=20", "--task", "x"], 2, /no task "x"/],
    [["play", "household", "--task", "99999999"], 1, /has no task 99999999/],
    [["play", "household", "--steps", "0"], 2, /--steps must be/],
    [["play", "./tests/support/world-without-expert.ts", "--expert"], 2, /has no scripted expert/],
    [
      ["rollout", "./tests/support/world-without-expert.ts", "--expert"],
      2,
      /has no scripted expert/,
    ],
  ])("%j says what is wrong", async (words, code, message) => {
    expect(await main(words)).toBe(code);
    expect(errors.join("\n")).toMatch(message);
  });
});

describe("play", () => {
  it("lets the expert be watched", async () => {
    expect(await main(["play", "household", "--expert", "--split", "valid_unseen"])).toBe(0);
    expect(out.at(-1)).toMatch(/Solved after \d+ steps, score 1/);
    out = [];
    expect(await main(["play", "household", "--expert", "--steps", "1"])).toBe(0);
    expect(out.at(-1)).toMatch(/The 1 steps are used up/);
  });

  it("plays from a pipe, lists what can be done, and ends with the input", async () => {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const child = spawn(process.execPath, ["bin/openmanus-rl.mjs", "play", "household"], {
      cwd: root,
      stdio: ["pipe", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (bytes: Buffer) => {
      text += bytes.toString();
    });
    child.stdin.end("inventory\n\ndance\n:plan\n");
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(0);
    expect(text).toMatch(/You can: go to /);
    expect(text).toMatch(/> inventory\nYou are not carrying anything\./);
    expect(text).toMatch(/> dance\nNothing happens\./);
    expect(text).toMatch(/> :plan\ngo to /);
    expect(text).toMatch(/You leave\.\s*$/);
  });

  it("tells a model that is watched about the world's tools, as it was in training", async () => {
    const { definition, world } = await opened("tools", {});
    const trained = await openRunWorld((await resolvePlay({ world: "tools" })).world);
    expect(world.tools).not.toEqual([]);
    expect(worldFacts(definition, world)).toEqual(trained.about);
    await world.close?.();
    await trained.world.close?.();
  });

  it("completes actions, up to their blanks", () => {
    const list = ["go to a 1", "go to b 1", "search[<your query>]", "look"];
    expect(completions(list, "go")).toEqual(["go to a 1", "go to b 1"]);
    expect(completions(list, "s")).toEqual(["search["]);
    expect(completions(list, "")).toHaveLength(4);
    expect(completions(list, "x")).toEqual([]);
  });
});
