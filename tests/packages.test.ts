/**
 * @file What CI asks about the packages that this one brings along: known holes fail it, a registry that does not answer that is
 * a visible line, and the inventory has all of them.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "openmanus-packages-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a tool, with `npm` answering this where it is given. */
function run(tool: string, words: readonly string[], answer?: { text: string; code: number }) {
  if (answer) {
    writeFileSync(join(folder, "answer"), answer.text);
    writeFileSync(join(folder, "npm"), `#!/bin/sh\ncat '${folder}/answer'\nexit ${answer.code}\n`);
    chmodSync(join(folder, "npm"), 0o755);
  }
  const path = `${answer ? folder + delimiter : ""}${process.env.PATH}`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", join("tools/packages", tool), ...words],
    { cwd: ROOT, encoding: "utf8", env: { ...process.env, PATH: path }, maxBuffer: 2 ** 26 },
  );
  return { status, stdout, stderr };
}

const report = (severity: string) =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities: { leaky: { severity } } });

it.each([
  ["a hole that is high", report("high"), 1, 1, /leaky: high/],
  ["one that is critical", report("critical"), 1, 1, /leaky: critical/],
  ["one that is moderate", report("moderate"), 1, 0, /no package .* 1 have lesser ones/],
  ["none", '{"vulnerabilities":{}}', 0, 0, /no package/],
  [
    ...["a registry without audits", '{"statusCode":405,"message":"405 Method Not Allowed"}', 1, 0],
    /^skipped: .* the registry offers no audits \(405\): 405 Method Not Allowed$/m,
  ],
  [
    ...["no network", '{"message":"request to http://somewhere.example/-/npm failed"}', 1, 0],
    /^skipped: .* the registry cannot be asked: request to \/-\/npm failed$/m,
  ],
  ["something else", "<html>", 0, 1, /no answer that can be read/],
] as [string, string, number, number, RegExp][])(
  "audit: %s",
  (_, text, code, expected, sentence) => {
    const { status, stdout } = run("audit.ts", [], { text, code });
    expect(stdout).toMatch(sentence);
    expect(status).toBe(expected);
  },
);

it("the inventory has every dependency, and nothing that only development needs", () => {
  const { status, stdout, stderr } = run("sbom.ts", []);
  expect(status, stderr).toBe(0);
  const names = (JSON.parse(stdout) as { components: { name: string }[] }).components.map(
    ({ name }) => name,
  );
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  expect(names).not.toContain("vitest");
});
