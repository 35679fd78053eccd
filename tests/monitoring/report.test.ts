/**
 * @file The HTML report: self-contained, safe for any text in it, and drawn by a real browser where
 * there is one.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { defaultGroups, type Report, writeReport } from "../../src/monitoring/index.ts";
import { temporaryFolder } from "./support.ts";

const NASTY = `</script><script>alert(1)</script><!-- & "quotes" 'and' <b>`;

const NAMES = ["episode/success_rate", "val/success_rate", "actor/pg_loss"];

const REPORT: Report = {
  title: "GiGPO on rooms",
  subtitle: NASTY,
  metrics: [1, 2, 3, 4].map((step) => ({
    step,
    metrics: {
      "episode/success_rate": step / 4,
      ...(step === 2 ? { "val/success_rate": 0.375 } : {}),
      "actor/pg_loss": step === 3 ? Number.NaN : -step,
      [`own/${NASTY}`]: step,
      "response_length/mean": 10 * step,
      "response_length/max": 20 * step,
    },
  })),
  summary: [
    {
      name: "Success rate",
      before: { value: 0.2, low: 0.15, high: 0.25 },
      after: { value: 0.7, low: 0.65, high: 0.75 },
      percent: true,
    },
    { name: NASTY, before: 18.2, after: 11.4, moreIsBetter: false },
    { name: "Only after", after: 1 },
  ],
  config: { env: { name: NASTY } },
  versions: { libtorch: "1.13.0", [NASTY]: NASTY },
  episodes: [
    {
      title: NASTY,
      success: true,
      reward: 10,
      turns: [{ prompt: `told ${NASTY}`, reply: `<action>go</action>`, reward: 10 }],
    },
  ],
};

function written(report: Report): { file: string; html: string } {
  const file = join(temporaryFolder(), "report.html");
  writeReport(file, report);
  return { file, html: readFileSync(file, "utf8") };
}

/** Everything between the tags of scripts, as a browser cuts it. */
function scriptsOf(html: string): string[] {
  return [...html.matchAll(/<script[^>]*>([\s\S]*?)<\/script/g)].map((match) => match[1]!);
}

function withoutScripts(html: string): string {
  return scriptsOf(html).reduce((rest, script) => rest.replace(script, ""), html);
}

describe("the report", () => {
  it("is one file that loads nothing", () => {
    const { file, html } = written(REPORT);
    expect(readdirSync(join(file, ".."))).toEqual(["report.html"]);
    expect(html).toContain("default-src 'none'");
    // uPlot goes on with the file, and so must its licence.
    expect(html).toMatch(/MIT License[\s\S]*Copyright/);
    expect(withoutScripts(html)).not.toMatch(/\b(src|href)=|url\(|@import|https?:/);
  });

  it("keeps texts texts", () => {
    const { html } = written(REPORT);
    const scripts = scriptsOf(html);
    expect(scripts).toHaveLength(3);
    expect(html).not.toContain("<script>alert");
    expect(html).not.toContain("<b>");
    expect(html).not.toContain("<action>");
    expect(html).toContain("&lt;action&gt;go&lt;/action&gt;");
    for (const script of scripts.slice(1)) expect(() => new Script(script)).not.toThrow();
  });

  it("has the curves' numbers; null where nothing finite was measured", () => {
    const { html } = written(REPORT);
    const data = JSON.parse(scriptsOf(html)[0]!) as {
      steps: number[];
      values: Record<string, (number | null)[]>;
    };
    expect(data.steps).toEqual([1, 2, 3, 4]);
    expect(data.values["episode/success_rate"]).toEqual([0.25, 0.5, 0.75, 1]);
    expect(data.values["val/success_rate"]).toEqual([null, 0.375, null, null]);
    expect(data.values["actor/pg_loss"]).toEqual([-1, -2, null, -4]);
    expect(data.values[`own/${NASTY}`]).toEqual([1, 2, 3, 4]);
  });

  it("tells before from after, with intervals, and better from worse", () => {
    const { html } = written(REPORT);
    expect(html).toContain(`20.0%<span class="interval">15.0% to 25.0%</span>`);
    expect(html).toContain(`<td class="number good">+50.0 points</td>`);
    expect(html).toContain(`<td class="number good">-6.8</td>`);
    expect(html).toContain(
      `<tr><td>Only after</td><td class="number">–</td><td class="number">1</td><td class="number">–</td></tr>`,
    );
  });

  it("can be almost empty", () => {
    const { html } = written({ title: "Nothing", metrics: [] });
    const body = withoutScripts(html);
    expect(body).toContain("No metrics were measured");
    expect(body).not.toMatch(/undefined|Before and after|Episodes/);
  });

  it("draws only what was asked for", () => {
    const charts = [{ title: "Loss", names: ["actor/pg_loss", "never/measured"] }];
    const { html } = written({ ...REPORT, groups: [{ title: "Mine", charts }] });
    expect(Object.keys(JSON.parse(scriptsOf(html)[0]!).values)).toEqual(["actor/pg_loss"]);
  });

  it("replaces an older one as a whole, and says why it could not be written", () => {
    const folder = temporaryFolder();
    const file = join(folder, "report.html");
    writeReport(file, { title: "One", metrics: [] });
    writeReport(file, { title: "Two", metrics: [] });
    expect(readFileSync(file, "utf8")).toContain("<h1>Two</h1>");
    mkdirSync(join(folder, "taken"));
    expect(() => writeReport(join(folder, "taken"), REPORT)).toThrow(/taken could not be written/);
    expect(readdirSync(folder).sort()).toEqual(["report.html", "taken"]);
  });
});

describe("the default charts", () => {
  it("show the success of all types of tasks together", () => {
    const names = ["val/success_rate", "val/pick_success_rate", "val/clean_success_rate"];
    const charts = defaultGroups(names).flatMap((group) => group.charts);
    const byType = charts.filter((chart) => chart.names.some((name) => name.includes("pick")));
    expect(byType).toEqual([
      {
        title: "Success rate by type, in validation",
        names: ["val/clean_success_rate", "val/pick_success_rate"],
      },
    ]);
  });

  it("show every metric, and mean, max and min together", () => {
    const names = [
      ...["episode/success_rate", "a/x/mean", "a/x/max", "a/x/min", "a/y", "critic/rewards/mean"],
      ...["critic/rewards/max", "plain"],
    ];
    const charts = defaultGroups(names).flatMap((group) => group.charts);
    const drawn = new Set(charts.flatMap((chart) => chart.names));
    expect(names.filter((name) => !drawn.has(name))).toEqual([]);
    expect(charts).toContainEqual({ title: "a/x", names: ["a/x/max", "a/x/mean", "a/x/min"] });
    expect(charts).toContainEqual({
      title: "critic/rewards",
      names: ["critic/rewards/max", "critic/rewards/mean"],
    });
  });
});

const BROWSER = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "google-chrome"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

/** The page after its scripts, and `more` script, have run. */
function browsed(report: Report, more = ""): string {
  const { file, html } = written(report);
  writeFileSync(
    file,
    html.replace("</body>", () => `<script>${more}</script></body>`),
  );
  const { stdout, stderr } = spawnSync(
    BROWSER!,
    [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"],
      ...["--enable-logging=stderr", `--user-data-dir=${join(file, "..", "profile")}`],
      ...["--dump-dom", pathToFileURL(file).href],
    ],
    { encoding: "utf8", maxBuffer: 1e8 },
  );
  expect(stderr).not.toMatch(/CONSOLE|Refused/);
  return stdout.replace(/<script[\s\S]*?<\/script>/g, "");
}

const textOf = (page: string) => page.replace(/<[^>]+>/g, " ");

describe.skipIf(!BROWSER)("the report in a browser", () => {
  const charts = [{ title: "Own", names: [`own/${NASTY}`] }];
  const groups = [{ title: "Own", charts }, ...defaultGroups(NAMES)];

  it("draws the open groups' charts, with their last values", () => {
    const page = browsed({ ...REPORT, groups });
    expect(page.match(/<canvas/g)).toHaveLength(2);
    expect(textOf(page)).toMatch(/episode\/success_rate\s+1\s/);
    expect(textOf(page)).toMatch(/val\/success_rate\s+0\.375\s/);
    expect(textOf(page)).toMatch(/actor\/pg_loss\s+-4\s/);
  });

  it("draws the others when they are opened, and smooths", () => {
    const page = browsed(
      { ...REPORT, groups },
      `for (const group of document.querySelectorAll("details")) group.open = true;
       const slider = document.getElementById("smoothing");
       slider.value = 0.5;
       slider.dispatchEvent(new Event("input"));`,
    );
    expect(page.match(/<canvas/g)).toHaveLength(3);
    expect(page).toContain('u-label">own/&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
    // The mean of 0.25, 0.5, 0.75 and 1 with weights 1, 2, 4 and 8.
    expect(textOf(page)).toMatch(/episode\/success_rate\s+0\.8167\s/);
  });
});
