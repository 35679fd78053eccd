/**
 * @file Checks the walls between the rooms of src/ (see CONTRIBUTING.md): a room imports only rooms
 * before it in the list, only through their index.ts, only packages we depend on; only src/torch touches
 * the native addon, and only src/config knows verl's tree of settings.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** In the order in which they may know each other: each one only those before it. */
const ROOMS = [
  ...[
    "spelling",
    "setup",
    "processes",
    "folders",
    "network",
    "torch",
    "models",
    "generation",
    "environments",
    "agents",
  ],
  ...[
    "rollout",
    "gateway",
    "algorithms",
    "rewards",
    "monitoring",
    "evaluation",
    "assembly",
    "training",
  ],
  ...["config", "dashboard", "library", "cli"],
];

/** verl's tree of settings ends at the border: only this room may name its sections. */
const BORDER = "config";
const VERL = /actor_rollout_ref/;

/**
 * What only src/torch (and src/setup, which builds it) may do: load a native file, or take the
 * addon's path from locateAddon(). (Its description of the libtorch is for everyone.)
 */
const NATIVE = /\bdlopen\b|\.node["'`]|\baddon\b[^;=]*=\s*locateAddon|locateAddon\([^)]*\)\.addon/;

/** What is wrong with one file of src/; `path` is relative to src/. */
function problemsOf(path: string, text: string, packages: readonly string[]): string[] {
  const room = path.split("/")[0]!;
  const place = ROOMS.indexOf(room);
  if (place < 0) return [`${path}: ${room} is not a known room`];
  const code = withoutComments(text);
  const problems = importsOf(code).flatMap((name): string[] => {
    if (name.startsWith("node:")) return [];
    if (!name.startsWith(".")) {
      return packages.includes(packageName(name)) ? [] : [`${name} is not among the dependencies`];
    }
    const target = normalize(join(dirname(path), name));
    const other = target.split("/")[0]!;
    if (other === room) return [];
    if (!ROOMS.includes(other)) return [`${name} leaves the rooms of src/`];
    if (ROOMS.indexOf(other) > place)
      return [`${room} must not know ${other}, which comes after it`];
    return target === `${other}/index.ts` ? [] : [`${name} does not go through ${other}/index.ts`];
  });
  // In comments and messages, too: whoever stands behind the border must not have to know it.
  if (room !== BORDER && VERL.test(text)) {
    problems.push("names verl's actor_rollout_ref, which only src/config may");
  }
  if (!["setup", "torch"].includes(room) && NATIVE.test(code)) {
    problems.push("only src/torch touches the native addon");
  }
  return problems.map((problem) => `${path}: ${problem}`);
}

/** The specifiers of every import and re-export, types included, and of import() and require(). */
function importsOf(code: string): string[] {
  const patterns = [
    /\b(?:import|export)\b[^"'`;()]*?\bfrom\s*["']([^"']+)["']/g,
    /^\s*import\s*["']([^"']+)["']/gm,
    /\b(?:import|require)\s*\(\s*["'`]([^"'`]+)["'`]/g,
  ];
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1]!));
}

/** Keeps strings, because "//" in one starts no comment. */
function withoutComments(text: string): string {
  const token = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\/\*[\s\S]*?\*\/|\/\/.*$/gm;
  return text.replace(token, (_, string: string | undefined) => string ?? " ");
}

/** "@scope/name/part" belongs to "@scope/name", "name/part" to "name". */
function packageName(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};

describe("the rooms of src/", () => {
  it("keep to their walls", () => {
    const files = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.length).toBeGreaterThan(0);
    const packages = Object.keys(manifest.dependencies);
    const problems = files.flatMap((file) =>
      problemsOf(relative(join(root, "src"), file), readFileSync(file, "utf8"), packages),
    );
    expect(problems).toEqual([]);
  });

  it("are all known", () => {
    const names = readdirSync(join(root, "src"));
    expect(names.filter((name) => !ROOMS.includes(name))).toEqual([]);
  });
});

describe("the checker", () => {
  const check = (path: string, text: string) => problemsOf(path, text, ["tsx", "@scope/name"]);

  it.each([
    [
      "a later room",
      "torch/a.ts",
      'import { x } from "../models/index.ts";',
      /must not know models/,
    ],
    [
      "a type of it",
      "torch/a.ts",
      'import type { X } from "../cli/index.ts";',
      /must not know cli/,
    ],
    ["a re-export", "torch/a.ts", 'export * from "../cli/index.ts";', /must not know cli/],
    ["several lines", "torch/a.ts", 'import {\n  x,\n  y,\n} from "../cli/index.ts";', /know cli/],
    ["a deeper file", "torch/b/c.ts", 'import "../../models/index.ts";', /must not know models/],
    ["import()", "setup/a.ts", 'await import("../torch/index.ts");', /must not know torch/],
    ["a type's import()", "setup/a.ts", 'let x: import("../cli/index.ts").X;', /must not know cli/],
    ["not the door", "models/a.ts", 'import { x } from "../torch/tensor.ts";', /torch\/index\.ts/],
    ["outside src", "models/a.ts", 'import x from "../../bin/x.mjs";', /leaves the rooms/],
    ["an unknown package", "torch/a.ts", 'import x from "left-pad";', /left-pad is not among/],
    ["a part of one", "torch/a.ts", 'import x from "@scope/other/y";', /is not among/],
    [
      "the addon by name",
      "models/a.ts",
      'require("../../build/openmanus.node");',
      /only src\/torch/,
    ],
    ["the addon by stamp", "cli/a.ts", "const { addon } = locateAddon();", /only src/],
    ["the addon's path", "cli/a.ts", "load(locateAddon().addon);", /only src/],
    [
      "verl's tree",
      "training/a.ts",
      "const lr = config.actor_rollout_ref.actor.optim.lr; // as verl",
      /only src\/config may/,
    ],
    ["an unknown room", "utilities/a.ts", "", /utilities is not a known room/],
    ["a file in no room", "a.ts", "", /is not a known room/],
  ])("sees %s", (_, path, text, problem) => {
    expect(check(path, text).join("\n")).toMatch(problem);
  });

  it.each([
    ["its own files", "torch/b/c.ts", 'import { x } from "../d/e.ts";'],
    ["an earlier room's door", "cli/a.ts", 'import { x } from "../torch/index.ts";'],
    [
      "Node and dependencies",
      "cli/a.ts",
      'import "node:fs";\nimport "tsx/esm/api";\nimport "@scope/name";',
    ],
    ["verl's tree at the border", "config/a.ts", "config.actor_rollout_ref.model.path;"],
    ["what set-up knows", "cli/a.ts", "const { libtorch } = locateAddon();"],
    ["comments", "torch/a.ts", '// import "../cli/index.ts"\n/* from "../cli/index.ts" */'],
    ["addresses in strings", "torch/a.ts", 'const x = "https://a"; import "node:os";'],
    ["the word import", "torch/a.ts", 'const x = "how to import things"; // from "nowhere"'],
  ])("allows %s", (_, path, text) => {
    expect(check(path, text)).toEqual([]);
  });
});
