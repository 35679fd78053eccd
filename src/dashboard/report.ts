/**
 * @file The report at the end of a run: the dashboard's page in one file, with the answers that its server would give. It
 * loads nothing, and needs nobody.
 */
import { join } from "node:path";
import { writeText } from "../folders/index.ts";
import type { EpisodePage, EpisodeRow, RunPage, StepGroupPage } from "./api.ts";
import { pageFiles } from "./assets.ts";
import { episodePage, stepGroupPage } from "./episodes/page.ts";
import type { EpisodeTable } from "./episodes/table.ts";
import { type FollowedRun, followRun } from "./run/run.ts";
import { tokenizers } from "./tokenizers.ts";

/** What a report has, by what the page would ask for. */
export interface ReportAnswers {
  readonly run: RunPage;
  readonly episodes: Readonly<Record<"training" | "validation", readonly EpisodePage[]>>;
  readonly groups: readonly StepGroupPage[];
}

/** Examples of a validation that are won, and that are not. */
const EXAMPLES = 3;
/** Iterations of which a group is shown: the first, one in the middle, the last. */
const GROUPS = 3;
/** Characters of all examples together: a report is to be sent around. */
const MOST_CHARACTERS = 8_000_000;

/** Writes report.html into the run's folder; returns its path. */
export function writeRunReport(folder: string): string {
  const run = followRun("report", folder);
  run.update();
  const file = join(folder, "report.html");
  writeText(file, reportPage(answersOf(run)));
  return file;
}

function answersOf(run: FollowedRun): ReportAnswers {
  const textOf = tokenizers()(run.start);
  let left = MOST_CHARACTERS;
  const pages = (kind: "training" | "validation", rows: readonly EpisodeRow[]) =>
    rows.flatMap(({ id }) => {
      const page = left > 0 ? episodePage(run, kind, id, textOf) : undefined;
      if (page) left -= JSON.stringify(page).length;
      return page && left > 0 ? [page] : [];
    });
  const groups = groupsOf(run);
  return {
    run: run.page(),
    episodes: {
      validation: pages("validation", examplesOf(run.validation)),
      training: pages(
        "training",
        groups.flatMap((group) => run.episodes.rows((row) => row.group === group)),
      ),
    },
    groups: groups.map((group) => stepGroupPage(run, group)),
  };
}

/** A few of the first validation and of the last, solved and not. */
function examplesOf(table: EpisodeTable): EpisodeRow[] {
  const steps = table.rows(() => true).map(({ step }) => step);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  return [...new Set([first, last])].flatMap((step) =>
    [true, false].flatMap((won) =>
      table.rows((row) => row.step === step && row.won === won).slice(0, EXAMPLES),
    ),
  );
}

/** Groups whose tokens were recorded, through the training. */
function groupsOf(run: FollowedRun): string[] {
  const { recorded } = run.page();
  const steps = Array.from(
    { length: Math.min(GROUPS, recorded.length) },
    (_, i, all = recorded) => all[Math.floor((i * (all.length - 1)) / Math.max(1, GROUPS - 1))]!,
  );
  return [...new Set(steps)].flatMap((step) => {
    const id = run.tokens(step)?.episodes[0]?.id;
    return (id !== undefined && run.episodes.row(id)?.group) || [];
  });
}

function reportPage(answers: ReportAnswers): string {
  const { "index.html": html, "page.css": style, "page.js": script } = pageFiles();
  // "<" cannot end the script, whatever an episode says.
  const data = JSON.stringify(answers).replaceAll("<", "\\u003c");
  const policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const replaced = (text: string, part: string, by: string) => {
    if (!text.includes(part)) throw new Error(`web/page/index.html: expected ${part}`);
    return text.replace(part, () => by);
  };
  let page = html!;
  page = replaced(
    page,
    '<meta charset="utf-8" />',
    `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
  );
  page = replaced(
    page,
    '<link rel="stylesheet" href="/page.css" />',
    `<style>\n${style!.replaceAll("</", "<\\/")}\n</style>`,
  );
  return replaced(
    page,
    '<script src="/page.js"></script>',
    `<script type="application/json" id="answers">${data}</script>\n` +
      `<script>\n${script!.replaceAll("</script", "<\\/script")}\n</script>`,
  );
}
