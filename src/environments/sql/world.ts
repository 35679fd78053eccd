/**
 * @file The world of questions to databases: its tasks, and an episode over the engine.
 */
import { shown } from "../../network/index.ts";
import { confinedPool } from "../confined/pool.ts";
import {
  EnvironmentError,
  type Expert,
  type Json,
  type Task,
  type TaskSet,
  type World,
} from "../environment.ts";
import { openFunctionWorld } from "../functions/world.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { type BirdQuestion, readBird } from "./bird.ts";
import type { DatabaseSource, SqlAnswer, SqlRequest } from "./engine/process.ts";
import { generatedQuestion, kindOfQuestion } from "./generator/generate.ts";
import { readQuestion } from "./generator/kinds.ts";
import { schemaText } from "./schema-text.ts";

export interface SqlOptions {
  readonly data: string;
  readonly games: number;
  readonly seed: number;
  readonly attempts: number;
  readonly text: number;
  /** Thousands of instructions. */
  readonly work: number;
  /** Megabytes. */
  readonly memory: number;
  readonly seconds: number;
  readonly processes: number;
}

const TEST_GAMES = 500;
const LARGEST_RESULT = 100_000;
/** In BIRD's words, from easy to hard. */
const BIRD_DIFFICULTIES = ["simple", "moderate", "challenging"];

interface State {
  readonly observation: string;
  readonly database: DatabaseSource;
  readonly gold: string;
  readonly attempts: number;
}

export async function sqlWorld(options: SqlOptions): Promise<World> {
  const bird = options.data === "builtin" ? undefined : readBird(options.data);
  const lengths: Readonly<Record<string, number>> = bird
    ? Object.fromEntries([...bird].map(([split, questions]) => [split, questions.length]))
    : { train: options.games, test: TEST_GAMES };
  const pool = confinedPool<SqlRequest, SqlAnswer>(
    { name: "./engine/process", base: import.meta.url },
    [],
    options.processes,
  );
  const megabytes = options.memory * 2 ** 20;
  const limits = {
    ...{ work: options.work, memory: megabytes, file: megabytes },
    ...{ rows: LARGEST_RESULT, text: options.text },
  };
  const world = await openFunctionWorld(
    {
      name: "sql",
      source: bird
        ? `BIRD's questions in ${options.data}`
        : `generated databases, seed ${options.seed}`,
      splits: lengths,
      start: (task: Task): State => begun(task, bird),
      intro: ({ observation }) => observation,
      async act(state, action) {
        const query = queryIn(action);
        const { database, gold } = state;
        const answer = await asked(
          pool.ask({ database, query, gold, limits }, options.seconds * 1000),
          options,
        );
        const attempts = state.attempts + 1;
        const text =
          answer.text.length > options.text
            ? `${answer.text.slice(0, options.text)}...`
            : answer.text;
        return {
          ...{
            text,
            reward: answer.isRight ? 1 : 0,
            score: answer.isRight ? 1 : 0,
            won: answer.isRight,
          },
          ...{ done: answer.isRight || attempts >= options.attempts, admissible: !answer.isError },
          state: { ...state, attempts },
        };
      },
      solution: ({ gold }) => [gold],
      close: () => pool.close(),
      ...(!bird && { expert: readingExpert }),
    },
    {},
  );
  const tasks = (split: string): TaskSet => {
    requireSplit("sql", split, Object.keys(lengths));
    const questions = bird?.get(split);
    return taskSet({
      ...{ environment: "sql", split, length: lengths[split]! },
      type: (index) => (questions ? questions[index]!.difficulty : kindOfQuestion(index).name),
      task: (index) => {
        const type = questions ? questions[index]!.difficulty : kindOfQuestion(index).name;
        const difficulty = questions && BIRD_DIFFICULTIES.indexOf(type ?? "");
        return {
          ...(difficulty !== undefined && difficulty >= 0 && { difficulty }),
          ...{ environment: "sql", split, ...(type !== undefined && { type }) },
          id: bird ? `${split}/bird-${index}` : `${split}/${options.seed}-${index}`,
          data: bird ? { bird: index } : { seed: options.seed, index },
        };
      },
    });
  };
  return { ...world, tasks };
}

/** A process that was killed, or ended: the query's doing. A database that cannot be read is not. */
async function asked(
  answering: Promise<SqlAnswer | undefined>,
  { seconds }: SqlOptions,
): Promise<SqlAnswer> {
  const answer = await answering.catch((error: Error) => ({
    ...{ text: `the query ended its process (${error.message})`, isRight: false, isError: true },
  }));
  if (answer && "broken" in answer && answer.broken !== undefined)
    throw new EnvironmentError("sql", `the task's database is of no use: ${answer.broken}.`);
  return answer ?? { text: `interrupted after ${seconds} s`, isRight: false, isError: true };
}

/** The query of a reply: what stands in its last fence, or all of it. */
export function queryIn(action: string): string {
  const at = action.lastIndexOf("```sql");
  if (at < 0) return action;
  const rest = action.slice(at + "```sql".length);
  const end = rest.indexOf("```");
  return (end < 0 ? rest : rest.slice(0, end)).trim();
}

/** A task may come from a file that somebody edited. */
function begun(
  { id, split, data }: Task,
  bird: ReadonlyMap<string, readonly BirdQuestion[]> | undefined,
): State {
  const given = (data ?? {}) as Partial<Record<string, Json>>;
  const isCount = (value: Json | undefined): value is number =>
    Number.isSafeInteger(value) && Number(value) >= 0;
  const found = isCount(given.bird) ? bird?.get(split)?.[given.bird] : undefined;
  if (found) {
    const { schema, question, gold, file } = found;
    return {
      observation: `${schemaText(schema, true)}\n\n${question}`,
      ...{ database: { name: file, file }, gold, attempts: 0 },
    };
  }
  if (!bird && isCount(given.seed) && isCount(given.index)) {
    const { schema, question, database, gold } = generatedQuestion(given.seed, split, given.index);
    return {
      observation: `${schemaText(schema, false)}\n\n${question}`,
      ...{ database, gold, attempts: 0 },
    };
  }
  throw new EnvironmentError(
    "sql",
    `the task ${shown(id)} is not one of this world's: its data must be as tasks() makes it.`,
  );
}

/** Reads the question and the names in it, and writes the query. */
function readingExpert(): Expert {
  let thought = "";
  return {
    act({ text }) {
      const read = readQuestion(text);
      thought = read
        ? `The question asks for a ${read.kind.name}.`
        : "I do not know how to ask this.";
      return read?.query ?? "SELECT 1";
    },
    thought: () => thought,
  };
}
