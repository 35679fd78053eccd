/**
 * @file `agentProgram`: a world whose episode is a program. It is trained, validated and played like any other world;
 * what differs is that nobody steps through it: the program asks the model by itself.
 */
import {
  type AgentProgram,
  defineWorld,
  type Environment,
  EnvironmentError,
  type Json,
  type ProgramResult,
  requireSplit,
  type Task,
  taskSet,
  type WorldDefinition,
} from "../../environments/index.ts";
import { type Command, runCommand } from "./command.ts";
import { runFunction } from "./function.ts";
import { limiter } from "./limiter.ts";
import type { Run, RunOptions } from "./run.ts";
import { runAtUrl } from "./url.ts";

/** What a program is told of its task: what `tasks` says, and by which name it is known. */
export interface ProgramTask<Data extends Json = Json> {
  readonly id: string;
  readonly split: string;
  readonly data: Data;
}

/** How a function in this process reaches the model. */
export interface ModelAccess {
  /** For OpenAI's clients: `new OpenAI({ baseURL, apiKey })`. */
  readonly baseURL: string;
  /** For Anthropic's clients, which add /v1 themselves. */
  readonly anthropicBaseURL: string;
  readonly apiKey: string;
  /** Any name will do. */
  readonly model: string;
  /** For whatever is random in the program: the same for the same episode. */
  readonly seed: number;
  /** Aborted: the episode is over, whatever the program still does. */
  readonly signal: AbortSignal;
}

/** What a program says at its end: its reward, or a text that `reward` judges. */
export type ProgramAnswer =
  | number
  | string
  | {
      readonly reward?: number;
      readonly score?: number;
      readonly won?: boolean;
      readonly output?: Json;
    };

export interface JudgedEpisode<Data extends Json = Json> {
  readonly task: ProgramTask<Data>;
  /** What the program said at its end: the text, or what its last line of JSON has as `output`. */
  readonly output: string;
}

export interface AgentProgramOptions<Data extends Json = Json> {
  readonly name: string;
  /** A sentence for lists. */
  readonly summary?: string;
  /** Started anew for each episode: ["python", "agent.py"]. */
  readonly command?: Command;
  /** Or a function, called in this process. */
  readonly function?: (
    task: ProgramTask<Data>,
    access: ModelAccess,
  ) => ProgramAnswer | Promise<ProgramAnswer>;
  /** Or an agent elsewhere: it is sent the task and where the model is, and answers when it is done. */
  readonly url?: string;
  /** Of the training split; or by split. The first split is trained on, the second is validated on. */
  readonly tasks: readonly Data[] | Readonly<Record<string, readonly Data[]>>;
  /**
   * What an episode is worth. Absent: the program says it. "components": neither, the run's reward components do.
   */
  readonly reward?:
    | "components"
    | ((episode: JudgedEpisode<Data>) => ProgramAnswer | Promise<ProgramAnswer>);
  /** Answers in the model's place: episodes to begin with (`warmStart`, `sft`, `rollout --expert`). */
  readonly expert?: AgentProgram["expert"];
  /** Replies of an episode at most. Default 20. */
  readonly maximumCalls?: number;
  /** Seconds of an episode at most. Default 300. */
  readonly seconds?: number;
  /** Programs at once. Default: 16 commands; functions and agents elsewhere without a limit. */
  readonly atOnce?: number;
  /** The folder that a command is started in. Default: this process's. */
  readonly folder?: string;
  /** Further variables of a command's environment. */
  readonly variables?: Readonly<Record<string, string>>;
}

const COMMANDS_AT_ONCE = 16;
const SECONDS = 300;
const CALLS = 20;

export function agentProgram<Data extends Json = Json>(
  options: AgentProgramOptions<Data>,
): WorldDefinition {
  const { name, seconds = SECONDS, maximumCalls = CALLS } = options;
  const run = runnerOf(options);
  const splits = splitsOf(options);
  const summary = options.summary ?? "an agent of its own asks the model";
  const atOnce = limiter(options.atOnce ?? (options.command ? COMMANDS_AT_ONCE : Infinity));
  const taskOf = ({ id, split, data }: Task): ProgramTask<Data> => ({
    id,
    split,
    data: data as Data,
  });
  const program: AgentProgram = {
    seconds,
    rewarded: options.reward !== "components",
    ...(options.expert && { expert: options.expert }),
    run: (call) =>
      atOnce(call.signal, async () => {
        const task = taskOf(call.task);
        const { origin } = new URL(call.baseUrl);
        const answer = await run({
          ...{ task, seed: call.seed, signal: call.signal, name },
          access: {
            ...{ baseURL: call.baseUrl, apiKey: call.apiKey, model: "policy" },
            anthropicBaseURL: `${origin}${new URL(call.baseUrl).pathname.replace(/\/v1$/, "")}`,
            ...{ seed: call.seed, signal: call.signal },
          },
        });
        const said = resultOf(name, answer);
        if (typeof options.reward !== "function") return said;
        const judged = resultOf(name, await options.reward({ task, output: said.output }));
        return { ...said, ...judged, output: said.output };
      }),
  };
  return defineWorld({
    name,
    summary,
    maximumSteps: maximumCalls,
    options: {},
    open: () => ({
      name,
      source: `${[...splits.values()].reduce((sum, { length }) => sum + length, 0)} tasks of the program`,
      splits: [...splits.keys()],
      program,
      tasks(split) {
        requireSplit(name, split, [...splits.keys()]);
        const all = splits.get(split)!;
        return taskSet({
          ...{ environment: name, split, length: all.length },
          task: (index) => ({
            ...{ environment: name, split, id: idOf(all[index]!, split, index) },
            data: all[index]!,
          }),
        });
      },
      environment: () => unplayable(name),
    }),
  });
}

function runnerOf<Data extends Json>(options: AgentProgramOptions<Data>): Run<Data> {
  const { name, command, function: call, url } = options;
  const given = [command, call, url].filter((way) => way !== undefined);
  if (given.length !== 1)
    throw new EnvironmentError(
      name,
      `agentProgram takes one of command, function and url, got ${given.length} of them.`,
    );
  const rest: RunOptions = { folder: options.folder, variables: options.variables };
  if (command !== undefined) return (start) => runCommand(command, rest, start);
  return url === undefined ? (start) => runFunction(call!, start) : (start) => runAtUrl(url, start);
}

function splitsOf<Data extends Json>({
  name,
  tasks,
}: AgentProgramOptions<Data>): Map<string, readonly Data[]> {
  const splits = Array.isArray(tasks)
    ? { train: tasks as readonly Data[] }
    : (tasks as Readonly<Record<string, readonly Data[]>>);
  const entries = Object.entries(splits);
  if (entries.length === 0 || entries.some(([, list]) => !Array.isArray(list) || list.length === 0))
    throw new EnvironmentError(name, "agentProgram needs tasks: a list, or a list for each split.");
  return new Map(entries);
}

function idOf(data: Json, split: string, index: number): string {
  const own = typeof data === "object" && data !== null && "id" in data ? data.id : undefined;
  return typeof own === "string" && own !== "" ? own : `${split}/${index}`;
}

/** What somebody said of an episode, in one form. */
function resultOf(name: string, answer: ProgramAnswer): ProgramResult {
  if (typeof answer === "number") return { reward: answer, output: "" };
  if (typeof answer === "string") return { output: answer };
  if (typeof answer !== "object" || answer === null)
    throw new EnvironmentError(
      name,
      `the program gave ${answer === null ? "null" : typeof answer}, expected a number (its reward), a text, or { reward, score, won, output }.`,
    );
  const { reward, score, won, output } = answer;
  const numbers = { reward, score };
  for (const [field, value] of Object.entries(numbers))
    if (value !== undefined && !Number.isFinite(value))
      throw new EnvironmentError(
        name,
        `the program's ${field} is ${String(value)}, expected a number.`,
      );
  return {
    ...(reward !== undefined && { reward }),
    ...(score !== undefined && { score }),
    ...(typeof won === "boolean" && { won }),
    output:
      typeof output === "string" ? output : output === undefined ? "" : JSON.stringify(output),
  };
}

function unplayable(name: string): Environment {
  const fail = () => {
    throw new EnvironmentError(
      name,
      "its episodes are programs that ask a model by themselves; they are not played step by step. " +
        "Use train, eval or rollout with a model, and no processes of the world's own (env.isolate).",
    );
  };
  return { reset: fail, step: fail };
}
