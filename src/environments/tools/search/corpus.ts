/**
 * @file The documents that can be searched: a folder of texts, or a file of JSON.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { EnvironmentError } from "../../environment.ts";
import { recordsOf } from "../tasks/records.ts";

export interface Document {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

const MOST_DOCUMENTS = 200_000;
const LARGEST_TEXT = 10_000_000;
const DEEPEST = 10;

/**
 * A folder gives a document per .txt and .md file, titled by its name; a .json, .jsonl or .parquet
 * file a document per record, with `title` and `text` (or `contents`).
 */
export async function openCorpus(path: string): Promise<readonly Document[]> {
  if (!existsSync(path))
    fail(
      `there is nothing at ${path}. Give a folder of texts, or a .json, .jsonl or .parquet file.`,
    );
  const documents = statSync(path).isDirectory()
    ? folderDocuments(path)
    : (await recordsOf(path)).map((record, index) => documentOf(record, index, path));
  if (documents.length === 0) fail(`${path} holds no documents.`);
  if (documents.length > MOST_DOCUMENTS)
    fail(`${path} holds ${documents.length} documents; at most ${MOST_DOCUMENTS} can be searched.`);
  return documents;
}

function documentOf(
  record: Readonly<Record<string, unknown>>,
  index: number,
  path: string,
): Document {
  const { id = index, title = "", text = record.contents } = record;
  if (typeof text !== "string" || typeof title !== "string")
    return fail(
      `document ${index + 1} of ${path} must have "text" (or "contents") and may have "title", both texts.`,
    );
  // The first line is the title where there is none.
  const [first = ""] = text.split("\n", 1);
  return { id: String(id), title: title || first.slice(0, 100), text };
}

function folderDocuments(root: string): Document[] {
  const found: Document[] = [];
  const walk = (folder: string, depth: number): void => {
    if (depth > DEEPEST) return;
    const members = readdirSync(folder, { withFileTypes: true });
    for (const member of members.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, member.name);
      if (member.isDirectory()) walk(path, depth + 1);
      else if (member.isFile() && [".txt", ".md"].includes(extname(path)))
        found.push(fileDocument(path));
      if (found.length > MOST_DOCUMENTS) fail(`${root} holds too many files.`);
    }
  };
  walk(root, 0);
  return found;
}

function fileDocument(path: string): Document {
  const { size } = statSync(path);
  if (size > LARGEST_TEXT) fail(`${path} has ${size} bytes; at most ${LARGEST_TEXT} are read.`);
  return {
    id: path,
    title: basename(path, extname(path)).replace(/[-_]+/g, " "),
    text: readFileSync(path, "utf8"),
  };
}

function fail(message: string): never {
  throw new EnvironmentError("tools", message);
}
