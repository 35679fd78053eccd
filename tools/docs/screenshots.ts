/**
 * @file Pictures of the dashboard for the documents, of a run of one's own:
 *
 *   npx tsx tools/docs/screenshots.ts runs/quickstart
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { type EpisodeList, type RunRow, serveDashboard } from "../../src/dashboard/index.ts";

const PICTURES = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) throw new Error("say which run: a folder");
const server = await serveDashboard({ folders: [folder] });
const ask = async <Value>(path: string) =>
  (await (await fetch(`${server.url}/api/runs${path}`)).json()) as Value;
const [run] = await ask<RunRow[]>("");
const middle = Math.floor(run!.iterations / 3);
const { rows } = await ask<EpisodeList>(`/${run!.id}/episodes?recorded=1&won=1&from=${middle}`);
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
for (const [name, path, height] of [
  ["run", "", 860],
  ["microscope", `/episode/${encodeURIComponent(rows[0]!.id)}`, 760],
  ["group", `/group/${encodeURIComponent(rows[0]!.group)}`, 620],
] as const) {
  const page = await browser.newPage({ viewport: { width: 1200, height } });
  await page.goto(`${server.url}/#/run/${run!.id}${path}`);
  await page
    .locator(name === "run" ? ".plot canvas" : "main h1")
    .first()
    .waitFor();
  if (name === "microscope") await page.locator(".token").nth(4).hover();
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${PICTURES}dashboard-${name}.png` });
  await page.close();
}
await browser.close();
await server.close();
