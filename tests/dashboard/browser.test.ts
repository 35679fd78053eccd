/**
 * @file The dashboard's page in a real browser: every view, live, by keyboard, on a phone's width, with hostile texts; and the
 * report, which is the same page in a file.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type RunRow, serveDashboard, writeRunReport } from "../../src/dashboard/index.ts";
import { takeLock } from "../../src/folders/index.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";
import { isBrowserMissing, openPage } from "./support/browser.ts";
import { makeRun } from "./support/made-run.ts";

const NASTY = `</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e${"x".repeat(300_000)}`;

/** The page draws a moment after it was told, and a busy machine takes its time. */
const SOON = { timeout: 10_000 };

const parent = temporaryFolder();
const runs = join(parent, "runs");

async function served(folder = runs): Promise<{ url: string; rows: RunRow[] }> {
  const server = await serveDashboard({ folders: [folder] });
  onTestFinished(() => server.close());
  const rows = (await (await fetch(`${server.url}/api/runs`)).json()) as RunRow[];
  return { url: server.url, rows };
}

const idOf = (rows: readonly RunRow[], name: string) =>
  rows.find(({ folder }) => folder.endsWith(name))!.id;

describe.skipIf(isBrowserMissing())("the page", { timeout: 180_000 }, () => {
  beforeAll(() => {
    const model = newModelFolder(parent);
    for (const seed of [0, 1])
      makeRun(join(runs, `gigpo-${seed}`), { iterations: 12, end: "finished", seed, model });
    makeRun(join(runs, "grpo"), { iterations: 12, end: "failed", estimator: "grpo", total: 30 });
    makeRun(join(runs, "nasty"), { iterations: 3, text: NASTY, estimator: NASTY.slice(0, 60) });
  });

  it("shows runs, one run, a comparison", async () => {
    const { url } = await served();
    const { page, complaints } = await openPage({ dark: true });
    await page.goto(url);
    await page.getByRole("link", { name: /gigpo-0/ }).waitFor();
    await expect.poll(() => page.locator("tbody tr").count(), SOON).toBe(4);
    await page.getByRole("link", { name: /gigpo-0/ }).click();
    await page.getByText("paired sign test").waitFor();
    await page.locator(".plot canvas").first().waitFor();
    await expect.poll(() => page.locator("figure.chart").count(), SOON).toBe(5);
    await page.getByText("Configuration").click();
    await page.getByText("adv_estimator: gigpo").waitFor();
    // By choosing rows; two seeds become one curve with a band.
    await page.getByRole("link", { name: "openmanus-rl" }).click();
    await page.getByText("Choose several").waitFor();
    for (const box of await page.getByRole("checkbox").all()) await box.check();
    await page.getByRole("link", { name: "compare 4" }).click();
    await page.getByText("gigpo, 2 seeds").first().waitFor();
    await page.getByText("algorithm.adv_estimator").waitFor();
    await page.getByRole("checkbox", { name: "logarithmic" }).check();
    await page.getByRole("combobox").selectOption("minutes");
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("shows episodes, a group, and tokens by keyboard", async () => {
    const { url, rows } = await served();
    const id = idOf(rows, "gigpo-0");
    const { page, complaints } = await openPage();
    await page.goto(`${url}/#/run/${id}/episodes`);
    await page.getByText("96 of 96 episodes").waitFor();
    await page.getByText("Why the others were not solved").click();
    await page.getByText("nothing else is to be seen").waitFor();
    await page.getByRole("button", { name: /^won/ }).click();
    await page.getByText("96 of 96 episodes").waitFor({ state: "detached" });
    await page.getByLabel("from iteration").fill("12");
    await page.getByLabel("tokens recorded").check();
    await page.waitForURL(/recorded=1/);
    await page.waitForURL(/from=12/);
    await page.getByText(/^[1-4] of 96 episodes/).waitFor();
    await page.locator("tbody tr a").first().click();
    await page.getByText("part of the policy loss").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.getByText("log-probability in its update").waitFor();
    await expect.poll(() => page.locator(".token.shown").count(), SOON).toBe(1);
    const style = () => page.locator(".token").nth(3).getAttribute("style");
    const before = await style();
    await page.getByRole("combobox").selectOption("entropy");
    await expect.poll(style, SOON).not.toBe(before);
    await page.getByRole("link", { name: "the task through training" }).click();
    await page.getByText("iteration 12").waitFor();
    await expect.poll(() => page.locator(".columns section").count(), SOON).toBe(3);
    await page.goBack();
    await page.getByRole("link", { name: "its group" }).click();
    await page.getByText("compared with each other").waitFor();
    await expect.poll(() => page.locator(".group td").count(), SOON).toBe(12);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("follows a run that writes, without asking when nothing happens", async () => {
    const folder = join(parent, "live");
    const run = join(folder, "run");
    makeRun(run, { iterations: 2, total: 9 });
    const lock = takeLock(run);
    onTestFinished(() => lock.release());
    const { url, rows } = await served(folder);
    const { page, complaints } = await openPage();
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes("/api/runs")) asked++;
    });
    await page.goto(`${url}/#/run/${idOf(rows, "run")}`);
    await page.getByText("2 of 9 iterations").waitFor();
    const first = asked;
    await page.waitForTimeout(2500);
    expect(asked - first).toBeLessThanOrEqual(1);
    appendFileSync(join(run, "metrics.jsonl"), '{"step": 3, "episode/success_rate": 0.5}\n');
    await page.getByText("3 of 9 iterations").waitFor();
    lock.release();
    await page.getByText("killed", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("shows texts as texts, whatever they are", async () => {
    const { url, rows } = await served();
    const { page, complaints } = await openPage();
    await page.goto(
      `${url}/#/run/${idOf(rows, "nasty")}/episode/${encodeURIComponent("1:train/0#0")}`,
    );
    await page.getByText("</script><script>alert(1)</script>").first().waitFor();
    await page.getByText("more characters)").first().waitFor();
    // What would turn the writing round is shown by its number.
    await page.getByText("⟨U+202e⟩x").first().waitFor();
    expect(await page.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("fits a phone", async () => {
    const { url, rows } = await served();
    const id = idOf(rows, "gigpo-0");
    const { page, complaints } = await openPage({ width: 390 });
    const views = [
      ["", "Runs"],
      [`run/${id}`, "paired sign test"],
      [`run/${id}/episodes`, "of 96 episodes"],
      [`run/${id}/episode/${encodeURIComponent("5:train/0#1")}`, "at the end"],
      [`run/${id}/group/${encodeURIComponent("5:train/0")}`, "4 episodes"],
    ] as const;
    for (const [path, text] of views) {
      await page.goto(`${url}/#/${path}`);
      await page.getByText(text).first().waitFor();
      // Tables scroll in themselves; the page does not.
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect(width, path).toBeLessThanOrEqual(390);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("is the report, too: one file, offline", async () => {
    const file = writeRunReport(join(runs, "gigpo-0"));
    const { page, complaints } = await openPage();
    await page.context().setOffline(true);
    await page.goto(pathToFileURL(file).href);
    await page.getByText("paired sign test").waitFor();
    await page.locator(".plot canvas").first().waitFor();
    await page.getByRole("link", { name: "tokens under the microscope" }).click();
    await page.getByText("12 of 12 episodes").waitFor();
    await page.locator("tbody tr a").first().click();
    await page.getByText("part of the policy loss").waitFor();
    await page.goto(pathToFileURL(writeRunReport(join(runs, "nasty"))).href);
    await page.getByText("by hand").waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });
});
