/**
 * @file The report as HTML.
 */
import { escapeJson, escapeMarkup } from "../escape.ts";
import { type ChartGroup, columnsOf, defaultGroups, measuredGroups, namesOf } from "./charts.ts";
import { episodeSection } from "./episodes.ts";
import { PAGE_SCRIPT } from "./page-script.ts";
import { PAGE_STYLE } from "./page-style.ts";
import type { Report } from "./report.ts";
import { summarySection } from "./summary.ts";

/** The page may run its own script and load nothing: that is checked by the browser. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

export function reportPage(report: Report, plotter: { script: string; style: string }): string {
  const names = namesOf(report.metrics);
  const groups = measuredGroups(report.groups ?? defaultGroups([...names]), names);
  const drawn = new Set(groups.flatMap(({ charts }) => charts.flatMap((chart) => chart.names)));
  const subtitle = report.subtitle
    ? `<p class="subtitle">${escapeMarkup(report.subtitle)}</p>`
    : "";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeMarkup(report.title)}</title>
<style>${plotter.style}${PAGE_STYLE}</style>
</head>
<body>
<h1>${escapeMarkup(report.title)}</h1>
${subtitle}
${summarySection(report.summary ?? [])}
${chartSection(groups)}
${episodeSection(report.episodes ?? [])}
${configSection(report.config)}
${versionSection(report.versions ?? {})}
<script type="application/json" id="data">${escapeJson(columnsOf(report.metrics, drawn))}</script>
<script>${plotter.script}</script>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

function chartSection(groups: readonly ChartGroup[]): string {
  if (groups.length === 0) return "<h2>Curves</h2>\n<p>No metrics were measured.</p>";
  const folded = groups.map(({ title, charts, open }) => {
    const figures = charts.map(
      (chart) =>
        `<figure><figcaption>${escapeMarkup(chart.title)}</figcaption>` +
        `<div class="chart" data-names="${escapeMarkup(JSON.stringify(chart.names))}"></div></figure>`,
    );
    return `<details${open ? " open" : ""}><summary>${escapeMarkup(title)}<span class="count">${charts.length}</span></summary>
<div class="charts">
${figures.join("\n")}
</div></details>`;
  });
  return `<h2>Curves</h2>
<p><label class="control">smoothing <input type="range" id="smoothing" min="0" max="0.95" step="0.05" value="0"></label></p>
${folded.join("\n")}`;
}

function configSection(config: unknown): string {
  if (config === undefined) return "";
  const text = typeof config === "string" ? config : JSON.stringify(config, null, 2);
  return `<h2>Configuration</h2>
<details><summary>As it was resolved</summary><pre>${escapeMarkup(text)}</pre></details>`;
}

function versionSection(versions: Readonly<Record<string, string>>): string {
  const rows = Object.entries(versions).map(
    ([name, version]) => `<tr><th>${escapeMarkup(name)}</th><td>${escapeMarkup(version)}</td></tr>`,
  );
  if (rows.length === 0) return "";
  return `<h2>Versions</h2>\n<div class="scroll"><table>${rows.join("\n")}</table></div>`;
}
