/**
 * @file Watching an episode grow in a real browser: tokens appear as they are drawn, and the next iteration takes the
 * place of the last.
 */
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveDashboard } from "../../src/dashboard/index.ts";
import { takeLock } from "../../src/folders/index.ts";
import { openLiveFile } from "../../src/monitoring/index.ts";
import type { SampledReply, Trajectory } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { isBrowserMissing, openPage } from "./support/browser.ts";
import { makeRun } from "./support/made-run.ts";

const NASTY = "</pre><script>alert(1)</script>\u202e";

describe.skipIf(isBrowserMissing())("an episode", { timeout: 180_000 }, () => {
  it("grows in the page, token by token", async () => {
    const parent = temporaryFolder();
    const folder = join(parent, "run");
    makeRun(folder, { iterations: 2, total: 9 });
    const lock = takeLock(folder);
    onTestFinished(() => lock.release());
    const words = ["go", " to", " the", NASTY, " shelf"];
    const tokens = { stream: () => ({ push: (id: number) => words[id]!, finish: () => "" }) };
    const live = openLiveFile(join(folder, "live.jsonl"), { episodes: 1, pause: 0 });
    onTestFinished(() => live.close());
    const watchOf = (iteration: number) =>
      live.iteration(
        iteration,
        tokens,
        true,
      )({
        ...{ id: `${iteration}:train/7#0`, place: 0, step: iteration, member: 0, attempt: 0 },
        task: { environment: "household", split: "train", id: "train/7" },
      })!;
    const watch = watchOf(3);
    watch.told(0, "You are in a room.");
    const server = await serveDashboard({ folders: [parent] });
    onTestFinished(() => server.close());
    const { page, complaints } = await openPage();
    await page.goto(server.url);
    await page.locator("tbody tr a").first().click();
    await page.getByRole("link", { name: "watch it play" }).click();
    await page.getByText("You are in a room.").waitFor();
    await page.getByText("iteration 3").waitFor();
    for (const id of words.keys()) {
      watch.token!(0, { id, logprob: -id, sampledLogprob: -id });
      await page.locator(".token").nth(id).waitFor();
    }
    expect(await page.locator(".token").allTextContents()).toEqual(
      words.map((word) => word.replace("\u202e", "⟨U+202e⟩")),
    );
    expect(await page.locator(".caret").count()).toBe(1);
    expect(await page.locator(".token").nth(1).getAttribute("title")).toBe("log p -1, 36.8 %");
    watch.replied(0, {
      ids: [0, 1, 2, 3, 4],
      logprobs: [0, -1, -2, -3, -4],
    } as unknown as SampledReply);
    watch.acted(0, { action: "go to the shelf", admissible: false, reward: 0, score: 0 });
    await page.getByText("not admissible").waitFor();
    watch.ended({
      ...{ status: "won", reward: 10, score: 1, lastObservation: "You won." },
    } as unknown as Trajectory);
    await page.getByText("You won.").waitFor();
    await page.getByText("learning from what was played").waitFor();
    expect(await page.locator(".token").count()).toBe(words.length);
    watchOf(4).told(0, "Another room.");
    await page.getByText("Another room.").waitFor();
    expect(await page.getByText("You won.").count()).toBe(0);
    lock.release();
    await page.getByText("the run is over").waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
