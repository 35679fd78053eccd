/** @file Where builds are kept, and whom that folder must belong to. */

import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildPlace, userCache } from "../../../src/setup/cache/folder.ts";
import { SetupError } from "../../../src/setup/support/errors.ts";
import { temporaryFolder, writeFiles } from "../fakes.ts";

const permissions = (path: string) => statSync(path).mode & 0o777;

describe("userCache", () => {
  it("follows OPENMANUS_CACHE, then XDG_CACHE_HOME, then the home folder", () => {
    const variables = { OPENMANUS_CACHE: "/a", XDG_CACHE_HOME: "/b", HOME: "/c" };
    expect(userCache(variables)).toBe("/a");
    expect(userCache({ ...variables, OPENMANUS_CACHE: "" })).toBe("/b/openmanus-rl");
    expect(userCache({ XDG_CACHE_HOME: "relative", HOME: "/c" })).toBe("/c/.cache/openmanus-rl");
    expect(userCache({})).toBe(join(homedir(), ".cache/openmanus-rl"));
  });
});

describe("buildPlace", () => {
  it("makes a folder that is the user's alone", () => {
    const cache = join(temporaryFolder(), "new");
    const { folder, note } = buildPlace(temporaryFolder(), { OPENMANUS_CACHE: cache });
    expect({ folder, note }).toEqual({ folder: join(cache, "native"), note: undefined });
    expect(permissions(cache)).toBe(0o700);
    expect(permissions(folder)).toBe(0o700);
  });

  it("takes from others what would let them put a library there", () => {
    const cache = temporaryFolder();
    mkdirSync(join(cache, "native"));
    chmodSync(cache, 0o775);
    chmodSync(join(cache, "native"), 0o777);
    const { folder } = buildPlace(temporaryFolder(), { OPENMANUS_CACHE: cache });
    // The cache itself may hold more than builds, which others may go on reading.
    expect(permissions(cache)).toBe(0o755);
    expect(permissions(folder)).toBe(0o700);
  });

  it.runIf(process.getuid?.() === 0)("leaves a folder of somebody else's aside", () => {
    const root = temporaryFolder();
    for (const name of ["", "native"]) {
      const cache = temporaryFolder();
      mkdirSync(join(cache, "native"));
      chownSync(join(cache, name), 12345, 12345);
      const { folder, note } = buildPlace(root, { OPENMANUS_CACHE: cache });
      expect(folder).toBe(join(root, "build/native"));
      expect(note).toBe(
        `${join(cache, name)} belongs to another user (12345); building in ${folder} instead`,
      );
    }
  });

  it("says what to do when there is no place at all", () => {
    const root = writeFiles(temporaryFolder(), { build: "", cache: "" });
    const attempt = () => buildPlace(root, { OPENMANUS_CACHE: join(root, "cache") });
    expect(attempt).toThrow(SetupError);
    expect(attempt).toThrow(/no folder to build in: .*cache .*, and .*build.*OPENMANUS_CACHE/);
  });
});
