/**
 * @file What is wrong with a run, from its folder: the alarms that its metrics raise, causes before what follows from them,
 * each with an episode that shows it and the settings to change. The run may be running, killed or damaged.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { type ProposedSetting, proposedSettings, storedAlarmOptions } from "../../config/index.ts";
import {
  ALARMS,
  type AlarmName,
  type Failure,
  type Grade,
  NO_ALARMS,
  watchAlarms,
} from "../../evaluation/index.ts";
import { readRunLog, readWholeMetrics, type StepMetrics } from "../../monitoring/index.ts";
import type { RunState } from "../api.ts";
import { type EpisodeTable, openEpisodeTable } from "../episodes/table.ts";
import { stateOf } from "../run/state.ts";

export interface Diagnosis {
  readonly folder: string;
  readonly state: RunState;
  readonly iterations: number;
  /** Success in training, of the first iterations and of the last. */
  readonly success: { readonly first: number; readonly last: number } | undefined;
  /** The likeliest first; empty: nothing is wrong. */
  readonly findings: readonly Finding[];
  /** How lost episodes of the last iterations look, the most frequent first. */
  readonly failures: readonly {
    readonly name: Failure;
    readonly about: string;
    readonly share: number;
  }[];
  /** What could not be read, and what is not known. */
  readonly notes: readonly string[];
}

export interface Finding {
  readonly name: AlarmName;
  readonly grade: Grade;
  /** The iteration in which it began; `until`: in which it was over. */
  readonly from: number;
  readonly until: number | undefined;
  readonly evidence: string;
  readonly means: string;
  readonly tries: string;
  readonly settings: readonly ProposedSetting[];
  readonly episode: EpisodeExcerpt | undefined;
}

export interface EpisodeExcerpt {
  readonly id: string;
  readonly iteration: number;
  /** How it ended, and how it looks. */
  readonly status: string;
  readonly failure: string;
  /** The last turns: what was seen, what was said. */
  readonly turns: readonly { readonly observation: string; readonly reply: string }[];
}

/** Iterations at both ends that say how well it does. */
const ENDS = 3;
/** Iterations whose episodes are looked at. */
const LATE = 5;
const SHOWN_TURNS = 2;
const SHOWN_CHARACTERS = 240;

/** What follows from something else, mostly. */
const SYMPTOMS: readonly AlarmName[] = [
  ...(["no_spread", "no_success", "success_fallen", "validation_below_start"] as const),
];

/** How episodes look that show an alarm. */
const SHOWN_BY: Partial<Record<AlarmName, Failure>> = {
  unreadable_replies: "replies not readable",
  invalid_actions: "actions not admissible",
  replies_cut: "replies cut off",
  reply_loops: "replies cut off",
  context_full: "context full",
};

export function diagnose(folder: string): Diagnosis {
  const metrics = join(folder, "metrics.jsonl");
  const record = textOf(join(folder, "config.yaml"));
  if (!existsSync(metrics) && record === "")
    throw new OptionError(
      `${folder}: is no run's folder (neither metrics.jsonl nor config.yaml is there). Give the folder that train names, ` +
        "runs/PROJECT/EXPERIMENT.",
    );
  const { lines, bad } = readWholeMetrics(metrics);
  const iterations = lines.filter(({ step }) => step > 0);
  const log = readRunLog(join(folder, "log.jsonl"));
  const begun = log.findLast((entry) => entry.kind === "begun");
  const done = Math.max(0, iterations.at(-1)?.step ?? 0);
  const notes: string[] = [];
  if (bad > 0) notes.push(`${bad} lines of metrics.jsonl cannot be read and are left out`);
  if (record === "")
    notes.push("config.yaml is not there: settings are taken to be the usual ones");
  if (iterations.length > 0 && iterations.every(({ metrics: one }) => !("episode/count" in one)))
    notes.push("the run is of an earlier version, which measured less: some alarms cannot be told");
  const episodes = openEpisodeTable(join(folder, "trajectories"));
  const lost = episodes.failures({ from: done - LATE + 1 });
  if (episodes.length === 0 && iterations.length > 0)
    notes.push("no episodes are stored (trainer.keep_trajectories): there is none to show");
  const findings = findingsOf(lines, record).map((found) => ({
    ...found,
    episode: excerpt(episodes, found, lost.classes),
  }));
  return {
    folder,
    state: stateOf(folder, log, begun?.kind === "begun" ? done >= begun.iterations : true),
    iterations: done,
    success: successOf(iterations),
    findings,
    failures: Object.entries(lost.classes)
      .map(([name, { about, count }]) => ({
        ...{ name: name as Failure, about },
        share: count / Math.max(1, lost.count),
      }))
      .sort((a, b) => b.share - a.share),
    notes,
  };
}

/** What the alarms say of the metrics; causes first, in the order in which they began. */
function findingsOf(lines: readonly StepMetrics[], record: string): Omit<Finding, "episode">[] {
  const options = storedAlarmOptions(record);
  const found: Omit<Finding, "episode">[] = [];
  let state = NO_ALARMS;
  for (const { step, metrics } of lines) {
    const watched = watchAlarms(state, step, metrics, options);
    state = watched.state;
    for (const { name, kind, evidence } of watched.events) {
      const open = found.findIndex((one) => one.name === name && one.until === undefined);
      const { grade, means, tries, remedies } = ALARMS[name];
      if (kind === "over") found[open] = { ...found[open]!, until: step };
      else if (open >= 0) found[open] = { ...found[open]!, evidence };
      else
        found.push({
          ...{ name, grade, evidence, means, tries, from: step, until: undefined },
          settings: proposedSettings(remedies, record),
        });
    }
  }
  const rank = ({ name, grade, until }: Omit<Finding, "episode">) =>
    (until === undefined ? 0 : 4) +
    (grade === "notice" ? 2 : 0) +
    (SYMPTOMS.includes(name) ? 1 : 0);
  return found.sort((a, b) => rank(a) - rank(b) || a.from - b.from);
}

function excerpt(
  episodes: EpisodeTable,
  { name, from, until }: Pick<Finding, "name" | "from" | "until">,
  classes: Readonly<Record<string, { readonly count: number; readonly example: string }>>,
): EpisodeExcerpt | undefined {
  // Of the time of the alarm, where it was over; else the newest.
  const seen = until === undefined ? classes : episodes.failures({ from, to: until }).classes;
  const wanted = SHOWN_BY[name];
  const [usual] = Object.entries(seen).sort(([, a], [, b]) => b.count - a.count);
  const [failure, found] = (wanted && seen[wanted] ? [wanted, seen[wanted]] : usual) ?? [];
  const trajectory = found && readable(() => episodes.read(found.example));
  if (!trajectory) return undefined;
  const cut = (text: string) =>
    text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
  return {
    ...{ id: trajectory.id, iteration: trajectory.step, status: trajectory.status },
    failure: failure!,
    turns: trajectory.turns
      .slice(-SHOWN_TURNS)
      .map(({ observation, reply }) => ({ observation: cut(observation), reply: cut(reply.text) })),
  };
}

function successOf(iterations: readonly StepMetrics[]): Diagnosis["success"] {
  const rates = iterations.flatMap(({ metrics }) => metrics["episode/success_rate"] ?? []);
  if (rates.length === 0) return undefined;
  const mean = (some: readonly number[]) => some.reduce((sum, one) => sum + one, 0) / some.length;
  return { first: mean(rates.slice(0, ENDS)), last: mean(rates.slice(-ENDS)) };
}

/** A damaged file says nothing. */
function readable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const textOf = (file: string): string => readable(() => readFileSync(file, "utf8")) ?? "";
