/**
 * @file What a marker says was made is all that is ever replaced or removed.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MARKER_FILE, makeFolder, ownedFolder } from "../../src/folders/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

function make(folder: string, ...names: string[]): void {
  for (const name of names) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "content"), name);
  }
}

const visible = (folder: string) => readdirSync(folder).filter((name) => name !== MARKER_FILE);

it("what is there and not its own is refused by name, and nothing is written", () => {
  const folder = temporaryFolder();
  make(folder, "checkpoints");
  const owned = ownedFolder(folder, "run");
  expect(() => owned.claim(["metrics", "checkpoints"])).toThrow(
    /there is checkpoints already, which no run made in this folder/,
  );
  expect(readdirSync(folder)).toEqual(["checkpoints"]);
});

it("only its own is removed, also by a later process", () => {
  const folder = temporaryFolder();
  make(folder, "notes");
  ownedFolder(folder, "run").claim(["a", "b", "c"]);
  make(folder, "a", "b");
  const later = ownedFolder(folder, "run");
  expect(later.isKnown).toBe(true);
  later.claim(["a"]);
  later.clear(["b"]);
  expect(visible(folder).sort()).toEqual(["b", "notes"]);
});

it("a folder of another kind is refused", () => {
  const folder = temporaryFolder();
  ownedFolder(folder, "rollout").claim(["trajectories"]);
  expect(() => ownedFolder(folder, "run")).toThrow(/is the folder of a rollout, not of a run/);
});

it("a folder is made with those above it, or not at all", () => {
  const parent = temporaryFolder();
  makeFolder(join(parent, "a/b/c"));
  makeFolder(join(parent, "a/b/c"));
  expect(existsSync(join(parent, "a/b/c"))).toBe(true);
  writeFileSync(join(parent, "file"), "");
  for (const place of ["file", "file/below", "file/far/below"])
    expect(() => makeFolder(join(parent, place))).toThrow(/EEXIST|ENOTDIR/);
  // Node's recursive mkdir never comes back from here.
  if (process.platform === "linux")
    for (const place of ["/proc/nowhere", "/proc/nowhere/below"])
      expect(() => makeFolder(place)).toThrow(/ENOENT/);
});

it("where nothing was made, no marker stays", () => {
  const folder = temporaryFolder();
  const owned = ownedFolder(folder, "run");
  owned.claim(["a"]);
  owned.leave();
  expect(readdirSync(folder)).toEqual([]);
});

describe("beginning anew", () => {
  function begun(): string {
    const folder = temporaryFolder();
    make(folder, "notes");
    ownedFolder(folder, "run").claim(["a", "b"]);
    make(folder, "a", "b");
    return folder;
  }

  it("that cannot be: everything is as it was", () => {
    const folder = begun();
    const owned = ownedFolder(folder, "run");
    owned.setAside();
    expect(visible(folder).filter((name) => !name.startsWith("."))).toEqual(["notes"]);
    owned.claim(["a", "c"]);
    make(folder, "a", "c");
    owned.restorePrevious();
    expect(visible(folder).sort()).toEqual(["a", "b", "notes"]);
    expect(readFileSync(join(folder, "a", "content"), "utf8")).toBe("a");
  });

  it("that has begun: what was before is gone", () => {
    const folder = begun();
    const owned = ownedFolder(folder, "run");
    owned.setAside();
    make(folder, "a");
    owned.discardPrevious();
    owned.restorePrevious();
    expect(visible(folder).sort()).toEqual(["a", "notes"]);
  });

  it("that was killed: the next beginning still can go back", () => {
    const folder = begun();
    ownedFolder(folder, "run").setAside();
    make(folder, "a");
    writeFileSync(join(folder, "a", "half"), "");
    const next = ownedFolder(folder, "run");
    next.setAside();
    next.restorePrevious();
    expect(visible(folder).sort()).toEqual(["a", "b", "notes"]);
    expect(existsSync(join(folder, "a", "half"))).toBe(false);
  });
});

describe("a marker that somebody wrote", () => {
  it.each([
    ['{"version":1,"kind":"run","id":"x","made":["../victim"]}'],
    ['{"version":1,"kind":"run","id":"x","made":["/victim"]}'],
    ['{"version":1,"kind":"run","id":"x","made":[".."]}'],
    ['{"version":1,"kind":"run","id":"x","made":["a"],"previous":"../victim"}'],
    ['{"version":1,"kind":"run","id":"x","made":"a"}'],
    ["null"],
    ["{"],
  ])("%s leads nowhere", (text) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, MARKER_FILE), text);
    expect(() => ownedFolder(folder, "run")).toThrow(/cannot be read, so it is not known what/);
  });
});
