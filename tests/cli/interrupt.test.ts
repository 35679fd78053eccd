/**
 * @file Ctrl-C and SIGTERM: the first lets work end, the second does not wait for it.
 */
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { startScript } from "../training/support/processes.ts";

const SCRIPT = fileURLToPath(new URL("./support/interruptible.ts", import.meta.url));

/** Sends a signal at each of these lines of its output. */
async function interrupted(kind: string, signals: Readonly<Record<string, NodeJS.Signals>>) {
  const { child, ended, lines } = startScript(SCRIPT, [kind], (line) => {
    if (signals[line]) child.kill(signals[line]);
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { code: await ended, lines };
}

it.each(["SIGINT", "SIGTERM"] as const)("%s lets the work end by itself", async (signal) => {
  expect(await interrupted("patient", { working: signal })).toEqual({
    code: 0,
    lines: ["working", "finishing", "saved"],
  });
});

it.each(["SIGINT", "SIGTERM"] as const)("a second one, %s, ends at once", async (second) => {
  expect(await interrupted("stubborn", { working: "SIGTERM", finishing: second })).toEqual({
    code: 130,
    lines: ["working", "finishing"],
  });
});
