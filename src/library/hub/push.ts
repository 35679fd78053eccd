/**
 * @file Models to the Hub.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { SETTINGS_FILE } from "../../config/index.ts";
import { type PushedModel, pushModel } from "../../models/index.ts";
import { runResults } from "../../training/index.ts";
import { modelCard, type RunPolicy } from "./card.ts";
import { policyIn } from "../evaluate.ts";
import { MB } from "./hub.ts";
import type { ProgressChoices } from "../options.ts";
import { audienceOf, InterruptedError } from "../progress.ts";

/** What `push` takes, besides what and where to. */
export interface PushCall extends ProgressChoices {
  /** Whether only its owners see it, where it is new. Default false. */
  readonly isPrivate?: boolean;
  /** The branch. Default: main. */
  readonly revision?: string | undefined;
}

/**
 * Pushes a model's folder, or a run's best policy, to `org/name` on the Hub, with a card made from the run. The
 * token is that of HF_TOKEN, or of the token file.
 */
export async function push(
  place: string,
  name: string,
  options: PushCall = {},
): Promise<PushedModel> {
  const { say, progress } = audienceOf(options);
  const { isPrivate = false, revision, signal } = options;
  const policy = policyOf(place);
  const folder = policyIn(place);
  // Somebody's own card, of a model that is no run's, is better than what we could say.
  const own = policy ? undefined : cardIn(folder);
  try {
    return await pushModel(folder, name, {
      ...{ isPrivate, revision, say, signal },
      texts: { "README.md": own ?? modelCard(name, folder, policy), ...noteIn(folder) },
      onProgress: (done, total) =>
        progress.show(`sending ${name}`, Math.floor(done / MB), Math.ceil(total / MB), "MB"),
    });
  } catch (error) {
    if (!signal?.aborted) throw error;
    throw new InterruptedError(`interrupted before ${name} was changed; nothing was pushed`);
  } finally {
    progress.clear();
  }
}

/** Of a run's folder its best policy, or the one whose folder this is; undefined: it is of no run. */
function policyOf(place: string): RunPolicy | undefined {
  const results = runResults(place);
  const { iteration } = results?.best ?? results?.last ?? {};
  if (iteration === 0)
    throw new OptionError(
      `${place}: nothing that was learned has validated better than the model it began with, which is not pushed ` +
        `again. If you want a later one, name its folder: ${join(place, "checkpoints", "step-…", "actor")}.`,
    );
  if (iteration !== undefined) return { run: place, iteration };
  const [, step] = /^step-(\d+)$/.exec(basename(dirname(resolve(place)))) ?? [];
  const run = resolve(place, "..", "..", "..");
  return step !== undefined && runResults(run) ? { run, iteration: Number(step) } : undefined;
}

function cardIn(folder: string): string | undefined {
  const file = join(folder, "README.md");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** The settings beside the weights, without where on this machine a world of one's own is. */
function noteIn(folder: string): Record<string, string> {
  const file = join(folder, SETTINGS_FILE);
  if (!existsSync(file)) return {};
  const told = (_: string, value: unknown): unknown =>
    typeof value === "string" && isAbsolute(value) ? `./${basename(value)}` : value;
  const note: unknown = JSON.parse(readFileSync(file, "utf8"));
  return { [SETTINGS_FILE]: `${JSON.stringify(note, told, 1)}\n` };
}
