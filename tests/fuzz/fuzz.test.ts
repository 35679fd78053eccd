/**
 * @file Hostile bytes for every reader, a few of them, and the proof that what is looked for would be found. The long run is
 * `npm run fuzz` (docs/trust.md).
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCorpus } from "../../tools/fuzz/corpus.ts";
import { judgeFor } from "../../tools/fuzz/judge.ts";
import { fuzzRandom } from "../../tools/fuzz/random.ts";
import { targetNamed } from "../../tools/fuzz/targets/index.ts";
import { TARGET_NAMES } from "../../tools/fuzz/targets/names.ts";
import { watchTarget } from "../../tools/fuzz/watch.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "openmanus-fuzz-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Inputs for each; those that start processes or connections get fewer. */
const INPUTS = 150;
const SLOW = {
  parquet: 10,
  http: 20,
  mcp: 40,
  openenv: 40,
  agentgym: 40,
  yaml: 60,
  checkpoint: 20,
  run: 60,
};
/** Those that answer with sentences, or only with results, whatever they are given. */
const QUIET = ["page", "events", "gateway", "http", "env-serve", "openenv-serve", "run"];

describe("a few inputs", () => {
  it.each(TARGET_NAMES)("%s", { timeout: 60_000 }, async (name) => {
    const target = await targetNamed(name);
    const own = mkdtempSync(join(folder, "target-"));
    const inside = mkdtempSync(join(own, "inside-"));
    const opened = await target.open(inside);
    const { judge } = judgeFor(target, opened, inside);
    const forms = await target.forms();
    const corpus = openCorpus(forms, target.words ?? [], undefined);
    const random = fuzzRandom(7);
    const shapes = new Set<string>();
    const wanted = SLOW[name as keyof typeof SLOW] ?? INPUTS;
    try {
      for (let i = 0; i < wanted; i++) {
        const entry = corpus.next(random);
        const bytes = forms[entry.form]!.toBytes?.(entry.bytes) ?? entry.bytes;
        const { find, shape } = await judge(bytes);
        expect(find?.report, bytes.toString("base64")).toBeUndefined();
        if (!shapes.has(shape)) corpus.add(entry);
        shapes.add(shape);
      }
    } finally {
      await opened.close?.();
    }
    // Inputs got further than the first check.
    expect(shapes.size).toBeGreaterThan(QUIET.includes(name) ? 0 : 1);
  });
});

describe("what is broken on purpose is found", () => {
  it.each([
    ["planted-slip", /^TypeError Cannot read propert/],
    ["planted-abort", /^died SIGABRT/],
    ["planted-hang", /^hang$/],
    ["planted-file", /^outside$/],
    ["planted-prototype", /^prototype of Object$/],
    ["planted-memory", /^memory$/],
  ])("%s", { timeout: 60_000 }, async (target, signature) => {
    const limits = { inputs: 6000, silence: 2, isFirstEnough: true };
    const options = { target, seed: 1, ...limits, finds: join(folder, "finds") };
    const { finds, inputs } = await watchTarget(options);
    expect(inputs).toBeGreaterThan(0);
    const found = finds.find((one) => signature.test(one.signature));
    expect(found, finds.map((one) => one.signature).join()).toBeDefined();
    expect(readFileSync(found!.file, "latin1").slice(0, 3)).toBe("key");
    const again = await watchTarget({ ...options, replay: found!.file });
    expect(again.finds[0]?.signature).toMatch(signature);
  });
});
