/**
 * @file The commands about worlds: env, play.
 */
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openRunWorld, worldFacts } from "../../src/assembly/index.ts";
import { opened } from "../../src/cli/arguments/world.ts";
import { completions } from "../../src/cli/commands/play.ts";
import { main } from "../../src/cli/main.ts";
import { resolvePlay } from "../../src/config/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

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

  it.each([
    ["none", "world.ts", []],
    ["none", "world.mts", []],
    ["none", "world.js", []],
    ["commonjs", "world.ts", []],
    ["commonjs", "world.js", []],
    ["commonjs", "world.ts", ["--isolate", "1"]],
  ])("a world outside of a module package plays: %s, %s %j", (type, name, more) => {
    const folder = temporaryFolder();
    if (type !== "none") writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
    writeFileSync(
      join(folder, name),
      [
        'import { defineEnvironment } from "openmanus-rl";',
        'export default defineEnvironment({ name: "mine", summary: "mine", maximumSteps: 2,',
        '  splits: { train: 2 }, start: () => 1, intro: () => "hello",',
        '  act: () => ({ text: "done", won: true }), solution: () => ["go"] });',
      ].join("\n"),
    );
    // In a process of its own: how a file is loaded differs inside vitest.
    const command = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
    const words = [command, "env", "verify", `./${name}`, ...more];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, {
      cwd: folder,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/2 of 2|2 tasks/);
    // What cannot be loaded is told in a sentence.
    writeFileSync(join(folder, "world.cjs"), 'module.exports = require("nowhere");');
    const broken = spawnSync(process.execPath, [command, "env", "verify", "./world.cjs"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(broken.status).toBe(1);
    expect(broken.stderr).toMatch(/world\.cjs: the file cannot be loaded: Cannot find module/);
    expect(broken.stderr).not.toMatch(/\n {4}at /);
  });

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
