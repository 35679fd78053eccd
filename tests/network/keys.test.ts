/**
 * @file Keys, from variables and files.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isKeyPlace, keyAt, NetworkError } from "../../src/network/index.ts";

it("come from a variable that is set", () => {
  expect(keyAt("key", "env:KEY", { KEY: " a-key \n" })).toBe("a-key");
  for (const variables of [{}, { KEY: "" }, { KEY: "  " }])
    expect(() => keyAt("key", "env:KEY", variables)).toThrow(/variable KEY,.* is not set or empty/);
});

it("come from a file's first line, without the white space around them", () => {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = (text: string) => {
    const path = join(folder, "key");
    writeFileSync(path, text);
    return `file:${path}`;
  };
  expect(keyAt("key", file("a-key\nof mine\n"))).toBe("a-key");
  expect(() => keyAt("key", file(" \n"))).toThrow(/is not set or empty/);
  expect(() => keyAt("key", `file:${join(folder, "none")}`)).toThrow(/cannot be read \(ENOENT\)/);
  expect(() => keyAt("key", `file:${folder}`)).toThrow(NetworkError);
});

it("in plain text are refused, and not shown", () => {
  for (const key of ["sk-12345", "env:", "env:1A", "env:A B", "file:", ""]) {
    expect(isKeyPlace(key)).toBe(false);
    expect(() => keyAt("key", key)).toThrow(/looks like a key in plain text; write env:NAME/);
    if (key.startsWith("sk")) expect(() => keyAt("key", key)).not.toThrow(key);
  }
});

it("that no header could carry are refused, and not shown", () => {
  for (const key of ["two words", "umläut", "line\nline", "x".repeat(5000)]) {
    const read = () => keyAt("key", "env:KEY", { KEY: key });
    expect(read).toThrow(/the key in the environment variable KEY must be 1 to 4096 letters/);
    expect(read).not.toThrow(key);
  }
});
