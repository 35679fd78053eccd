/**
 * @file `env serve`, and the worlds of its servers on the command line.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";

const command = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));

let server: ChildProcess;
let served: { world: string; url: string; kind: string; tasks: number };
let out: string[];
let errors: string[];

beforeAll(async () => {
  server = spawn(process.execPath, [command, "env", "serve", "maze", "--split", "train", "--json"]);
  const [line] = (await once(server.stdout!, "data")) as [Buffer];
  served = JSON.parse(line.toString()) as typeof served;
});
afterAll(() => {
  server.kill("SIGKILL");
});
beforeEach(() => {
  vi.restoreAllMocks();
  out = [];
  errors = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void out.push(text));
  vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
});

describe("env serve", () => {
  it("says where it is", () => {
    expect(served).toEqual({
      world: "maze",
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/maze$/),
      kind: "maze",
      tasks: 25,
    });
  });

  it("is a world that env show and env verify can open", async () => {
    const world = ["agentgym", `url=${served.url}`, "kind=maze", "tasks=25"];
    expect(await main(["env", "show", ...world])).toBe(0);
    expect(out.join("\n")).toMatch(/tasks +maze at http/);
    expect(out.join("\n")).toMatch(/The first task, lmrlgym_maze_0:.*A solution:/s);
    out = [];
    expect(await main(["env", "verify", ...world, "--json"])).toBe(0);
    expect(JSON.parse(out.join("\n"))).toEqual({ games: 25, won: 25, failures: [] });
  });

  it.each([
    [["serve"], /which world\?/],
    [["serve", "maze", "more"], /takes no "more"/],
    [["serve", "maze", "--port", "70000"], /--port must be a whole number from 0 to 65535/],
    [["serve", "maze", "--environments", "0"], /--environments must be/],
    [["serve", "maze", "--idle", "soon"], /--idle must be/],
    [["serve", "maze", "--kind", "mazes"], /no kind of server called "mazes"/],
  ])("refuses %j", async (words, reason) => {
    expect(await main(["env", ...words])).toBeGreaterThan(0);
    expect(errors.join("\n")).toMatch(reason);
  });

  it("ends when it is asked to, with exit code 0", async () => {
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(await main(["env", "show", "agentgym", `url=${served.url}`, "retries=0"])).toBe(1);
    expect(errors.join("\n")).toMatch(/cannot be reached.*is the server running\?/);
  });
});
