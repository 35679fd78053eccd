/**
 * @file A full disk under what searches found, under TensorBoard's events, a run's log, and under the file that says which MLflow run it is:
 * a sentence with the file's name, nothing half-written, and more goes in when there is room.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openRunLog, openTensorBoard, readRunLog } from "../../src/monitoring/index.ts";
import { writeRunFile } from "../../src/monitoring/mlflow/run-file.ts";
import { appendFindings, readFindings } from "../../src/rollout/index.ts";
import { readEvents } from "../monitoring/event-reader.ts";
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

  it("under TensorBoard's events, also the first of a file", () => {
    const disk = smallDisk(1);
    const board = openTensorBoard(join(disk.folder, "board"));
    // More than a page: a part of it fits where the file's last page has room.
    const metrics = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`metric/${i}`, i]));
    board.log(1, metrics);
    const before = readFileSync(board.file);
    disk.fill();
    expect(() => board.log(2, metrics)).toThrow(SENTENCE);
    expect(() => board.log(2, metrics)).toThrow(board.file);
    expect(board.lastStep).toBe(1);
    expect(readFileSync(board.file).equals(before)).toBe(true);
    expect(() => openTensorBoard(join(disk.folder, "other"))).toThrow(SENTENCE);
    disk.free();
    board.log(2, metrics);
    board.close();
    expect(readEvents(readFileSync(board.file)).map(({ step }) => step)).toEqual([undefined, 1, 2]);
    const again = openTensorBoard(join(disk.folder, "other"));
    again.log(1, metrics);
    again.close();
    expect(readEvents(readFileSync(again.file)).map(({ step }) => step)).toEqual([undefined, 1]);
  });

  it("under the log of a run that died while it wrote a line", () => {
    const disk = smallDisk(1);
    const file = join(disk.folder, "log.jsonl");
    const torn = "x".repeat(4096);
    writeFileSync(file, torn);
    disk.fill();
    // Where it stays open, the disk cannot be unmounted.
    expect(() => openRunLog(file)).toThrow(SENTENCE);
    expect(readFileSync(file, "utf8")).toBe(torn);
    disk.free();
    const log = openRunLog(file);
    log.said("again");
    log.close();
    expect(readRunLog(file)).toMatchObject([{ kind: "said", text: "again" }]);
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
