/**
 * @file `openmanus-rl init NAME`: a project of one's own, with a world, a training and tests that work.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { OptionError } from "../../assembly/index.ts";
import { worldDefinitions } from "../../environments/index.ts";
import { optionsAndWords, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { asDependency, type Manifest, originOf, readManifest } from "../support/own-package.ts";
import { print } from "../support/print.ts";

/** As far up from dist/cli/commands as from src/cli/commands. */
const PACKAGE = fileURLToPath(new URL("../../..", import.meta.url));
const TEMPLATE = join(PACKAGE, "templates/project");
/** What stands in the template for the name. */
const PLACEHOLDER = /my-world/g;

export const init: Command = {
  help: [
    "Usage: openmanus-rl init NAME [--folder PARENT]",
    "",
    "Makes a folder NAME with a project of your own: a small world with tests, a program that trains an agent",
    "in it in less than a minute, and a README that says what to change first. The world gets the name, too.",
    "",
    "  --folder PARENT   the folder in which NAME is made (this one)",
    "",
    "Example: openmanus-rl init my-world && cd my-world && npm install",
  ].join("\n"),
  run(given) {
    const { values, words } = optionsAndWords(given, { folder: { type: "string", default: "." } });
    const [name, ...others] = words;
    if (name === undefined) throw new UsageError("init needs a NAME for the project.");
    if (others.length > 0) throw new UsageError(`init takes one NAME, and no "${others[0]}".`);
    const own = readManifest(PACKAGE);
    requireName(name, own);
    const folder = join(values.folder, name);
    makeProject(folder, name, own);
    print(nextSteps(relative("", folder)));
    return 0;
  },
};

/** Names that npm takes and that are folders, too. */
const PACKAGE_NAME = /^[a-z0-9][a-z0-9._-]*$/;
const LONGEST_NAME = 214;

function requireName(name: string, own: Manifest): void {
  if (!PACKAGE_NAME.test(name) || name.length > LONGEST_NAME)
    throw new UsageError(
      `"${name}" cannot be the name of a package; expected small letters, digits, "-", "_" and ".", ` +
        "beginning with a letter or a digit: my-world",
    );
  const packages = [own.name, ...projectPackages(), ...builtinModules, "node_modules"];
  if (packages.includes(name))
    throw new UsageError(`"${name}" is the name of another package; choose one of your own.`);
  const worlds = worldDefinitions().flatMap((world) => [world.name, ...(world.aliases ?? [])]);
  // A trained model's folder says where it acts by name alone: it would be taken for that other world.
  if (worlds.some((world) => world.toLowerCase() === name))
    throw new UsageError(`"${name}" is a world that comes with ${own.name}; choose another name.`);
}

function projectPackages(): string[] {
  return Object.keys(readManifest(TEMPLATE).devDependencies ?? {});
}

function makeProject(folder: string, name: string, own: Manifest): void {
  const isNew = !existsSync(folder);
  if (!isNew && !(statSync(folder).isDirectory() && readdirSync(folder).length === 0))
    throw new OptionError(
      `${folder} is there already and not an empty folder; choose another NAME, or another place ` +
        "(--folder PARENT).",
    );
  try {
    mkdirSync(folder, { recursive: true });
    for (const file of readdirSync(TEMPLATE)) {
      const text = readFileSync(join(TEMPLATE, file), "utf8").replace(PLACEHOLDER, name);
      const manifest = () => ({ ...JSON.parse(text), ...dependenciesFor(folder, own) });
      const written = file === "package.json" ? `${JSON.stringify(manifest(), null, 2)}\n` : text;
      // npm packs no .gitignore, and takes one for a list of what not to pack.
      writeFileSync(join(folder, file === "gitignore" ? ".gitignore" : file), written);
    }
  } catch (error) {
    // What is half there would be in the way of the next try.
    if (isNew && existsSync(folder)) rmSync(folder, { recursive: true });
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new OptionError(`${folder} cannot be made (${(error as Error).message}).`);
  }
}

/** This package, and of what the project needs besides, the versions that this package is made with. */
function dependenciesFor(folder: string, own: Manifest) {
  const versions = { ...own.devDependencies, ...own.dependencies };
  return {
    dependencies: { [own.name]: asDependency(originOf(PACKAGE), folder) },
    devDependencies: Object.fromEntries(
      projectPackages().map((one) => [one, versions[one] ?? "*"]),
    ),
  };
}

function nextSteps(folder: string): string {
  const files = readdirSync(folder);
  const tarball = files.find((file) => file.endsWith(".tgz"));
  return [
    `Made ${folder}: ${files.join(", ")}.`,
    ...(tarball
      ? [`${tarball} is openmanus-rl itself, as it runs here; keep it with the rest.`]
      : []),
    "",
    "Next:",
    `  cd ${folder}`,
    "  npm install",
    "  npx openmanus-rl setup   # once: finds a libtorch and builds the native addon",
    "  npm run train            # less than a minute: success before and after",
    "",
    "README.md says what to change first.",
  ].join("\n");
}
