/**
 * @file A world of one's own in a file, from a folder that is no package, or one of CommonJS: what is written as
 * a module works, whatever it is called; what is not, is told how.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../rollout/support.ts";

const parent = temporaryFolder();
const BODY = `{
  name: "own",
  summary: "own",
  maximumSteps: 2,
  splits: { train: 2 },
  start: () => 0,
  intro: () => helper,
  act: () => ({ text: "done", won: true }),
  expert: () => ({ act: () => "go" }),
}`;

/** Plays the world in a file of that name, beside a file that it imports. */
async function played(folder: string, ending: string, text: string) {
  const place = join(parent, folder, ending);
  mkdirSync(place, { recursive: true });
  const isTyped = ending.endsWith("ts");
  const helper = `helper.${isTyped ? "ts" : "js"}`;
  if (folder !== "none")
    writeFileSync(join(place, "package.json"), JSON.stringify({ type: folder }));
  writeFileSync(
    join(place, helper),
    `export const helper${isTyped ? ": string" : ""} = "It works.";\n`,
  );
  writeFileSync(join(place, `world.${ending}`), text.replace("HELPER", helper));
  const child = spawn(
    process.execPath,
    [resolve("bin/openmanus-rl.mjs"), "play", `./world.${ending}`, "--expert"],
    { cwd: place, stdio: ["ignore", "pipe", "pipe"] },
  );
  const said = { out: "", errors: "" };
  child.stdout.on("data", (bytes) => {
    said.out += bytes;
  });
  child.stderr.on("data", (bytes) => {
    said.errors += bytes;
  });
  const [code] = await once(child, "close");
  return { code, ...said };
}

const ENDINGS = ["ts", "mts", "cts", "js", "mjs", "cjs"];

describe.each(["none", "commonjs", "module"])("a folder whose package.json says: %s", (folder) => {
  it.each(ENDINGS)("a module named .%s works", { timeout: 60_000 }, async (ending) => {
    const text = `import { defineEnvironment } from "openmanus-rl";
import { helper } from "./HELPER";
export default defineEnvironment(${BODY});
`;
    const { code, out, errors } = await played(folder, ending, text);
    expect(errors).toBe("");
    expect(out).toMatch(/^It works\./);
    expect(code).toBe(0);
  });
});

it.each(["cts", "js"])(
  "CommonJS in a .%s is told how to write it",
  { timeout: 60_000 },
  async (ending) => {
    const text = `const { defineEnvironment } = require("openmanus-rl");
const helper = "hello";
module.exports = defineEnvironment(${BODY});
`;
    const { code, errors } = await played("commonjs", ending, text);
    expect(errors).toMatch(/world\.\w+: .*it is written as CommonJS .*export default/);
    expect(errors).not.toMatch(/^ {4}at /m);
    expect(code).toBe(1);
  },
);
