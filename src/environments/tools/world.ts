/**
 * @file The world of questions and tools: where its questions, tools and documents come from.
 */
import { EnvironmentError, type Task, type TaskSet, type World } from "../environment.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { ANSWER } from "./action.ts";
import { calculatorTool } from "./calculator/tool.ts";
import { codeTool } from "./code/tool.ts";
import { ToolsEnvironment } from "./environment.ts";
import { toolExpert } from "./expert.ts";
import { fetchTool } from "./fetch/tool.ts";
import { mcpTools } from "./mcp/client.ts";
import { createJudge, type Judge } from "./scoring/judge.ts";
import { type Document, openCorpus } from "./search/corpus.ts";
import { searchTool } from "./search/tool.ts";
import { answerText, GENERATED_SPLITS, generatedQuestions } from "./tasks/generate.ts";
import { type Question, questionsOf, taskData } from "./tasks/question.ts";
import { definitionOf, type Tool } from "./tool.ts";

export const TOOL_NAMES = ["calculator", "search", "javascript", "fetch"] as const;

export interface ToolsOptions {
  readonly data: string;
  readonly corpus?: string | undefined;
  /** Unless given: calculator, javascript, and search where there is a corpus. */
  readonly tools?: readonly string[] | undefined;
  readonly mcp: readonly string[];
  readonly fetchPrivate: boolean;
  readonly codeSeconds: number;
  readonly codeMegabytes: number;
  readonly observationLength: number;
  readonly describe: boolean;
  readonly judgeUrl?: string | undefined;
  readonly judgeModel?: string | undefined;
  readonly judgeKey: string;
  readonly questions: number;
  readonly towns: number;
  readonly seed: number;
  readonly winReward: number;
}

/** Questions by split, in an order that never changes. */
interface Questions {
  readonly source: string;
  readonly splits: readonly string[];
  readonly documents: readonly Document[];
  length(split: string): number;
  question(split: string, index: number): Question;
}

const TEST_QUESTIONS = 200;

export async function toolsWorld(name: string, options: ToolsOptions): Promise<World> {
  const questions = options.data === "builtin" ? generated(options) : await listed(options.data);
  const documents =
    options.corpus === undefined ? questions.documents : await openCorpus(options.corpus);
  const judge = judgeOf(options);
  const tools = await openTools(options, documents);
  const { observationLength: longest, winReward, describe } = options;
  return {
    name,
    source: questions.source,
    splits: questions.splits,
    tools: [...tools, ANSWER].map(definitionOf),
    tasks: (split) => tasksOf(name, questions, split),
    environment: () => new ToolsEnvironment({ tools, judge, longest, winReward, describe }),
    // Scripts can only read questions that they were written for.
    ...(options.data === "builtin" && { expert: toolExpert }),
    solution: (task) => solutionOf(questions, task),
    async close() {
      for (const tool of tools) await tool.close?.();
    },
  };
}

function tasksOf(name: string, questions: Questions, split: string): TaskSet {
  requireSplit(name, split, questions.splits);
  return taskSet({
    environment: name,
    split,
    length: questions.length(split),
    task: (index): Task => {
      const question = questions.question(split, index);
      const { id, type } = question;
      const data = { ...(taskData(question) as object), index };
      return { environment: name, split, id, ...(type !== undefined && { type }), data };
    },
  });
}

function solutionOf(questions: Questions, { split, data }: Task): readonly string[] | undefined {
  const { index, answer } = (data ?? {}) as { index?: unknown; answer?: unknown };
  if (typeof answer !== "string") return undefined;
  const isOurs =
    questions.splits.includes(split) &&
    Number.isInteger(index) &&
    Number(index) >= 0 &&
    Number(index) < questions.length(split);
  const known = isOurs ? questions.question(split, Number(index)) : undefined;
  // Whoever knows the answer need not look for it.
  return known?.solution && known.answer === answer ? known.solution : [answerText(answer)];
}

function generated({ seed, towns, questions }: ToolsOptions): Questions {
  const { country, question } = generatedQuestions(seed, towns);
  return {
    source: `generated questions about ${country.places.length} places, seed ${seed}`,
    splits: GENERATED_SPLITS,
    documents: country.documents,
    length: (split) => (split === "train" ? questions : TEST_QUESTIONS),
    question,
  };
}

async function listed(path: string): Promise<Questions> {
  const bySplit = new Map<string, Question[]>();
  for (const question of await questionsOf(path)) {
    const { split } = question;
    bySplit.set(split, [...(bySplit.get(split) ?? []), question]);
  }
  const count = [...bySplit.values()].reduce((sum, { length }) => sum + length, 0);
  return {
    source: `${count} questions in ${path}`,
    splits: [...bySplit.keys()],
    documents: [],
    length: (split) => bySplit.get(split)!.length,
    question: (split, index) => bySplit.get(split)![index]!,
  };
}

async function openTools(options: ToolsOptions, documents: readonly Document[]): Promise<Tool[]> {
  const wanted = options.tools ?? [
    "calculator",
    ...(documents.length > 0 ? ["search"] : []),
    "javascript",
  ];
  if (wanted.includes("search") && documents.length === 0)
    throw new EnvironmentError(
      "tools",
      "the tool search needs documents; give corpus=FOLDER or a file of them.",
    );
  const makers: Readonly<Record<string, () => Tool>> = {
    calculator: calculatorTool,
    search: () => searchTool(documents),
    javascript: () =>
      codeTool({ time: options.codeSeconds * 1000, memory: options.codeMegabytes * 2 ** 20 }),
    fetch: () => fetchTool(options.fetchPrivate ? { isForbidden: () => false } : {}),
  };
  const tools = TOOL_NAMES.filter((name) => wanted.includes(name)).map((name) => makers[name]!());
  try {
    for (const [number, server] of options.mcp.filter((server) => server !== "").entries())
      for (const tool of await mcpTools(server)) tools.push(renamed(tool, tools, number + 1));
    return tools;
  } catch (error) {
    for (const tool of tools) await tool.close?.();
    throw error;
  }
}

/** Two tools of one name cannot both be called: the later one gets its server's number. */
function renamed(tool: Tool, tools: readonly Tool[], server: number): Tool {
  const isTaken = (name: string): boolean =>
    name === ANSWER.name || tools.some((other) => other.name === name);
  if (!isTaken(tool.name)) return tool;
  const name = `server${server}_${tool.name}`;
  if (isTaken(name)) throw new EnvironmentError("tools", `there are two tools named ${name}.`);
  return { ...tool, name };
}

/** Where the key is unless said otherwise: there need not be one, for a server of one's own. */
const JUDGE_KEY = "OPENAI_API_KEY";

function judgeOf({ judgeUrl, judgeModel, judgeKey }: ToolsOptions): Judge | undefined {
  if (judgeUrl === undefined) return undefined;
  if (judgeModel === undefined)
    throw new EnvironmentError("tools", "judgeUrl needs judgeModel, the name of the model there.");
  const key = process.env[judgeKey] || undefined;
  // Not what was given: somebody may have written the key itself.
  if (key === undefined && judgeKey !== JUDGE_KEY)
    throw new EnvironmentError(
      "tools",
      "judgeKey takes the name of an environment variable that holds the key, and there is none of that name.",
    );
  return createJudge({ url: judgeUrl, model: judgeModel, key, timeout: 60_000, retries: 4 });
}
