/**
 * @file `openmanus-rl dashboard`, and `train --dashboard`: started as people start them.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RunPage, RunRow } from "../../src/dashboard/index.ts";
import { makeRun } from "../dashboard/support/made-run.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { startScript } from "../training/support/processes.ts";
import { newTinyFolder, tinySettings } from "../training/support/runs.ts";

const BIN = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
const parent = temporaryFolder();

/** Starts it; gives what `find` makes of a line, and how to end it. */
async function started<Value>(
  words: readonly string[],
  find: (line: string) => Value | undefined,
): Promise<{
  value: Value;
  stop: () => Promise<number | null>;
  lines: string[];
  ended: Promise<number | null>;
}> {
  let found: (value: Value) => void = () => {};
  const waiting = new Promise<Value>((resolve) => {
    found = resolve;
  });
  const { child, ended, lines } = startScript(BIN, words, (line) => {
    const value = find(line);
    if (value !== undefined) found(value);
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const value = await Promise.race([
    waiting,
    ended.then((code) => Promise.reject(new Error(`exit code ${code}: ${lines.join("\n")}`))),
  ]);
  return {
    value,
    lines,
    ended,
    stop() {
      child.kill("SIGINT");
      return ended;
    },
  };
}

describe("the command", { timeout: 120_000 }, () => {
  it("serves runs until Ctrl-C", async () => {
    makeRun(join(parent, "runs", "one"), { iterations: 2, end: "finished" });
    const { value: url, stop } = await started(
      ["dashboard", join(parent, "runs"), "--port", "0", "--json", "--play"],
      (line) => (line.startsWith("{") ? (JSON.parse(line) as { url: string }).url : undefined),
    );
    expect(new URL(url).hostname).toBe("127.0.0.1");
    const rows = (await (await fetch(`${url}/api/runs`)).json()) as RunRow[];
    expect(rows.map(({ title }) => title)).toEqual(["made"]);
    // It may be played, were there a checkpoint.
    const played = await fetch(`${url}/api/runs/${rows[0]!.id}/play`, { method: "POST" });
    expect(((await played.json()) as { detail: string }).detail).toMatch(/no checkpoint yet/);
    expect(await (await fetch(`${url}/page.js`)).text()).toContain("MIT");
    expect(await stop()).toBe(0);
  });

  it.each([
    [["nowhere"], /there is no folder "nowhere"/],
    [["--port", "x"], /--port must be a whole number/],
    [["--api-key", "secret"], /env:NAME/],
    [["env.options.mcp=x"], /for worlds that are played: add --play/],
  ])("%j: a sentence", async (words, message) => {
    const { ended, lines } = startScript(BIN, ["dashboard", ...words]);
    expect(await ended).toBe(2);
    expect(lines.join("\n")).toMatch(message);
  });

  it("shows a run while it trains", async () => {
    const model = newTinyFolder(parent, "model");
    const run = join(parent, "trained");
    const { value: url, ended } = await started(
      ["train", "--dashboard", ...tinySettings(model, run), "trainer.total_epochs=20000"],
      (line) => /^dashboard (http:\S+)$/.exec(line)?.[1],
    );
    const page = async () => {
      const [row] = (await (await fetch(`${url}/api/runs`)).json()) as RunRow[];
      return row && ((await (await fetch(`${url}/api/runs/${row.id}`)).json()) as RunPage);
    };
    let seen = await page();
    while (!seen || seen.columns.steps.length < 2 || seen.recorded.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      seen = await page();
    }
    expect(seen.row.state.name).toBe("running");
    expect(seen.row.total).toBe(20000);
    expect(seen).toMatchObject({ isLive: true, isPlayable: false });
    const live = await fetch(`${url}/api/runs/${seen.row.id}/live`);
    const reader = live.body!.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    while (!/"kind":"drawn"/.test(heard)) heard += (await reader.read()).value ?? "";
    await reader.cancel();
    void ended;
  });
});
