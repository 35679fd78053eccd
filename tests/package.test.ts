/**
 * @file The package as users get it: what is in it, and set-up, commands and imports where it is
 * installed.
 */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { runCommand } from "../src/setup/support/command.ts";
import { type InstalledPackage, installedPackage } from "./support/installed.ts";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
  exports: Record<string, unknown>;
}

let installed: InstalledPackage;
let root: string;
let manifest: Manifest;

beforeAll(async () => {
  installed = await installedPackage();
  root = join(installed.folder, "node_modules/openmanus-rl");
  manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
}, 120_000);
afterAll(() => installed?.remove());

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe("the package", () => {
  it("has the compiled library, the command, the C++ sources, the pages and the examples", () => {
    expect(readdirSync(root).sort()).toEqual(
      [
        ...["CHANGELOG.md", "LICENSE", "README.md", "package.json"],
        ...["bin", "dist", "docs", "examples", "native", "templates", "tests", "web"],
      ].sort(),
    );
    expect(readdirSync(join(root, "web"))).toEqual(["dist"]);
    expect(existsSync(join(root, "src"))).toBe(false);
    expect(existsSync(join(root, "native/addon.cc"))).toBe(true);
    expect(existsSync(join(root, "docs/configuration.md"))).toBe(true);
    expect(statSync(join(root, "bin/openmanus-rl.mjs")).mode & 0o111).not.toBe(0);
  });

  it("says nothing about the machine that it was made on", () => {
    for (const file of filesBelow(root)) {
      const text = readFileSync(file, "utf8");
      for (const place of [CHECKOUT, inject("packedFolder")])
        expect(text.includes(place), `${file} names ${place}`).toBe(false);
    }
  });

  it("has source maps that show the sources without them", () => {
    const map = JSON.parse(readFileSync(join(root, "dist/cli/main.js.map"), "utf8")) as {
      sourcesContent: string[];
    };
    expect(map.sourcesContent).toEqual([readFileSync(join(CHECKOUT, "src/cli/main.ts"), "utf8")]);
  });

  it("is linked to its dependencies and nothing else", () => {
    const names = readdirSync(join(installed.folder, "node_modules")).flatMap((name) =>
      name.startsWith("@")
        ? readdirSync(join(installed.folder, "node_modules", name)).map((part) => `${name}/${part}`)
        : [name],
    );
    const expected = [".bin", "openmanus-rl", ...Object.keys(manifest.dependencies)];
    expect(names.sort()).toEqual(expected.sort());
  });
});

// In this order: the first of these run before set-up, the others after it.
describe("where it is installed", () => {
  it("commands that need the addon say in one line what to do, and the others work", async () => {
    for (const words of [["train"], ["demo"], ["start"], ["sft", "--out", "x"]]) {
      expect(await installed.run(words)).toEqual({
        status: 1,
        stdout: "",
        stderr: `openmanus-rl ${words[0]}: the native addon has not been built here. Run: npx openmanus-rl setup\n`,
      });
    }
    for (const words of [["--help"], ["train", "--help"], ["env", "list"], ["data", "list"]]) {
      const { status, stdout, stderr } = await installed.run(words);
      expect({ status, stderr }, words.join(" ")).toEqual({ status: 0, stderr: "" });
      expect(stdout).not.toBe("");
    }
  });

  it("doctor says before set-up what is there and what to do", async () => {
    const { status, stdout } = await installed.run(["doctor"]);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^node +v\d+/m);
    expect(stdout).toMatch(/^libtorch +\d+\.\d+/m);
    expect(stdout).toMatch(/^compiler +\S*(?:g\+\+|clang|c\+\+)/m);
    expect(stdout).toMatch(/! Not ready: .*Run: npx openmanus-rl setup$/m);
    const json = await installed.run(["doctor", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ ready: false, node: process.version });
  });

  it("setup makes it ready, once", async () => {
    const first = await installed.run(["setup"]);
    expect(first).toMatchObject({ status: 0, stderr: "" });
    expect(first.stdout).toMatch(/setup: (?:built native|the native addon is there already)/);
    const second = await installed.run(["setup"]);
    expect(second.status).toBe(0);
    expect(second.stdout).toMatch(/^setup: ready, libtorch \S+ \(\w+\)\n$/);
  }, 170_000);

  it("doctor, --version and an engine that computes", async () => {
    const doctor = await installed.run(["doctor", "--json"]);
    expect(doctor.stderr).toBe("");
    expect(JSON.parse(doctor.stdout)).toMatchObject({ ready: true, devices: ["cpu"] });
    for (const word of ["--version", "-v"])
      expect((await installed.run([word])).stdout).toBe(`${manifest.version}\n`);
  });

  it("doctor --check finds the goldens that it compares with", async () => {
    const { status, stdout } = await installed.run(["doctor", "--device", "cpu", "--check"]);
    expect(stdout).toContain("cpu computes what it should.");
    expect(status).toBe(0);
  }, 180_000);

  it("everything that it exports can be imported", async () => {
    const names = Object.keys(manifest.exports).filter(
      (name) =>
        name !== "./package.json" && (name !== "." || existsSync(join(CHECKOUT, "src/library"))),
    );
    const program = `
      for (const name of ${JSON.stringify(names)}) {
        const found = await import("openmanus-rl" + name.slice(1));
        console.log(name, Object.keys(found).length > 0);
      }
      const torch = await import("openmanus-rl/torch");
      console.log(torch.ones([2, 3]).sum().item());`;
    writeFileSync(join(installed.folder, "imports.mjs"), program);
    const { stdout, stderr } = await runCommand(process.execPath, ["imports.mjs"], {
      folder: installed.folder,
    });
    expect(stderr).toBe("");
    expect(stdout).toBe([...names.map((name) => `${name} true`), "6", ""].join("\n"));
    const require = createRequire(join(installed.folder, "x.js"));
    expect(require("openmanus-rl/package.json")).toMatchObject({ version: manifest.version });
  });

  it("a world in TypeScript uses the very library that the command runs", async () => {
    // No "type": "module" in the project's package.json: npm init writes none.
    const world = `
      import { defineEnvironment, EnvironmentError } from "openmanus-rl/environments";
      import { answer } from "./answer.ts";
      const own: unknown = await import("./node_modules/openmanus-rl/dist/environments/index.js");
      if ((own as { EnvironmentError: unknown }).EnvironmentError !== EnvironmentError)
        throw new Error("there are two libraries");
      export default defineEnvironment({
        name: "one-word",
        summary: "say the word",
        maximumSteps: 2,
        splits: { train: 3 },
        start: () => ({}),
        intro: () => answer,
        act: () => ({ text: answer, won: true }),
      });`;
    writeFileSync(join(installed.folder, "world.ts"), world);
    writeFileSync(
      join(installed.folder, "answer.ts"),
      'export const answer: string = "well said";',
    );
    const { stderr } = await installed.run(["play", "./world.ts", "--splt", "train"]);
    expect(stderr).toMatch(/there is no option --splt; did you mean --split\?/);
    const shown = await installed.run(["env", "show", "./world.ts"]);
    expect(shown.stderr).toBe("");
    expect(shown.stdout).toMatch(/^one-word: say the word$[\s\S]*well said/m);
    const isolated = ["env", "verify", "./world.ts", "--isolate", "1"];
    expect((await installed.run(isolated)).stdout).toMatch(/3 of 3 tasks begin/);
  });

  it("its types are found", async () => {
    writeFileSync(
      join(installed.folder, "typed.mts"),
      `import { ones, type Tensor } from "openmanus-rl/torch";
      export const tensor: Tensor = ones([2]);
      // @ts-expect-error: a tensor is no number, so the type is really there.
      export const number: number = ones([2]);
      `,
    );
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"];
    const compiler = join(CHECKOUT, "node_modules/.bin/tsc");
    const result = await runCommand(compiler, [...options, "--target", "es2023", "typed.mts"], {
      folder: installed.folder,
    });
    expect(result).toMatchObject({ status: 0, stdout: "" });
  });
});
