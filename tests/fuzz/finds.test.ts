/**
 * @file What fuzzing has found, each as small as it became: a sentence now, where it was a slip, a hang or an error of the
 * machine's.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unpackZip } from "../../src/environments/archive/unpack.ts";
import {
  ArchiveError,
  EnvironmentError,
  openWorld,
  type Task,
} from "../../src/environments/index.ts";
import { questionsOf } from "../../src/environments/tools/tasks/question.ts";
import { schemaGrammar } from "../../src/gateway/constrain/json.ts";
import { GatewayError } from "../../src/gateway/index.ts";
import { loadTokenizer, ModelFileError } from "../../src/models/index.ts";
import { decodeTokens, TokenFileError } from "../../src/monitoring/index.ts";
import { AHEAD_FILE, readAhead } from "../../src/training/checkpoint/ahead-file.ts";
import { CheckpointError, verifyWhole } from "../../src/training/checkpoint/files.ts";
import { zipBytes } from "../../tools/fuzz/builders/archives.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "openmanus-finds-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** 324 bytes. */
const DAMAGED_PARQUET =
  "UEFSMRUGFVwVXlwVBhUAFQYVABUEFQAAAAMHLEQOAAAASG93IGZhciBpcyBpdD4BElRXaG8gd2FzIGZpcnN0PwQAAABXaHk/FQYVMhU2XBUGFQAVBhUAFQQVAAAAAwcXWAEAAAA1AwAAAEFkaQcAAABiZWNhdXNlFQYVHBUgXBUGFQAVBhUAFQQVAAAAAwcMLAEAAAACAAAAAwAAABUGFTQVMFwVBhUAFQYVABUEFQAAAAMHGBUGFQAVBBUAAAADBwwsAQAAAAIAAAAFAQTgPwUHKADwPwAAAAAAAABAFQYVBhUKXBUGFQAVBhUAFQQVAAAAAwcBAAUVBBlsSARyb290FQoAFQwlAhgIcXVlc3Rpb24lAAAVDCUCGAZhbnN3ZXIlAAAVAiUCGAVsZXZlbAAVCiUCGAVzY29yZXF1ZXN0aW9u";

const LIMITS = { files: 10, bytesPerFile: 1000, bytes: 1000 };

describe("archives", () => {
  it.each([
    ["two files of one name", [{ path: "a" }, { path: "a" }], /there is a file of that name/],
    [
      "a file that is a folder, too",
      [{ path: "a" }, { path: "a/b" }],
      /a part of its path is a file|of that name/,
    ],
    ["a name that no file can have", [{ path: "x".repeat(3000) }], /its name is too long/],
  ])("%s", (_, files, message) => {
    const file = join(folder, "a.zip");
    writeFileSync(file, zipBytes(files));
    const unpacking = () => unpackZip(file, mkdtempSync(join(folder, "out-")), LIMITS);
    expect(unpacking).toThrow(ArchiveError);
    expect(() => unpackZip(file, mkdtempSync(join(folder, "out-")), LIMITS)).toThrow(message);
  });
});

describe("schemas of a request", () => {
  it.each([
    ["a type that is an object", { type: { toString: "" } }],
    ["a type that every object has", { type: "constructor" }],
    ["a reference with half an escape", { $ref: "#/%E0%A4%A" }],
    ["something required that is no name", { type: "object", required: [{ toString: 1 }] }],
    ["a length that is no number", { type: "string", minLength: { valueOf: 1 } }],
  ])("%s", (_, schema) => {
    expect(() => schemaGrammar(schema, "tools")).toThrow(GatewayError);
  });
});

describe("files of tasks", () => {
  it("ids and levels that are no words", async () => {
    const file = join(folder, "a.json");
    writeFileSync(file, '[{"question": "?", "answer": 0, "level": {"toString": 1}}]');
    await expect(questionsOf(file)).rejects.toThrow(/question 1 .*"level" must be a text/);
  });

  it("parquet whose pages are damaged", { timeout: 60_000 }, async () => {
    const file = join(folder, "a.parquet");
    writeFileSync(file, Buffer.from(DAMAGED_PARQUET, "base64"));
    const begun = performance.now();
    await expect(questionsOf(file)).rejects.toThrow(/cannot be read as parquet/);
    expect(performance.now() - begun).toBeLessThan(30_000);
  });

  it.each(["household", "maze", "textcraft", "sql"])(
    "a task of %s whose name is an object",
    async (name) => {
      const world = await openWorld(name);
      const task = { environment: name, split: "x", id: { toString: "" } } as unknown as Task;
      const reset = async () => world.environment().reset(task);
      await expect(reset()).rejects.toThrow(EnvironmentError);
      await world.close?.();
    },
  );
});

describe("files of runs", () => {
  it.each([
    "null",
    "[]",
    '{"episodes": [null], "columns": []}',
    '{"episodes": [{"turns": [{}]}], "columns": []}',
  ])("a table of tokens with the header %s", (header) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    const bytes = gzipSync(Buffer.concat([Buffer.from("omrltok1"), length, Buffer.from(header)]));
    expect(() => decodeTokens(bytes, "tokens")).toThrow(TokenFileError);
  });

  it.each(["null", "{}", '{"trained": {}}', '{"trained": [{"id": "a"}], "places": []}'])(
    "episodes that were played ahead, with the first line %s",
    (line) => {
      writeFileSync(join(folder, AHEAD_FILE), `${line}\n`);
      expect(() => readAhead(folder)).toThrow(CheckpointError);
      expect(() => readAhead(folder)).toThrow(/expected a list/);
    },
  );

  it("a manifest whose file has no size", () => {
    const checkpoint = join(folder, "checkpoint");
    mkdirSync(checkpoint);
    writeFileSync(join(checkpoint, "state.json"), "{}");
    writeFileSync(join(checkpoint, "manifest.json"), '{"files": {"state.json": null}}');
    expect(() => verifyWhole(checkpoint)).toThrow(/has 2 bytes, was written with undefined/);
  });
});

it("a tokenizer that loads and cannot encode is refused when it is loaded", () => {
  const made = mkdtempSync(join(folder, "tokenizer-"));
  writeFileSync(join(made, "tokenizer_config.json"), "{}");
  const tokenizer = {
    added_tokens: [],
    post_processor: { type: "TemplateProcessing" },
    model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] },
  };
  writeFileSync(join(made, "tokenizer.json"), JSON.stringify(tokenizer));
  expect(() => loadTokenizer(made)).toThrow(ModelFileError);
  expect(() => loadTokenizer(made)).toThrow(/cannot be used as a tokenizer/);
});
