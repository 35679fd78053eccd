/**
 * @file One run, read from its folder while it may be written to: what it is, how it goes, how it ended.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { factsOf } from "../../config/index.ts";
import { signTest, wilson } from "../../evaluation/index.ts";
import {
  type RunLogEntry,
  readRunLog,
  readTokens,
  recordedSteps,
  type TokenTable,
} from "../../monitoring/index.ts";
import { TRAINABLE } from "../../rollout/index.ts";
import type { Columns, EpisodeRow, Rate, RunPage, RunRow, RunState, Verdict } from "../api.ts";
import { type EpisodeTable, openEpisodeTable } from "../episodes/table.ts";
import { alarmsIn } from "./alarms.ts";
import { openMetricsTable } from "./metrics.ts";
import { stateOf } from "./state.ts";

export interface FollowedRun {
  readonly id: string;
  readonly folder: string;
  readonly episodes: EpisodeTable;
  readonly validation: EpisodeTable;
  /** Reads what is new. Undefined: nothing is. */
  update(): { readonly steps: number; readonly anew: boolean } | undefined;
  state(): RunState;
  row(): RunRow;
  page(): RunPage;
  columns(after: number): Columns;
  /** What was recorded of an iteration's tokens; undefined: nothing, or it cannot be read. */
  tokens(step: number): TokenTable | undefined;
  isRecorded(id: string, step: number): boolean;
  /** The model whose tokenizer the episodes have. */
  readonly start: string | undefined;
}

/** Points of the small curve in the table of runs. */
const CURVE = 60;
/** Iterations whose episodes say how well it does, where nothing was validated. */
const RECENT = 10;
/** Tables of tokens that are kept in memory. */
const TABLES = 8;

export function followRun(id: string, folder: string): FollowedRun {
  const metrics = openMetricsTable(join(folder, "metrics.jsonl"));
  const episodes = openEpisodeTable(join(folder, "trajectories"));
  const validation = openEpisodeTable(join(folder, "validation"));
  const tables = new Map<string, TokenTable | undefined>();
  const recorded = new Map<number, { readonly changed: number; readonly ids: Set<string> }>();
  const tokensFile = (step: number) =>
    join(folder, "tokens", `${String(step).padStart(6, "0")}.gz`);
  let stamp = "";

  const text = (name: string): string => {
    try {
      return readFileSync(join(folder, name), "utf8");
    } catch {
      return "";
    }
  };
  const log = () => readRunLog(join(folder, "log.jsonl"));
  const description = () => objectIn(text("run.json"));
  const facts = memoised(() => text("config.yaml"), factsOf);

  function tokens(step: number): TokenTable | undefined {
    const key = `${step} ${modified(tokensFile(step))}`;
    if (tables.has(key)) return tables.get(key);
    let table: TokenTable | undefined;
    try {
      table = readTokens(join(folder, "tokens"), step);
    } catch {
      table = undefined;
    }
    tables.set(key, table);
    if (tables.size > TABLES) tables.delete(tables.keys().next().value!);
    return table;
  }

  /** Kept for all iterations, unlike the tables: lists of episodes ask for many. */
  function recordedIds(step: number): ReadonlySet<string> {
    const changed = modified(tokensFile(step));
    const known = recorded.get(step);
    if (known?.changed === changed) return known.ids;
    const ids = new Set(changed === 0 ? [] : tokens(step)?.episodes.map(({ id }) => id));
    recorded.set(step, { changed, ids });
    return ids;
  }

  /** Of the table of runs: success in validation, or of the last episodes in training. */
  function success(): Rate | undefined {
    const validated = ratesByStep(validation).at(-1);
    if (validated) return validated;
    return recentRate(metrics.column("episode/success_rate"), metrics.column("training/episodes"));
  }

  const done = () => Math.max(0, metrics.steps.at(-1) ?? 0);
  const totalOf = (entries: readonly RunLogEntry[]) => {
    const begun = entries.findLast((entry) => entry.kind === "begun");
    return begun?.kind === "begun" ? begun.iterations : undefined;
  };

  function state(entries = log()): RunState {
    const total = totalOf(entries);
    return stateOf(folder, entries, total === undefined || done() >= total);
  }

  function row(): RunRow {
    const { title, subtitle } = description();
    const entries = log();
    const times = metrics.column("timing_s/step") ?? [];
    return {
      id,
      folder,
      title: String(title ?? folder),
      subtitle: String(subtitle ?? ""),
      state: state(entries),
      ...facts(),
      iterations: done(),
      total: totalOf(entries),
      minutes: times.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0) / 60,
      episodes: metrics.column("training/episodes")?.at(-1) ?? 0,
      success: success(),
      curve: thinned(metrics.column("episode/success_rate") ?? [], CURVE),
    };
  }

  return {
    id,
    folder,
    episodes,
    validation,
    row,
    tokens,
    get start() {
      const { start } = description();
      return typeof start === "string" ? start : undefined;
    },
    columns: (after) => metrics.columns(after),
    isRecorded: (episode, step) => recordedIds(step).has(episode),
    update() {
      const { grown, anew } = metrics.update();
      const played = episodes.update();
      const validated = validation.update();
      // What a run says, and whether it lives.
      const now = `${modified(join(folder, "log.jsonl"))} ${state().name}`;
      const told = now !== stamp;
      stamp = now;
      if (!grown && !anew && !played && !validated && !told) return undefined;
      return { steps: metrics.steps.length, anew };
    },
    state,
    page: () => ({
      row: row(),
      columns: metrics.columns(),
      verdict: verdictOf(validation),
      log: log(),
      alarms: alarmsIn(log()),
      config: text("config.yaml"),
      versions: Object.fromEntries(
        Object.entries(objectIn(text("versions.json"))).map(([name, value]) => [
          name,
          typeof value === "string" ? value : JSON.stringify(value),
        ]),
      ),
      recorded: recordedSteps(join(folder, "tokens")),
      validated: ratesByStep(validation).map(({ step }) => step),
      isLive: existsSync(join(folder, "live.jsonl")),
      isPlayable: false,
    }),
  };
}

/** Of the last iterations' episodes, from rates and how many had been played. */
function recentRate(
  rates: readonly (number | null)[] = [],
  played: readonly (number | null)[] = [],
): Rate | undefined {
  let [won, count] = [0, 0];
  for (let i = Math.max(0, rates.length - RECENT); i < rates.length; i++) {
    const episodes = (played[i] ?? 0) - (i > 0 ? (played[i - 1] ?? 0) : 0);
    won += Math.round((rates[i] ?? 0) * episodes);
    count += episodes;
  }
  return count > 0 ? { value: won / count, ...wilson(won, count), count } : undefined;
}

/** The first validation and the last, and whether they differ. */
function verdictOf(validation: EpisodeTable): Verdict | undefined {
  const rates = ratesByStep(validation);
  const [before, after] = [rates[0], rates.at(-1)];
  if (!before || !after || before.step === after.step) return undefined;
  const [first, last] = [before, after].map(({ step }) => byTask(validation, step));
  let [gained, lost] = [0, 0];
  for (const [task, rate] of first!) {
    const other = last!.get(task);
    if (other !== undefined && other > rate) gained++;
    if (other !== undefined && other < rate) lost++;
  }
  return { before, after, gained, lost, p: signTest(gained, lost) };
}

function ratesByStep(table: EpisodeTable): (Rate & { step: number })[] {
  const steps = new Map<number, EpisodeRow[]>();
  for (const row of table.rows(() => true)) {
    const rows = steps.get(row.step);
    if (rows) rows.push(row);
    else steps.set(row.step, [row]);
  }
  return [...steps]
    .sort(([a], [b]) => a - b)
    .flatMap(([step, rows]) => {
      const rate = rateOf(rows);
      return rate ? [{ step, ...rate }] : [];
    });
}

function byTask(table: EpisodeTable, step: number): Map<string, number> {
  const counts = new Map<string, { won: number; all: number }>();
  for (const { task, won } of counted(table.rows((row) => row.step === step))) {
    const count = counts.get(task) ?? { won: 0, all: 0 };
    counts.set(task, { won: count.won + (won ? 1 : 0), all: count.all + 1 });
  }
  return new Map([...counts].map(([task, { won, all }]) => [task, won / all]));
}

/** What ended through no doing of the agent says nothing of it. */
const counted = (rows: readonly EpisodeRow[]) => rows.filter(({ status }) => TRAINABLE.has(status));

function rateOf(rows: readonly EpisodeRow[]): Rate | undefined {
  const played = counted(rows);
  if (played.length === 0) return undefined;
  const won = played.filter((row) => row.won).length;
  return { value: won / played.length, ...wilson(won, played.length), count: played.length };
}

/** Computed again only when what it comes from is another. */
function memoised<Value>(source: () => string, of: (text: string) => Value): () => Value {
  let known: { readonly text: string; readonly value: Value } | undefined;
  return () => {
    const text = source();
    if (known?.text !== text) known = { text, value: of(text) };
    return known.value;
  };
}

function objectIn(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}

function modified(file: string): number {
  try {
    return statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

function thinned(values: readonly (number | null)[], most: number): (number | null)[] {
  if (values.length <= most) return [...values];
  return Array.from({ length: most }, (_, i) => values[Math.floor((i * values.length) / most)]!);
}
