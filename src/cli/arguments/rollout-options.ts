/**
 * @file The options of `openmanus-rl rollout`, read and checked.
 */
import { FORMAT_NAMES } from "../../agents/index.ts";
import type { AgentChoices, PlayChoices } from "../../config/index.ts";
import { isFileName } from "../../environments/index.ts";
import { searchProblem, strategyNames } from "../../rollout/index.ts";
import { oneOf, optionsAndWords, UsageError } from "./usage.ts";
import { worldWords } from "./world.ts";

export interface RolloutOptions {
  readonly world: string;
  readonly worldOptions: Readonly<Record<string, string>>;
  readonly model: string | undefined;
  readonly server: string | undefined;
  readonly tokenizer: string | undefined;
  readonly viaText: boolean;
  /** Where the server's key is: `env:NAME` or `file:PATH`. */
  readonly key: string | undefined;
  readonly keyVariable: string | undefined;
  /** Seconds. */
  readonly serverTimeout: number | undefined;
  readonly serverRetries: number | undefined;
  readonly expert: boolean;
  readonly tasks: number;
  readonly episodes: number;
  readonly split: string | undefined;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  /** What was said of the form; the rest is what the model's folder says, as in eval. */
  readonly choices: PlayChoices;
  readonly turns: number | undefined;
  readonly seed: number;
  readonly concurrency: number;
  readonly retries: number;
  readonly timeout: number;
  readonly stepSeconds: number;
  /** Processes of the world's own, as it was typed. */
  readonly isolate: string | undefined;
  readonly out: string | undefined;
  readonly json: boolean;
  readonly dryRun: boolean;
}

export const ROLLOUT_HELP = [
  "Usage: openmanus-rl rollout WORLD [key=value …] --model FOLDER [options]",
  "       openmanus-rl rollout WORLD [key=value …] --server URL --model NAME [--tokenizer FOLDER] [options]",
  "       openmanus-rl rollout WORLD [key=value …] --expert [options]",
  "",
  "Lets a model (or the world's scripted expert) play tasks of a world, and shows how often it wins, with",
  "95 % intervals, for each kind of task. key=value sets an option of the world.",
  "",
  "Who plays:",
  "  --model FOLDER       a model folder in Hugging Face format, or its name on the Hub (org/name); with --server,",
  "                       the server's name for it",
  "  --server URL         an OpenAI-compatible server, such as http://127.0.0.1:8000/v1",
  "  --tokenizer FOLDER   with --server: the model's tokenizer, to send and receive token ids;",
  "                       without it the server is asked for chats, whose replies cannot be trained on",
  "  --via-text           with --tokenizer: text instead of ids, for servers that know no ids",
  "  --key PLACE          where the server's key is: env:NAME (a variable) or file:PATH (a file's first line)",
  "  --key-variable NAME  the same as --key env:NAME",
  "  --server-timeout S   seconds for an answer of the server (120)",
  "  --server-retries N   how often it is asked again where that may help (4)",
  "  --expert             the world's scripted expert",
  "",
  "What is played:",
  "  --tasks N            the first N tasks of the split (16)",
  "  --episodes N         episodes of each task (1)",
  "  --split S            the split (the world's first)",
  "  --turns N            turns of an episode at most (the world's own number)",
  "  --seed N             of everything that is drawn (1)",
  "",
  "How the agent answers (by default as the model's folder says, openmanus-rl.json):",
  `  --format NAME        ${FORMAT_NAMES.join(", ")} (action)`,
  "  --context NAME       conversation (one growing sequence), or steps (a prompt for every turn)",
  "  --history N          steps: the last N steps in each prompt (2)",
  "  --memory             steps: file memory, searched before every turn",
  "  --summary            steps: the model sums up what is past",
  "  --bare               prompts without instructions, for models that have learned the form",
  "  --examples X         prompts begin with X episodes of the expert, or with the chats of a file X",
  "  --hide-actions       prompts do not list the admissible actions",
  "  --temperature T      of sampling (1); 0 takes the most likely token",
  "  --top-p P, --top-k K what is drawn from (all)",
  "  --reply-tokens N     tokens of a reply at most (256)",
  "  --constrain          only admissible actions can be drawn",
  "",
  "How episodes are found (docs/search.md):",
  `  --search NAME        ${strategyNames.join(", ")} (sample)`,
  "  --budget-tokens N    drawn tokens of one search at most; --budget-states N: turns; --budget-seconds S: time",
  "  --branches N         replies that are drawn at a node (4)",
  "  --width N            nodes of a level that are gone on with (8); of best_of_n: episodes",
  "  --judge NAME         score (the world's), likelihood (the policy's), model (it is asked), reward_model, critic (score)",
  "  --judge-path FOLDER  of the last two: what openmanus-rl reward-model made, or RUN/checkpoints/step-…/critic",
  "",
  "How it is run:",
  "  --concurrency N      episodes at once (64)",
  "  --retries N          beginnings over again after an error of the world or the server (2)",
  "  --timeout S          seconds for an episode (3600)",
  "  --step-seconds S     seconds for one answer of the world (120)",
  "  --isolate N          plays the world in N processes of its own, which cannot end or freeze this one",
  "  --out FOLDER         keeps the trajectories there; openmanus-rl trajectories shows them",
  "  --dry-run            prints the first prompt exactly as the model will see it, and ends",
  "  --json               one JSON object on standard output",
  "",
  "Example: openmanus-rl rollout household difficulty=easy --expert --tasks 50 --format openmanus",
  "         openmanus-rl rollout alfworld --model models/new --temperature 0.7 --out runs/first",
].join("\n");

export function rolloutOptions(given: readonly string[]): RolloutOptions {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values, words } = optionsAndWords(given, {
    ...{ model: text, server: text, tokenizer: text, "via-text": flag, "key-variable": text },
    ...{ key: text, "server-timeout": text, "server-retries": text },
    ...{ expert: flag, tasks: text, episodes: text, split: text, turns: text, seed: text },
    ...{ format: text, context: text, history: text, memory: flag, summary: flag, bare: flag },
    ...{ examples: text, "hide-actions": flag, temperature: text, "top-p": text, "top-k": text },
    ...{ "reply-tokens": text, constrain: flag, concurrency: text, retries: text, timeout: text },
    ...{ search: text, "budget-tokens": text, "budget-states": text, "budget-seconds": text },
    ...{ branches: text, width: text, judge: text, "judge-path": text },
    ...{ isolate: text, "step-seconds": text, out: text, "dry-run": flag, json: flag },
  });
  const { name, options: worldOptions, others } = worldWords(words);
  if (others.length > 0) throw new UsageError(`rollout takes no "${others[0]}".`);
  const number = (option: keyof typeof values, usual: number, least: number, whole = true) => {
    const value = values[option] === undefined ? usual : Number(values[option]);
    if (!(value >= least && (whole ? Number.isInteger(value) : Number.isFinite(value))))
      throw new UsageError(
        `--${option} takes a ${whole ? "whole " : ""}number, ${least} or more; got "${values[option]}".`,
      );
    return value;
  };
  const { model, server, tokenizer, expert } = values;
  if (expert ? server !== undefined : model === undefined)
    throw new UsageError("who plays? --model FOLDER, --server URL --model NAME, or --expert.");
  if (server === undefined && (tokenizer ?? values.key ?? values["key-variable"]) !== undefined)
    throw new UsageError("--tokenizer, --key and --key-variable go with --server.");
  if (server === undefined && (values["server-timeout"] ?? values["server-retries"]) !== undefined)
    throw new UsageError("--server-timeout and --server-retries go with --server.");
  if (values["via-text"] && tokenizer === undefined)
    throw new UsageError("--via-text needs --tokenizer FOLDER.");
  if (values.constrain && server !== undefined && tokenizer === undefined)
    throw new UsageError("--constrain needs --tokenizer: chats cannot be constrained.");
  const agent = agentChoices({
    ...values,
    ...(values.history !== undefined && { history: number("history", 2, 0) }),
    ...(values["reply-tokens"] !== undefined && { reply: number("reply-tokens", 1, 1) }),
  });
  const search = searchChoices(values, (option, whole = true) =>
    values[option] === undefined ? undefined : number(option, 1, whole ? 1 : 0.001, whole),
  );
  if (expert && search) throw new UsageError("--search needs a model.");
  if (expert && values.summary) throw new UsageError("--summary needs a model.");
  const topP = number("top-p", 1, 0, false);
  if (!(topP > 0 && topP <= 1)) throw new UsageError("--top-p takes a number above 0, up to 1.");
  const timeout = number("timeout", 3600, 0, false);
  if (timeout === 0) throw new UsageError("--timeout takes seconds, above 0.");
  const serverTimeout =
    values["server-timeout"] === undefined ? undefined : number("server-timeout", 120, 0, false);
  if (serverTimeout !== undefined && !(serverTimeout >= 0.001 && serverTimeout <= 2_000_000))
    throw new UsageError("--server-timeout takes seconds, above 0, up to 2000000.");
  return {
    ...{ world: name, worldOptions, model, server, tokenizer, expert, topP, timeout },
    choices: {
      agent,
      ...(values.constrain && { constrain: true }),
      ...(search && { search }),
    },
    viaText: values["via-text"],
    key: values.key,
    keyVariable: values["key-variable"],
    serverTimeout,
    serverRetries:
      values["server-retries"] === undefined ? undefined : number("server-retries", 4, 0),
    tasks: number("tasks", 16, 1),
    episodes: number("episodes", 1, 1),
    split: values.split,
    temperature: number("temperature", 1, 0, false),
    topK: number("top-k", 0, 0),
    turns: values.turns === undefined ? undefined : number("turns", 1, 1),
    seed: number("seed", 1, 0),
    concurrency: number("concurrency", 64, 1),
    retries: number("retries", 2, 0),
    isolate: values.isolate,
    stepSeconds: number("step-seconds", 120, 0.001, false),
    out: values.out,
    json: values.json,
    dryRun: values["dry-run"],
  };
}

interface FormFlags {
  readonly format?: string;
  readonly context?: string;
  readonly history?: number | string;
  readonly memory: boolean;
  readonly summary: boolean;
  readonly bare: boolean;
  readonly "hide-actions": boolean;
  readonly reply?: number;
  readonly examples?: string;
  readonly out?: string;
}

function agentChoices(flags: FormFlags): AgentChoices {
  const { format, context, memory, summary, bare, out } = flags;
  if (memory && summary) throw new UsageError("--memory and --summary: one of them.");
  if (context !== undefined && context !== "conversation" && context !== "steps")
    throw new UsageError(`--context takes conversation or steps; got "${context}".`);
  const tellsPast = memory || summary || flags.history !== undefined;
  if (tellsPast && context === "conversation")
    throw new UsageError("--history, --memory and --summary need --context steps.");
  if (format !== undefined && !FORMAT_NAMES.includes(format) && !isFileName(format))
    throw new UsageError(`--format takes one of ${FORMAT_NAMES.join(", ")}; got "${format}".`);
  const length = typeof flags.history === "number" ? { length: flags.history } : {};
  const folder = out === undefined ? {} : { folder: `${out}/memory` };
  const history: NonNullable<AgentChoices["history"]> = memory
    ? { kind: "memory", ...length, ...folder }
    : summary
      ? { kind: "summary", ...length }
      : { kind: "window", ...length };
  return {
    ...(format !== undefined && { format }),
    ...(context !== undefined && { context }),
    ...(tellsPast && { history }),
    ...(bare && { prompts: "bare" }),
    ...(flags["hide-actions"] && { showAdmissible: false }),
    ...(flags.reply !== undefined && { replyTokens: flags.reply }),
    ...(flags.examples !== undefined && {
      examples: /^\d+$/.test(flags.examples) ? Number(flags.examples) : flags.examples,
    }),
  };
}

const SEARCH_NUMBERS = ["branches", "width", "budget-tokens", "budget-states"] as const;
type SearchNumber = (typeof SEARCH_NUMBERS)[number] | "budget-seconds";
const JUDGES = ["score", "likelihood", "model", "reward_model", "critic"] as const;

/** What was said of a search; undefined: there is none. */
function searchChoices(
  values: { readonly search?: string; readonly judge?: string; readonly "judge-path"?: string },
  number: (option: SearchNumber, whole?: boolean) => number | undefined,
): PlayChoices["search"] {
  const [branches, width, tokens, states] = SEARCH_NUMBERS.map((option) => number(option));
  const seconds = number("budget-seconds", false);
  const { search: strategy = "sample", judge, "judge-path": judgePath } = values;
  if (strategy === "sample") {
    if (
      [branches, width, tokens, states, seconds, judge, judgePath].some(
        (value) => value !== undefined,
      )
    )
      throw new UsageError(
        "--branches, --width, --judge and budgets go with --search NAME, which says how to search.",
      );
    return undefined;
  }
  const isModel = judge === "reward_model" || judge === "critic";
  if (isModel !== (judgePath !== undefined))
    throw new UsageError(
      "--judge reward_model and --judge critic go with --judge-path FOLDER, and no other judge does.",
    );
  const choices = {
    strategy,
    ...(branches !== undefined && { branches }),
    ...(width !== undefined && { width }),
    ...(judge !== undefined && { judge: oneOf(judge, JUDGES, "judge") }),
    ...(judgePath !== undefined && { judgePath }),
    budget: { tokens, states, seconds },
  };
  const problem = searchProblem(choices);
  if (problem) throw new UsageError(`--search ${strategy}: ${problem}.`);
  return choices;
}
