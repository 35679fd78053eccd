/**
 * @file A full disk under what searches found, and under the file that says which MLflow run it is: a sentence with the file's
 * name, nothing half-written, and more goes in when there is room.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeRunFile } from "../../src/monitoring/mlflow/run-file.ts";
import { appendFindings, readFindings } from "../../src/rollout/index.ts";
import { areDisksMissing, smallDisk } from "../support/disk.ts";

const SENTENCE = /: cannot be written, because there is no space left on the disk .*Free some/;

describe.skipIf(areDisksMissing())("a full disk", () => {
  it("under findings.jsonl", () => {
    const disk = smallDisk(1);
    const file = join(disk.folder, "findings.jsonl");
    const found = (task: string) => ({
      ...{
        task,
        context: "whole" as never,
        tokenizer: "x".repeat(9000),
        preferences: [],
        values: [],
      },
    });
    appendFindings(file, found("first"));
    const before = readFileSync(file);
    disk.fill();
    expect(() => appendFindings(file, found("second"))).toThrow(SENTENCE);
    expect(readFileSync(file).equals(before)).toBe(true);
    disk.free();
    appendFindings(file, found("third"));
    expect(readFindings(file).map(({ task }) => task)).toEqual(["first", "third"]);
  });

  it("under mlflow.json", () => {
    const disk = smallDisk(1);
    const file = join(disk.folder, "mlflow.json");
    const run = { url: "http://a", experiment: "1", run: "2", hasParams: false };
    disk.fill();
    expect(() => writeRunFile(file, run)).toThrow(SENTENCE);
    expect([file, `${file}.new`].map((path) => existsSync(path))).toEqual([false, false]);
    disk.free();
    writeRunFile(file, run);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(run);
  });
});
