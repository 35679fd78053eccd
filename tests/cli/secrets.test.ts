/**
 * @file No key of a server and no password of an address is shown or stored, whatever a server answers:
 * what every command writes, and every byte of a run's folder, is searched for it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const KEY = "sk-hush-0123456789";
const PASSWORD = "pass-hush-word";
const parent = temporaryFolder();
let warm: string;
let server: Server;
let address: string;
let isBroken = false;
const seen = new Set<string | undefined>();

let shown: string[];
beforeEach(() => {
  shown = [];
  const keep = (text: unknown = "") => void shown.push(String(text));
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation((text) => {
      keep(text);
      return true;
    });
  vi.stubEnv("SECRETS_KEY", KEY);
  isBroken = false;
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
  // As servers do that say too much: it repeats what it was sent.
  server = createServer((request, response) => {
    const { authorization } = request.headers;
    seen.add(authorization);
    request.resume();
    response.statusCode = isBroken ? 401 : 200;
    response.setHeader("content-type", "application/json");
    response.end(
      isBroken
        ? JSON.stringify({ error: { message: `wrong key: ${authorization}` } })
        : JSON.stringify({ choices: [{ message: { content: "<mark>5</mark>" } }] }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => server.close());

/** Every file below, unpacked. */
function everything(folder: string): [string, string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    return [[path, (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1")]];
  });
}

function expectNothingTold(folder?: string): void {
  expect(shown.join("\n")).not.toMatch(/hush/);
  const files = folder === undefined ? [] : everything(folder);
  expect(files.filter(([, text]) => text.includes("hush")).map(([path]) => path)).toEqual([]);
}

const judged = (place: string) => [
  ...["reward.judge=1", `reward.judge_endpoint=http://${address}`, `reward.judge_api_key=${place}`],
  ...["trainer.total_epochs=1", `env.options.note=http://me:${PASSWORD}@elsewhere/`],
];
/** The tiny world has no options; the setting above is for what is written down. */
const withoutOption = (words: string[]) => words.filter((word) => !word.startsWith("env.options"));

it("train --dry-run shows where a key is, and addresses without passwords", async () => {
  const settings = [...tinySettings(warm, join(parent, "dry")), ...judged("env:SECRETS_KEY")];
  await main(["train", "--dry-run", ...settings]);
  expectNothingTold();
  shown = [];
  expect(await main(["train", "--dry-run", ...withoutOption(settings)])).toBe(0);
  expect(shown.join("\n")).toContain("judge_api_key: env:SECRETS_KEY");
  expectNothingTold();
});

it("a run asks with the key, and its folder does not have it", async () => {
  const key = join(parent, "key.txt");
  writeFileSync(key, `${KEY}\n`);
  const run = join(parent, "run");
  const settings = withoutOption([...tinySettings(warm, run), ...judged(`file:${key}`)]);
  expect(await main(["train", ...settings]), shown.join("\n")).toBe(0);
  expect(seen).toContain(`Bearer ${KEY}`);
  expect(everything(run).length).toBeGreaterThan(5);
  expect(readFileSync(join(run, "config.yaml"), "utf8")).toContain(`judge_api_key: file:${key}`);
  expectNothingTold(run);
  // The same words go on with it.
  shown = [];
  expect(await main(["train", ...settings, "trainer.total_epochs=2"]), shown.join("\n")).toBe(0);
  expectNothingTold(run);
});

it("a key in plain text, or one that is not there, ends before anything is written", async () => {
  const run = join(parent, "none");
  for (const place of [KEY, "env:SECRETS_NOT_SET", "file:/nowhere"]) {
    const words = withoutOption([...tinySettings(warm, run), ...judged(place)]);
    expect(await main(["train", ...words])).toBe(1);
    expect(shown.join("\n")).toMatch(/reward\.judge_api_key/);
  }
  expectNothingTold();
  expect(readdirSync(parent)).not.toContain("none");
});

it("what a server says about a key is not passed on", async () => {
  isBroken = true;
  const run = join(parent, "refused");
  const settings = withoutOption([...tinySettings(warm, run), ...judged("env:SECRETS_KEY")]);
  await main(["train", ...settings]).catch((error: Error) => shown.push(String(error.stack)));
  expect(shown.join("\n")).toMatch(/401.*wrong key: Bearer …/s);
  expectNothingTold(run);
});

it.each([
  ["--key", "env:SECRETS_KEY"],
  ["--key-variable", "SECRETS_KEY"],
])("rollout %s %s: neither the screen nor the episodes have the key", async (...option) => {
  isBroken = true;
  const out = join(parent, `rollout${option[0]}`);
  const words = ["household", "--server", `http://${address}`, "--model", "m", "--tasks", "1"];
  await main(["rollout", ...words, "--retries", "0", ...option, "--out", out]);
  expect(seen).toContain(`Bearer ${KEY}`);
  expectNothingTold(out);
});

it("rollout: what is no place of a key is refused without repeating it", async () => {
  const words = ["household", "--server", `http://${address}`, "--model", "m"];
  expect(await main(["rollout", ...words, "--key", KEY])).toBe(2);
  expect(await main(["rollout", ...words, "--key-variable", KEY])).toBe(2);
  expect(shown.join("\n")).toMatch(/--key looks like a key in plain text; write env:NAME/);
  expectNothingTold();
});
