/**
 * @file A hub with a model, a cache of one's own, and how a fetch may fail.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import {
  type FetchOptions,
  fetchModel,
  HubError,
  type HubLimits,
} from "../../../src/models/index.ts";
import { newModelFolder, temporaryFolder } from "../../rollout/support.ts";
import { type FakeHub, fakeHub, sha256 } from "./fake-hub.ts";

export const NAME = "tiny-org/tiny-model";
export const TOKEN = "hf_secretsecretsecret";

/** Quick, so that a test of something that does not end takes a second. */
export const QUICK: HubLimits = {
  ...{ attempts: 3, pause: 5, longestPause: 50, time: 3000, silence: 700 },
  slowest: { bytes: 1000, time: 300 },
};

let files: Readonly<Record<string, Buffer>> | undefined;

/** The files of a model that can be loaded and played. */
export function modelFiles(): Readonly<Record<string, Buffer>> {
  if (files) return files;
  const folder = newModelFolder(temporaryFolder());
  const names = readdirSync(folder);
  files = Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]));
  return files;
}

export interface Setting {
  readonly hub: FakeHub;
  readonly commit: string;
  readonly home: string;
  readonly cache: string;
  /** The repository's folder in the cache. */
  readonly place: string;
  readonly variables: Record<string, string>;
  fetch(options?: FetchOptions & { readonly name?: string }): ReturnType<typeof fetchModel>;
}

export async function hubWithModel(
  more: Readonly<Record<string, Buffer | string>> = {},
): Promise<Setting> {
  const hub = await fakeHub();
  onTestFinished(() => hub.close());
  const commit = hub.add(NAME, { ...modelFiles(), ...more });
  const home = temporaryFolder();
  const cache = join(home, "hub");
  const variables = { HF_ENDPOINT: hub.url, HF_HOME: home };
  return {
    ...{ hub, commit, home, cache, variables },
    place: join(cache, `models--${NAME.replace("/", "--")}`),
    fetch: ({ name = NAME, limits, ...options } = {}) =>
      fetchModel(name, { variables, ...options, limits: { ...QUICK, ...limits } }),
  };
}

/** Every file below a folder, links not followed. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** The one large file. */
export const WEIGHTS = () => modelFiles()["model.safetensors"]!;

/** Nothing is there that could be taken for a model, or for a part of one. */
export function expectNothingWhole({ place, commit }: Setting): void {
  expect(existsSync(join(place, "snapshots", commit))).toBe(false);
  expect(existsSync(join(place, "refs"))).toBe(false);
  expect(existsSync(join(place, "blobs", sha256(WEIGHTS())))).toBe(false);
}

/** It fails with a sentence that may be shown, and the token went to the hub alone. */
export async function expectFailure(
  setting: Setting,
  sentence: RegExp,
  name = NAME,
  limits: Partial<HubLimits> = {},
): Promise<void> {
  const variables = { ...setting.variables, HF_TOKEN: TOKEN };
  const error = await setting.fetch({ name, variables, limits: { ...QUICK, ...limits } }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HubError);
  const { message } = error as HubError;
  expect(message).toMatch(sentence);
  expect(message).not.toMatch(new RegExp(`${TOKEN}|\\p{Cc}`, "u"));
  expect(message.length).toBeLessThan(800);
  for (const { host, headers } of setting.hub.seen)
    if (host !== "hub") expect(headers.authorization).toBeUndefined();
}

/** Writes for ever, as fast as it is taken. */
export function flood(
  response: ServerResponse,
  piece: Buffer | string = Buffer.alloc(65_536, 32),
): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}
