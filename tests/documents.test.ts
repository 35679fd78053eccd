/**
 * @file The documents: every link to a file of the repo leads somewhere, and the README's program is the one
 * that the examples' test runs.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Pages that people read; the API reference is made. */
const pages = ["", "docs", "docs/tutorials", "examples/alfworld"]
  .map((folder) => join(root, folder))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((path) => path.endsWith(".md"));

describe("links", () => {
  it.each(pages.map((page) => relative(root, page)))("of %s", (page) => {
    const text = readFileSync(join(root, page), "utf8").replaceAll(/```[\s\S]*?```/g, "");
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^(https?:|mailto:|#)/.test(target));
    const missing = targets.filter(
      (target) => !existsSync(join(root, dirname(page), target.replace(/#.*$/, ""))),
    );
    expect(missing).toEqual([]);
  });
});

describe("the README", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");

  it("shows the program of examples/desk/train.ts, in at most 20 lines", () => {
    const program = readFileSync(join(root, "examples/desk/train.ts"), "utf8");
    const code = program.replace(/^\/\*\*[\s\S]*?\*\/\n/, "");
    expect(readme).toContain(`\`\`\`ts\n${code}\`\`\``);
    expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(20);
  });

  it("names every example of one's own", () => {
    for (const name of readdirSync(join(root, "examples/own")))
      expect(readme).toContain(`examples/own/${name}`);
  });

  it("names every command", async () => {
    const { COMMAND_NAMES } = await import("../src/cli/main.ts");
    for (const name of COMMAND_NAMES.filter((one) => one !== "demo"))
      expect(readme).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, "m"));
  });
});
