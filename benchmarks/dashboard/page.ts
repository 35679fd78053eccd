/**
 * @file The page over a long run (2,000 iterations of 128 episodes, made by a script), in Chromium: until the first paint,
 * until a filter's answer is on the screen, memory of the page and of the server.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import type { RunRow } from "../../src/dashboard/index.ts";
import { makeRun } from "../../tests/dashboard/support/made-run.ts";
import { median, statusBytes } from "../measure.ts";
import { startDashboard } from "./server.ts";

export interface PageFigures {
  readonly episodes: number;
  readonly iterations: number;
  /** Seconds that making the run took. */
  readonly madeIn: number;
  /** Milliseconds, all of them. */
  readonly firstAnswer: number;
  readonly paints: Readonly<Record<string, number>>;
  readonly filters: Readonly<Record<string, number>>;
  readonly pageBytes: number;
  /** Of the browser's process that shows the page, its own code included. */
  readonly rendererBytes: number;
  readonly serverBytes: number;
}

const SIZE = { iterations: 2000, groups: 16, members: 8, turns: 4, validations: 50 };
const CHROMIUM = "/usr/bin/chromium";
const ROUNDS = 5;
const FILTERS = [
  { won: "1" },
  { type: "heat", won: "0" },
  { from: "500", to: "700", sort: "reward" },
  { task: "train/7" },
];

export async function pageFigures(): Promise<PageFigures> {
  if (!existsSync(CHROMIUM)) throw new Error("there is no chromium: apt-get install chromium");
  const folder = mkdtempSync(join(tmpdir(), "openmanus-dashboard-"));
  const begun = performance.now();
  console.error("making the run …");
  makeRun(join(folder, "long"), { ...SIZE, end: "finished" });
  const madeIn = (performance.now() - begun) / 1000;
  const server = await startDashboard(folder);
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  try {
    // The server reads the run once; a page that is opened later finds it read.
    const since = performance.now();
    const [row] = (await (await fetch(`${server.url}/api/runs`)).json()) as RunRow[];
    const firstAnswer = performance.now() - since;
    const measured = await inBrowser(browser, server.url, row!.id);
    return {
      ...{ episodes: SIZE.iterations * SIZE.groups * SIZE.members, iterations: SIZE.iterations },
      ...{ madeIn, firstAnswer, ...measured },
      serverBytes: statusBytes("VmRSS", server.pid),
    };
  } finally {
    await browser.close();
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inBrowser(browser: Browser, url: string, run: string) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const views: Record<string, [path: string, text: string | RegExp]> = {
    runs: ["", /long/],
    run: [`run/${run}`, "paired sign test"],
    episodes: [`run/${run}/episodes`, /of 256000 episodes/],
    microscope: [`run/${run}/episode/${encodeURIComponent("900:train/0#1")}`, "at the end"],
  };
  const paints: Record<string, number> = {};
  for (const [name, [path, text]] of Object.entries(views)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      await page.goto(`${url}/?${round}#/${path}`);
      await page.getByText(text).first().waitFor();
      times.push(performance.now() - start);
    }
    paints[name] = median(times);
  }
  const filters: Record<string, number> = {};
  for (const filter of FILTERS)
    filters[new URLSearchParams(filter as Record<string, string>).toString()] = await filtered(
      page,
      `${url}/#/run/${run}/episodes`,
      new URLSearchParams(filter as Record<string, string>),
    );
  await page.goto(`${url}/?memory#/run/${run}`);
  await page.getByText("paired sign test").waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number };
  return { paints, filters, pageBytes: usedSize, rendererBytes: await rendererBytes(browser) };
}

/** From the change of the filter until the list that it gives is painted, in the page's own clock. */
async function filtered(page: Page, address: string, query: URLSearchParams): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto(address.replace("/#", `/?${query}&${round}#`));
    await page.getByText(/256000 of 256000 episodes/).waitFor();
    const took = await page.evaluate(`new Promise((done) => {
      const start = performance.now();
      const look = () => {
        const shown = document.querySelector("main > p.faint")?.textContent ?? "";
        if (shown.includes("of 256000 episodes") && !shown.startsWith("256000"))
          requestAnimationFrame(() => done(performance.now() - start));
        else requestAnimationFrame(look);
      };
      location.hash = location.hash.split("?")[0] + "?" + ${JSON.stringify(query.toString())};
      look();
    })`);
    times.push(took as number);
  }
  return median(times);
}

async function rendererBytes(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => statusBytes("VmRSS", id));
  return Math.max(...sizes);
}
