/**
 * @file `openmanus-rl model fetch`: a model that is known here by a short name, or one of the Hub, into the cache
 * or into a folder of one's own.
 */
import {
  audienceOf,
  fetchedModel,
  fetchPublished,
  fetchShown,
  PUBLISHED_MODELS,
  type PublishedModel,
} from "../../../library/index.ts";
import { copyModel, describeModel, modelFolderOf } from "../../../models/index.ts";
import { nearest } from "../../../spelling/index.ts";
import { optionsAndWords, UsageError } from "../../arguments/usage.ts";
import { progressLine } from "../../arguments/world.ts";
import { interruptible } from "../interrupt.ts";
import { part } from "./files.ts";
import { modelReport } from "./report.ts";
import { print } from "../print.ts";

export const FETCH_USAGE = "openmanus-rl model fetch NAME[@REVISION] [FOLDER] [--json]";

export async function fetchCommand(given: readonly string[]): Promise<number> {
  const { values, words } = optionsAndWords(given, { json: { type: "boolean", default: false } });
  const [name, folder, ...more] = words;
  if (name === undefined || more.length > 0)
    throw new UsageError(`fetch takes a name, and perhaps a folder: ${FETCH_USAGE}.`);
  const published = publishedModel(name);
  if (published) return fetchKnown(name, published, folder, values.json);
  const found = await interruptible((signal) =>
    fetchShown(name, audienceOf({ progress: process.stderr }), signal),
  );
  const place = folder ?? found.folder;
  if (folder !== undefined) copyModel(found.folder, folder);
  const { parameters } = describeModel(place);
  if (values.json) {
    const { model, commit, fetched } = found;
    print(JSON.stringify({ model, commit, folder: place, fetched, parameters }, null, 2));
  } else {
    print(`${found.model}\n${place}`);
    print(`${(parameters / 1e6).toFixed(1)} million parameters; --model ${folder ?? name} uses it`);
  }
  return 0;
}

/** Undefined for what may be a name on the Hub. */
function publishedModel(name: string): PublishedModel | undefined {
  const names = Object.keys(PUBLISHED_MODELS);
  if (names.includes(name)) return PUBLISHED_MODELS[name];
  if (name.includes("/")) return undefined;
  const guess = nearest(name, names);
  throw new UsageError(
    `there is no model "${name}" here${guess ? `; did you mean ${guess}?` : ""}; there is ${names.join(", ")}, and ` +
      "on the Hub names are like Qwen/Qwen2.5-0.5B-Instruct.",
  );
}

async function fetchKnown(
  name: string,
  model: PublishedModel,
  folder: string | undefined,
  asJson: boolean,
): Promise<number> {
  const progress = progressLine();
  const onProgress = (doing: string, done?: number, total?: number): void =>
    progress.show(done === undefined ? `${doing} …` : part(doing, done, total));
  const { folder: place, source } = await interruptible((signal) =>
    fetchPublished(model, folder, { signal, onProgress }),
  ).finally(() => progress.clear());
  const found = describeModel(place);
  if (asJson)
    print(JSON.stringify({ model: name, source, folder: place, parameters: found.parameters }));
  else if (source === null) print(`${name} is there already, in ${place}.`);
  else print(`${name} came from ${source}.\n\n${modelReport(found)}`);
  return 0;
}

/** The folder of a model that may be named as on the Hub. */
export async function folderOf(place: string): Promise<string> {
  return modelFolderOf(await fetchedModel(place, audienceOf({ progress: process.stderr })));
}
