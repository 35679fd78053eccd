/**
 * @file `openmanus-rl trajectories list|show|export`: episodes that were stored.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { aligned } from "../../evaluation/index.ts";
import { writeText } from "../../folders/index.ts";
import { byteChat, loadTokenizer, type Tokenizer } from "../../models/index.ts";
import {
  readTrajectories,
  sampledTokens,
  type Trajectory,
  toChats,
  toDocumentMessages,
  writeParquet,
} from "../../rollout/index.ts";
import { checkpointFolder, checkpointSteps, readRunDescription } from "../../training/index.ts";
import { optionsAndWords, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { print, printColoured } from "../support/print.ts";
import { episodeText, tokenText } from "../support/trajectory-text.ts";

export const trajectories: Command = {
  help: [
    "Usage: openmanus-rl trajectories list FILE [--status S] [--json]",
    "       openmanus-rl trajectories show FILE [ID] [--tokens [--model FOLDER]] [--json]",
    "       openmanus-rl trajectories export FILE --to messages|chat|parquet --output FILE [--won]",
    "",
    "FILE is a .jsonl or .jsonl.gz of trajectories, or the folder of a rollout or a training run. show",
    "prints an episode (the first one where no ID is given); any unique part of an id will do.",
    "",
    "  --status S      list: only episodes that ended so (won, lost, turn limit, …)",
    "  --tokens        show: token by token; what the policy drew is coloured by its probability, with",
    "                  each reply's log-probability and reward (NO_COLOR=1: marked with brackets)",
    "  --model FOLDER  the tokenizer, where neither the rollout's folder nor the run has it",
    "  --to FORM       messages: a list of {from, value, reward, info} for each episode, as JSON;",
    "                  chat: JSON lines of {messages}; parquet: for SFT (columns messages, reward, …)",
    "  --won           export: only episodes that were won",
    "  --json          list, show: JSON on standard output",
    "",
    "Example: openmanus-rl trajectories show runs/first train/3#0 --tokens",
    "         openmanus-rl trajectories export runs/first --to parquet --output sft.parquet --won",
  ].join("\n"),
  run(given) {
    const { values, words } = optionsAndWords(given, {
      status: { type: "string" },
      tokens: { type: "boolean", default: false },
      model: { type: "string" },
      to: { type: "string" },
      output: { type: "string" },
      won: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    });
    const [what, path, id, ...more] = words;
    if (what === undefined || !["list", "show", "export"].includes(what))
      throw new UsageError("there are trajectories list, show and export.");
    if (path === undefined) throw new UsageError(`${what} takes a file or a folder.`);
    if (more.length > 0 || (id !== undefined && what !== "show"))
      throw new UsageError(`${what} takes no "${more[0] ?? id}".`);
    if (what === "list") list(path, values);
    else if (what === "show") show(path, id, values);
    else exportTo(path, values);
    return 0;
  },
};

/** The trajectories at a path: a file, a store, or a folder that has one. */
function* read(path: string): Generator<Trajectory> {
  if (!existsSync(path)) throw new UsageError(`there is nothing at ${path}.`);
  let count = 0;
  for (const trajectory of readTrajectories(path)) {
    count++;
    yield trajectory;
  }
  if (count === 0)
    throw new UsageError(
      `${path} has no episodes. Give a rollout's folder, a run's, or a .jsonl file.`,
    );
}

function list(path: string, { status, json }: { status?: string; json: boolean }): void {
  const rows = [...read(path)].filter((one) => status === undefined || one.status === status);
  if (json) {
    const facts = rows.map((one) => ({
      ...{ id: one.id, step: one.step, status: one.status, won: one.won, reward: one.reward },
      ...{ score: one.score, turns: one.turns.length, tokens: sampledTokens(one) },
      ...{ task: one.task.id, type: one.task.type ?? null, seconds: one.seconds },
    }));
    print(JSON.stringify(facts, null, 2));
    return;
  }
  const cells = rows.map((one) => [
    one.id,
    ...[one.status, one.reward.toFixed(2), String(one.turns.length), String(sampledTokens(one))],
    one.task.type ?? "",
  ]);
  print(aligned([["id", "status", "reward", "turns", "tokens", "type"], ...cells]));
}

interface ShowValues {
  tokens: boolean;
  model?: string;
  json: boolean;
}

function show(path: string, id: string | undefined, values: ShowValues): void {
  const trajectory = chosen(path, id);
  if (values.json) {
    const seed = String(trajectory.seed);
    print(JSON.stringify({ ...trajectory, seed }, null, 2));
    return;
  }
  const colours = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR;
  if (!values.tokens) print(episodeText(trajectory));
  else printColoured(tokenText(trajectory, tokenizerOf(path, values.model), colours));
}

function chosen(path: string, id: string | undefined): Trajectory {
  const found: Trajectory[] = [];
  for (const trajectory of read(path)) {
    if (id === undefined || trajectory.id === id) return trajectory;
    if (trajectory.id.includes(id)) found.push(trajectory);
  }
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new UsageError(
      id === undefined
        ? `${path} has no episodes.`
        : `${path} has no episode "${id}"; openmanus-rl trajectories list ${path} names them.`,
    );
  const names = found.slice(0, 5).map((one) => one.id);
  throw new UsageError(`"${id}" could be ${names.join(", ")}${found.length > 5 ? ", …" : ""}.`);
}

/** The one asked for, the run's own, the one that the rollout's folder names, or bytes if it says so. */
function tokenizerOf(path: string, folder: string | undefined): Tokenizer | undefined {
  if (folder !== undefined) return loadTokenizer(folder);
  // The folder of a run, or that of its episodes.
  for (const run of [path, dirname(resolve(path))]) {
    const last = checkpointSteps(run).at(-1);
    const places = [
      last === undefined ? [] : join(checkpointFolder(run, last), "actor"),
      readRunDescription(run)?.start ?? [],
    ].flat();
    // With LoRA, a checkpoint has the adapter alone: the tokenizer is that of what the run began with.
    const found = places.find((place) => existsSync(join(place, "tokenizer.json")));
    if (found !== undefined) return loadTokenizer(found);
  }
  const note = join(path, "rollout.json");
  if (!existsSync(note)) return undefined;
  const { tokenizer } = JSON.parse(readFileSync(note, "utf8")) as { tokenizer?: string | null };
  if (tokenizer === null) return byteChat().tokenizer;
  return tokenizer !== undefined && existsSync(tokenizer) ? loadTokenizer(tokenizer) : undefined;
}

function exportTo(path: string, values: { to?: string; output?: string; won: boolean }): void {
  const { to, output } = values;
  if (output === undefined) throw new UsageError("export needs --output FILE.");
  const all = [...read(path)].filter(({ won }) => won || !values.won);
  let count = all.length;
  if (to === "messages") {
    writeText(output, `${JSON.stringify(all.map(toDocumentMessages), null, 1)}\n`);
  } else if (to === "chat") {
    const chats = all.flatMap((one) =>
      toChats(one).map((messages) => JSON.stringify({ messages })),
    );
    writeText(output, chats.map((line) => `${line}\n`).join(""));
    count = chats.length;
  } else if (to === "parquet") {
    count = writeParquet(output, all);
  } else {
    throw new UsageError(`--to takes messages, chat or parquet; got "${to ?? ""}".`);
  }
  print(`${count} ${to === "messages" ? "episodes" : "chats"} in ${output}`);
}
