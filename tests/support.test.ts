/**
 * @file What tests do without the shared folder: they say so, in one line.
 */
import { expect, it } from "vitest";
import { isOurs } from "./support/shared.ts";
import { skippedLine } from "./support/skipped.ts";

it("says in one line what was skipped, each file once", () => {
  expect(skippedLine("")).toBeUndefined();
  expect(skippedLine("golden/a.json\ttests/b.test.ts\n")).toBe(
    "skipped without ../shared: what needs 1 file of golden data, in 1 test file (tests/b.test.ts)",
  );
  const notes = "g/a\ttests/b.test.ts\ng/c\ttests/b.test.ts\ng/a\ttests/a.test.ts\n";
  expect(skippedLine(notes + notes)).toMatch(
    /what needs 2 files of golden data, in 2 test files \(tests\/a.test.ts, tests\/b.test.ts\)$/,
  );
});

it.each([
  ["true", true, true],
  ["true", false, false],
  [undefined, true, false],
  ["", false, false],
])("CI=%s, the folder there: %s; a missing file is a failure: %s", (ci, hasFolder, isFailure) => {
  expect(isOurs(ci, hasFolder)).toBe(isFailure);
});
