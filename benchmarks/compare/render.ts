/**
 * @file `npm run results`: tables and pictures of docs/results.md, from the files of benchmarks/results.
 * What stands between `<!-- made NAME -->` and `<!-- end -->` is made; the words around it are written.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { curveSvg, type Point } from "../../src/monitoring/index.ts";
import { type Results, readResults } from "./results.ts";
import {
  algorithmsOf,
  questionTable,
  runsOf,
  startOf,
  successTable,
  tuningTable,
  typeTable,
} from "./tables.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = join(ROOT, "docs", "results.md");
const PICTURES = join(ROOT, "docs", "pictures");

/** Success over episodes and over minutes, a curve per algorithm, the range of its seeds shaded. */
function pictures({ name, about, lines }: Results): string[] {
  const axes = [
    { key: "episodes", label: "training episodes" },
    { key: "minutes", label: "minutes of training" },
  ] as const;
  const start = startOf(lines);
  return axes.map(({ key, label }) => {
    const file = `${name}-${key}.svg`;
    const series = algorithmsOf(lines).map((algorithm) => ({
      name: algorithm,
      runs: runsOf(lines, algorithm).map((run) =>
        [...start, ...run.filter(({ step }) => step > 0)].map(
          (line): Point => ({ x: line[key], y: line.success }),
        ),
      ),
    }));
    const picture = {
      title: `${about.title}: success on ${about.split}`,
      x: label,
      y: { label: "success", percent: true, from: 0 },
      series,
    };
    mkdirSync(PICTURES, { recursive: true });
    writeFileSync(join(PICTURES, file), curveSvg(picture));
    return `![${picture.title}, over ${label}](pictures/${file})`;
  });
}

function made(results: Results): string {
  const { about, lines } = results;
  const source = [
    `\`${about.command}\`, commit ${about.commit}, ${about.date}, ${about.machine}; ` +
      `the lines of every validation: \`benchmarks/results/${results.name}.jsonl\`.`,
  ];
  const kinds = lines.some(({ types }) => Object.keys(types).length > 1) ? [typeTable(lines)] : [];
  return [
    ...source,
    successTable(lines, about.withScore),
    ...(about.questions ? [questionTable(lines, about.questions)] : []),
    ...(about.tuned ? [tuningTable(about.tuned)] : []),
    ...kinds,
    ...pictures(results),
  ].join("\n\n");
}

let page = readFileSync(PAGE, "utf8");
for (const results of readResults()) {
  const begin = `<!-- made ${results.name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf("<!-- end -->", from);
  if (from < 0 || to < 0) {
    console.error(`${PAGE}: there is no place "${begin} … <!-- end -->" for ${results.name}`);
    process.exitCode = 1;
    continue;
  }
  page = `${page.slice(0, from)}${begin}\n\n${made(results)}\n\n${page.slice(to)}`;
  console.log(results.name);
}
writeFileSync(PAGE, page);
