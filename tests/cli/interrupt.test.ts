/**
 * @file Ctrl-C, SIGTERM and a closed terminal: the first lets work end, the second does not wait for it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { checkpointSteps } from "../../src/training/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { startScript } from "../training/support/processes.ts";
import { tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const SCRIPT = fileURLToPath(new URL("./support/interruptible.ts", import.meta.url));

/** Sends a signal at each of these lines of its output. */
async function interrupted(kind: string, signals: Readonly<Record<string, NodeJS.Signals>>) {
  const { child, ended, lines } = startScript(SCRIPT, [kind], (line) => {
    if (signals[line]) child.kill(signals[line]);
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { code: await ended, lines };
}

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s lets the work end by itself",
  async (signal) => {
    expect(await interrupted("patient", { working: signal })).toEqual({
      code: 0,
      lines: ["working", "finishing", "saved"],
    });
  },
);

it.each(["SIGINT", "SIGTERM"] as const)("a second one, %s, ends at once", async (second) => {
  expect(await interrupted("stubborn", { working: "SIGTERM", finishing: second })).toEqual({
    code: 130,
    lines: ["working", "finishing"],
  });
});

it("a second SIGHUP does not: a terminal and its shell may both send one", async () => {
  expect(await interrupted("slow", { working: "SIGHUP", finishing: "SIGHUP" })).toEqual({
    code: 0,
    lines: ["working", "finishing", "saved"],
  });
});

describe("a run of train whose terminal goes", () => {
  const parent = temporaryFolder();
  let warm: string;
  beforeAll(async () => {
    warm = await warmTinyFolder(parent);
  });

  it.each(["SIGHUP", "nobody reads"])(
    "(%s) saves where it is, and goes on from there",
    async (how) => {
      const run = join(parent, how.replace(" ", "-"));
      const settings = [...tinySettings(warm, run), "trainer.total_epochs=100000"];
      const child = spawn(process.execPath, ["bin/openmanus-rl.mjs", "train", ...settings], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const ended = once(child, "exit");
      child.stderr.resume();
      // It is under way when its first step is shown.
      let text = "";
      for await (const piece of child.stdout
        .setEncoding("utf8")
        .iterator({ destroyOnReturn: false })) {
        text += piece;
        if (/step +2\//.test(text)) break;
      }
      if (how === "SIGHUP") {
        child.stdout.resume();
        child.kill("SIGHUP");
      } else child.stdout.destroy();
      const [code, signal] = await ended;
      expect([code, signal]).toEqual([how === "SIGHUP" ? 130 : 141, null]);
      expect(checkpointSteps(run).at(-1)).toBeGreaterThanOrEqual(2);
    },
    120_000,
  );
});
