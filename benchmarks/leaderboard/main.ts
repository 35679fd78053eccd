/**
 * @file `npm run leaderboard`: makes docs/leaderboard.md and its pictures from the entries; `-- --check` only says whether they are
 * as the entries are.
 *
 *   npm run leaderboard -- run NAME        runs an entry's command again
 *   npm run leaderboard -- add RUN …       an entry from a run's folder, or those of runs that began where the one before ended
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { commit, machine } from "../compare/digest.ts";
import { bestOf, oneAfterAnother, readEntries, validationsOf, writeEntry } from "./entry.ts";
import { leaderboardPage, leaderboardPictures } from "./page.ts";

const DOCUMENTS = fileURLToPath(new URL("../../docs", import.meta.url));
const USAGE = `Usage: npm run leaderboard [-- --check]
       npm run leaderboard -- run NAME
       npm run leaderboard -- add RUN [RUN …] --name NAME --by WHO --model TEXT --start TEXT --expert-episodes N
           --command TEXT --won SPLIT=WON/PLAYED … [--step N] [--commit HASH]

--won: what \`openmanus-rl eval RUN --split SPLIT env.max_steps=50\` counted.
--step: the iteration of the policy that it counted for, all runs together; by default the one of the best validation.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    name: { type: "string" },
    by: { type: "string" },
    model: { type: "string" },
    start: { type: "string" },
    "expert-episodes": { type: "string" },
    command: { type: "string" },
    commit: { type: "string" },
    step: { type: "string" },
    won: { type: "string", multiple: true, default: [] },
  },
});
const [verb, subject, ...others] = positionals;
if (verb === undefined) render();
else if (verb === "run" && subject !== undefined) rerun(subject);
else if (verb === "add" && subject !== undefined) add([subject, ...others]);
else refuse(USAGE);

function render(): void {
  const entries = readEntries();
  const files = new Map([["leaderboard.md", leaderboardPage(entries)]]);
  for (const [name, text] of leaderboardPictures(entries)) files.set(join("pictures", name), text);
  for (const [name, text] of files) {
    const file = join(DOCUMENTS, name);
    if (!values.check) writeFileSync(file, text);
    else if (!existsSync(file) || readFileSync(file, "utf8") !== text)
      refuse(`docs/${name} is not as the entries are: npm run leaderboard`);
  }
}

function rerun(name: string): void {
  const entries = readEntries();
  const entry = entries.find((one) => one.name === name);
  if (!entry) {
    refuse(`there is no entry ${name}; there are ${entries.map((one) => one.name).join(", ")}`);
    return;
  }
  console.log(`$ ${entry.command}`);
  process.exitCode = spawnSync(entry.command, { shell: true, stdio: "inherit" }).status ?? 1;
}

function add(runs: readonly string[]): void {
  const { name, by, model, start, command } = values;
  const won = values.won.map((text) => /^(\w+)=(\d+)\/(\d+)$/.exec(text));
  const experts = Number(values["expert-episodes"]);
  if (!name || !by || !model || !start || !command || !(experts >= 0) || won.includes(null)) {
    refuse(USAGE);
    return;
  }
  const config = parse(readFileSync(join(runs[0]!, "config.yaml"), "utf8"));
  const chosenBy = config.data.held_out > 0 ? "held_out" : "valid_seen";
  const validations = oneAfterAnother(runs.map((run) => validationsOf(run, chosenBy)));
  const step = values.step === undefined ? bestOf(validations, chosenBy).step : Number(values.step);
  if (!validations.some((one) => one.step === step)) {
    refuse(
      `nothing was validated at ${values.step}; there are ${validations.map((one) => one.step).join(", ")}`,
    );
    return;
  }
  const file = writeEntry({
    ...{ name, by, model, start, command, expertEpisodes: experts },
    algorithm: config.algorithm.adv_estimator,
    seed: config.trainer.seed,
    commit: values.commit ?? commit(),
    machine: machine(),
    date: new Date().toISOString().slice(0, 10),
    games: config.data.val_batch_size,
    turns: config.env.max_steps,
    validations,
    chosen: {
      step,
      won: Object.fromEntries(won.map((one) => [one![1]!, [Number(one![2]), Number(one![3])]])),
    },
  });
  render();
  console.log(file);
}

function refuse(sentence: string): void {
  console.error(sentence);
  process.exitCode = 2;
}
