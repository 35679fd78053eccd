/**
 * @file Questions with their answers, from a file: any records with `question` and `answer`, and
 * GAIA's (pid, question, answer, task_id, level, split).
 */
import { EnvironmentError, type Json } from "../../environment.ts";
import { type FileRecord, recordsOf } from "./records.ts";

export interface Question {
  readonly id: string;
  readonly split: string;
  readonly type?: string | undefined;
  readonly question: string;
  readonly answer: string;
  /** Actions that find the answer, where they are known. */
  readonly solution?: readonly string[] | undefined;
}

const LONGEST = 100_000;

export async function questionsOf(path: string): Promise<readonly Question[]> {
  const records = await recordsOf(path);
  if (records.length === 0) throw new EnvironmentError("tools", `${path} holds no questions.`);
  const ids = new Set<string>();
  return records.map((record, index) => {
    const question = questionOf(record, index, path);
    // Two questions of one name would be taken for the same task.
    const id = ids.has(question.id) ? `${question.id}-${index}` : question.id;
    ids.add(id);
    return { ...question, id };
  });
}

function questionOf(record: FileRecord, index: number, path: string): Question {
  const wrong = (message: string): never => {
    throw new EnvironmentError("tools", `question ${index + 1} of ${path}: ${message}`);
  };
  const { question } = record;
  const answer = record.answer ?? record["Final answer"];
  if (typeof question !== "string" || question.trim() === "" || question.length > LONGEST)
    return wrong(`"question" must be a text of at most ${LONGEST} characters.`);
  if (!isWord(answer)) return wrong('"answer" must be a text or a number.');
  const id = record.task_id ?? record.id ?? record.pid ?? index;
  const { level, type } = record;
  for (const [name, value] of Object.entries({ id, level, type }))
    if (value !== undefined && value !== null && !isWord(value))
      return wrong(`"${name}" must be a text or a number.`);
  const kind = level === undefined ? type : `level_${level as string | number}`;
  return {
    id: String(id),
    split: typeof record.split === "string" && record.split !== "" ? record.split : "all",
    ...(kind !== undefined && kind !== null && { type: String(kind) }),
    question,
    answer: String(answer),
  };
}

/** What can be written as a word. */
function isWord(value: unknown): value is string | number | bigint | boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}

/** A task carries its question: it can be played elsewhere without the file. */
export function taskData({ question, answer }: Question): Json {
  return { question, answer };
}
