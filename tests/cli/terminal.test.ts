/**
 * @file Texts of worlds, models and servers are shown, and command no terminal: what each command writes is
 * searched for characters that a terminal would obey.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { completions } from "../../src/cli/commands/play.ts";
import { main } from "../../src/cli/main.ts";
import { visible, visibleLine } from "../../src/spelling/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

/** Clears the screen, sets the title, goes back in the line, turns the direction, and C1's way to do it. */
const EVIL = "\\u001b[2J\\u001b]0;title\\u0007\\rback\\u0008\\u202eleft\\u009b31m\\u2066\\u0000end";
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

const folder = temporaryFolder();
const world = join(folder, "evil.ts");
writeFileSync(
  world,
  `import { defineEnvironment } from "openmanus-rl";
   const EVIL = "${EVIL}";
   export default defineEnvironment({
     name: "evil",
     summary: EVIL,
     maximumSteps: 2,
     splits: { train: 2 },
     start: () => 0,
     intro: () => "You see\\n\\t" + EVIL,
     actions: () => ["go", "take " + EVIL],
     act: (state, action) => ({ text: "Did " + action + EVIL, won: true }),
     solution: () => ["take " + EVIL],
     expert: () => ({ act: () => "take " + EVIL }),
   });
`,
);

let written: string[];
beforeEach(() => {
  written = [];
  const keep = (text: unknown = "") => void written.push(String(text));
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation((text) => {
      keep(text);
      return true;
    });
});
afterEach(() => vi.restoreAllMocks());

let server: Server;
let address: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.statusCode = 400;
    response.end(JSON.parse(`"${EVIL}"`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => server.close());

const out = join(folder, "episodes");

describe("a world that writes escapes", () => {
  it.each([
    ["env", "show", world],
    ["env", "show", world, "--json"],
    ["env", "verify", world],
    ["play", world, "--expert"],
    ["rollout", world, "--expert", "--tasks", "1", "--out", out],
    ["trajectories", "list", out],
    ["trajectories", "show", out],
    ["trajectories", "show", out, "--tokens"],
    ["trajectories", "show", out, "--json"],
    ["trajectories", "show", `${out}/\u001b[2J`],
    ["rollout", world, "--server", "ADDRESS", "--model", "m", "--tasks", "1", "--retries", "0"],
    ["play", "\u001b[2J"],
    ["\u001b[2J"],
  ])("%s %s …: nothing that a terminal obeys", async (...words) => {
    await main(words.map((word) => (word === "ADDRESS" ? address : word)));
    const text = written.join("\n");
    expect(text).not.toBe("");
    expect(text).not.toMatch(OBEYED);
    if (words[0] === "play" && words.length > 2) {
      expect(text).toContain("You see\n\t\\u001b[2J");
      expect(text).toContain("\\u202eleft\\u009b31m");
    }
  });

  it("is completed only where that is harmless", () => {
    expect(completions(["go", "take \u001b[2J"], "")).toEqual(["go"]);
  });
});

it("what is made visible is the same JSON, and made visible once", () => {
  const text = JSON.parse(`"${EVIL}"`) as string;
  expect(JSON.parse(visible(JSON.stringify({ text })))).toEqual({ text });
  expect(visible(visible(text))).toBe(visible(text));
  expect(visible("a\r\nb\tc é 漢 😀")).toBe("a\nb\tc é 漢 😀");
  expect(visibleLine("a\nb\rc")).toBe("a b\\u000dc");
});

it("commands write through one place", () => {
  const sources = readdirSync("src/cli", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "print.ts")
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => /\bconsole\.|stdout\.write/.test(readFileSync(file, "utf8")));
  expect(sources).toEqual([]);
});
