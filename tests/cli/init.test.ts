/**
 * @file `init`: what it refuses, what it makes, and how the project it makes comes by this package.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { asDependency, originOf } from "../../src/cli/support/own-package.ts";
import { runCommand } from "../../src/setup/support/command.ts";
import { temporaryFolder, writeFiles } from "../setup/fakes.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const TEMPLATE = join(CHECKOUT, "templates/project");

describe("init refuses", () => {
  let errors: string[];
  beforeEach(() => {
    errors = [];
    vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
  });
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ["Desk", /"Desk" cannot be the name of a package; expected small letters/],
    ["a desk", /cannot be the name of a package/],
    ["../desk", /cannot be the name of a package/],
    [".desk", /cannot be the name of a package/],
    ["@me/desk", /cannot be the name of a package/],
    ["", /cannot be the name of a package/],
    ["x".repeat(215), /cannot be the name of a package/],
    ["openmanus-rl", /"openmanus-rl" is the name of another package/],
    ["tsx", /is the name of another package/],
    ["fs", /is the name of another package/],
    ["maze", /"maze" is a world that comes with openmanus-rl; choose another name/],
    ["lmrlgym_maze", /is a world that comes with openmanus-rl/],
  ])("the name %j, and makes nothing", async (name, message) => {
    const folder = temporaryFolder();
    expect(await main(["init", name, "--folder", folder])).toBe(2);
    expect(errors.join("\n")).toMatch(message);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("no name, and two", async () => {
    expect(await main(["init"])).toBe(2);
    expect(await main(["init", "one", "two"])).toBe(2);
    expect(errors.join("\n")).toMatch(/needs a NAME[\s\S]*no "two"/);
  });

  it("a folder with something in it, and a file, and leaves both as they are", async () => {
    const folder = writeFiles(temporaryFolder(), { "desk/mine.txt": "mine", box: "a file" });
    for (const name of ["desk", "box"]) {
      errors = [];
      expect(await main(["init", name, "--folder", folder])).toBe(1);
      expect(errors.join("\n")).toMatch(/is there already and not an empty folder; choose another/);
    }
    expect(readdirSync(join(folder, "desk"))).toEqual(["mine.txt"]);
    expect(readFileSync(join(folder, "box"), "utf8")).toBe("a file");
  });

  it("a place where nothing can be made", async () => {
    const folder = writeFiles(temporaryFolder(), { file: "" });
    expect(await main(["init", "desk", "--folder", join(folder, "file")])).toBe(1);
    expect(errors.join("\n")).toMatch(/desk cannot be made \(/);
  });
});

describe("the template", () => {
  const desk = (file: string) => readFileSync(join(CHECKOUT, "examples/desk", file), "utf8");
  const filled = (file: string) =>
    readFileSync(join(TEMPLATE, file), "utf8").replaceAll("my-world", "desk");

  it.each(["world.ts", "train.ts"])("is examples/desk under another name: %s", (file) => {
    expect(filled(file)).toBe(desk(file));
  });

  it("trains in a program of at most twenty lines", () => {
    const code = desk("train.ts").slice(desk("train.ts").indexOf("import"));
    expect(code.trim().split("\n").length).toBeLessThanOrEqual(20);
  });

  it("names only packages whose versions this package knows", () => {
    const read = (folder: string) =>
      JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
        dependencies: object;
        devDependencies: object;
      };
    const [own, template] = [read(CHECKOUT), read(TEMPLATE)];
    expect(Object.keys(template.dependencies)).toEqual(["openmanus-rl"]);
    for (const name of Object.keys(template.devDependencies))
      expect({ ...own.dependencies, ...own.devDependencies }).toHaveProperty(name);
  });
});

describe("a project depends on this package", () => {
  const manifest = JSON.stringify({ name: "openmanus-rl", version: "1.2.3" });
  /** A project that asked for the package like this, and has it installed. */
  const installedAs = (wanted: string, place = "node_modules/openmanus-rl") => {
    const folder = writeFiles(temporaryFolder(), {
      "project/package.json": JSON.stringify({ dependencies: { "openmanus-rl": wanted } }),
      [`project/${place}/package.json`]: manifest,
      "the.tgz": "a tarball",
      "packed/package.json": manifest,
      "packed/index.js": "",
    });
    return { folder, root: join(folder, "project", place) };
  };

  it.each(["^1.0.0", "1.2.3", "latest", "*"])("by version where it asked for %s", (wanted) => {
    expect(originOf(installedAs(wanted).root)).toEqual({ kind: "named", name: "^1.2.3" });
  });

  it.each([
    "git+https://example.org/a/b.git#v1",
    "github:a/b",
    "https://example.org/openmanus-rl-1.2.3.tgz",
  ])("by address where it asked for %s", (wanted) => {
    expect(originOf(installedAs(wanted).root)).toEqual({ kind: "named", name: wanted });
  });

  it("by version where nobody asked (a global installation), or the file is gone", () => {
    const folder = writeFiles(temporaryFolder(), { "lib/openmanus-rl/package.json": manifest });
    const byVersion = { kind: "named", name: "^1.2.3" };
    expect(originOf(join(folder, "lib/openmanus-rl"))).toEqual(byVersion);
    expect(originOf(installedAs("file:../gone.tgz").root)).toEqual(byVersion);
    expect(asDependency(originOf(installedAs("^1").root), folder)).toBe("^1.2.3");
  });

  it.each(["file:../the.tgz", "../the.tgz"])("by a copy of the tarball (%s)", (wanted) => {
    const { folder, root } = installedAs(wanted);
    const origin = originOf(root);
    expect(origin).toEqual({ kind: "tarball", path: join(folder, "the.tgz") });
    const project = temporaryFolder();
    expect(asDependency(origin, project)).toBe("file:the.tgz");
    expect(readFileSync(join(project, "the.tgz"), "utf8")).toBe("a tarball");
  });

  it("also where a package manager puts links between", () => {
    const place = "node_modules/.pnpm/openmanus-rl@1/node_modules/openmanus-rl";
    const { folder, root } = installedAs("file:../the.tgz", place);
    expect(originOf(root)).toEqual({ kind: "tarball", path: join(folder, "the.tgz") });
  });

  it("by a tarball of the folder that it came from", async () => {
    const origin = originOf(installedAs("file:../packed").root);
    const project = temporaryFolder();
    expect(asDependency(origin, project)).toBe("file:openmanus-rl-1.2.3.tgz");
    const { stdout } = await runCommand("tar", ["-tf", join(project, "openmanus-rl-1.2.3.tgz")]);
    expect(stdout.trim().split("\n").sort()).toEqual(["package/index.js", "package/package.json"]);
  });

  it("a checkout is such a folder, wherever it lies", () => {
    expect(originOf(CHECKOUT)).toEqual({ kind: "folder", path: CHECKOUT });
  });

  it("a folder that cannot be packed is an error with npm's reason", () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "broken"));
    writeFileSync(join(folder, "broken/package.json"), "{");
    const pack = () => asDependency({ kind: "folder", path: join(folder, "broken") }, folder);
    expect(pack).toThrow(/npm could not pack .*broken[\s\S]*Correct the cause and try again/);
    expect(existsSync(join(folder, "openmanus-rl-1.2.3.tgz"))).toBe(false);
  });
});
