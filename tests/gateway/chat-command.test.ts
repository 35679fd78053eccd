/**
 * @file `openmanus-rl chat` with piped words, and the library's `openTalk` with the functions of a model's world.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openTalk } from "../../src/library/index.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";

const COMMAND = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
const model = newModelFolder(temporaryFolder());

it("answers lines, begins anew and ends", () => {
  const said = (input: string) =>
    execFileSync(process.execPath, [COMMAND, "chat", model, "--seed", "1", "--tokens", "6"], {
      ...{ input, encoding: "utf8", timeout: 110_000 },
    });
  const answers = said("go to desk 1\n:new\ngo to desk 1\n:quit\nnever said\n");
  expect(answers.split("\n").length).toBeGreaterThan(1);
  expect(answers).not.toContain("never");
}, 120_000);

it("uses the functions of its world", async () => {
  writeFileSync(join(model, "openmanus-rl.json"), JSON.stringify({ env: { env_name: "tools" } }));
  const talk = await openTalk({ model, seed: 1, maximumTokens: 8 });
  try {
    expect(talk.tools).toContain("calculator");
    const said: string[] = [];
    await talk.say("What is 1 + 1?", { onText: (text) => said.push(text) });
    expect(said.join("").length).toBeGreaterThan(0);
    talk.forget();
  } finally {
    await talk.close();
  }
});
