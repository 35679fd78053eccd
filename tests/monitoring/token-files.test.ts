/**
 * @file Token tables on disk: bytes in, the same numbers out; what is damaged is said to be.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  decodeTokens,
  encodeTokens,
  joinTables,
  openTokenFolder,
  readTokens,
  recordedSteps,
  type TokenTable,
} from "../../src/monitoring/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

const table = (step: number, id: string, values: readonly number[]): TokenTable => ({
  step,
  about: { estimator: "grpo", clip_low: 0.2 },
  episodes: [{ id, turns: [{ tokens: values.length, return: 0.5, stepGroup: 3 }] }],
  columns: {
    advantage: Float32Array.from(values),
    mini_batch: new Float32Array(values.length).fill(2),
    logprob: new Float32Array(values.length).fill(Number.NaN),
  },
});

describe("a table of tokens", () => {
  it("comes back bit for bit", () => {
    const one = table(7, "7:train/a 🔑#0", [0.1, Number.NaN, -3.25, 1e-30]);
    expect(decodeTokens(encodeTokens(one), "here")).toEqual(one);
    const empty = { ...table(1, "a", []), episodes: [] };
    expect(decodeTokens(encodeTokens(empty), "here").episodes).toEqual([]);
  });

  it("of several parts is one; a column that a part has not is NaN there", () => {
    const [a, b] = [table(1, "a", [1, 2]), table(1, "b", [3])];
    const joined = joinTables([a, { ...b, columns: { ...b.columns, value: Float32Array.of(9) } }]);
    expect(joined.episodes.map(({ id }) => id)).toEqual(["a", "b"]);
    expect([...joined.columns.advantage!]).toEqual([1, 2, 3]);
    expect([...joined.columns.value!]).toEqual([Number.NaN, Number.NaN, 9]);
  });

  it("lies in a folder by iteration, and is forgotten from one on", () => {
    const folder = join(temporaryFolder(), "tokens");
    const tokens = openTokenFolder(folder);
    tokens.truncate(0);
    for (const step of [1, 2, 10]) tokens.write(table(step, "a", [step, 0]));
    expect(recordedSteps(folder)).toEqual([1, 2, 10]);
    expect(readTokens(folder, 2)!.columns.advantage![0]).toBe(2);
    expect(readTokens(folder, 3)).toBeUndefined();
    tokens.truncate(2);
    expect(readdirSync(folder)).toEqual(["000001.gz"]);
  });

  it("that is damaged is told with its name", () => {
    const folder = temporaryFolder();
    openTokenFolder(folder).write(table(1, "a", [1, 2, 3]));
    const file = join(folder, "000001.gz");
    const whole = readFileSync(file);
    const plain = gunzipSync(whole);
    for (const bytes of [
      Buffer.from("nothing"),
      whole.subarray(0, whole.length - 9),
      gzipSync(Buffer.from("omrltok1")),
      gzipSync(Buffer.from("another file altogether")),
      gzipSync(plain.subarray(0, plain.length - 4)),
      gzipSync(Buffer.from(plain.toString("latin1").replace('"tokens":3', '"tokens":9'), "latin1")),
      gzipSync(Buffer.from(plain.toString("latin1").replace('{"', "{["), "latin1")),
    ]) {
      writeFileSync(file, bytes);
      expect(() => readTokens(folder, 1)).toThrow(/000001\.gz: is no table of tokens \(/);
    }
  });
});
