/**
 * @file What our programs share: a request in one JSON file, an answer in another, and what the process cost.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setThreads } from "../../../src/torch/index.ts";

export interface Request {
  readonly threads: number;
  /** An empty folder, removed afterwards. */
  readonly place: string;
}

export async function answer<Asked extends Request>(
  respond: (request: Asked) => object | Promise<object>,
): Promise<void> {
  const [question, place] = process.argv.slice(2) as [string, string];
  const request = JSON.parse(readFileSync(question, "utf8")) as Asked;
  setThreads(request.threads);
  const found = await respond(request);
  writeFileSync(place, JSON.stringify(found));
}
