/**
 * @file The package as users have it: packed by npm, and installed into an empty project.
 *
 * Without the network: instead of asking a registry, the checkout's own copies of the dependencies are
 * linked, exactly those that package.json names. So what imports anything else fails here as it would
 * there.
 */

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import {
  type CommandResult,
  type RunOptions,
  runCommand,
} from "../../src/setup/support/command.ts";
import { madeOnce } from "./packed.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));

/** All that `npm pack` reads, its build included. */
const PACKED_FROM = [
  ...["bin", "native", "src", "templates", "web", "package.json", "tsconfig.json"],
  // What doctor --check compares with.
  "tests/models/golden",
  ...["tsconfig.build.json", "README.md", "LICENSE", "CHANGELOG.md", "docs", "examples"],
];

export interface InstalledPackage {
  /** The project: it has node_modules, and a package.json like the one that npm makes. */
  readonly folder: string;
  /** Runs `openmanus-rl` with these words in the project, or in another folder. */
  run(words: readonly string[], options?: RunOptions): Promise<CommandResult>;
  remove(): void;
}

export async function installedPackage(): Promise<InstalledPackage> {
  const temporary = mkdtempSync(join(tmpdir(), "openmanus-installed-"));
  const folder = join(temporary, "project");
  const installed = join(folder, "node_modules/openmanus-rl");
  mkdirSync(installed, { recursive: true });
  const packed = inject("packedFolder");
  const tarball = await madeOnce(packed, () => pack(packed));
  await succeed("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);

  const { bin, dependencies } = JSON.parse(
    readFileSync(join(installed, "package.json"), "utf8"),
  ) as { bin: Record<string, string>; dependencies: Record<string, string> };
  for (const name of Object.keys(dependencies)) {
    link(join(CHECKOUT, "node_modules", name), join(folder, "node_modules", name));
  }
  // Examples are run with it, as npm's `npx tsx` would.
  link(join(CHECKOUT, "node_modules/.bin/tsx"), join(folder, "node_modules/.bin/tsx"));
  for (const [name, file] of Object.entries(bin)) {
    link(join(installed, file), join(folder, "node_modules/.bin", name));
  }
  const manifest = { dependencies: { "openmanus-rl": `file:${tarball}` } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));

  const command = join(folder, "node_modules/.bin/openmanus-rl");
  return {
    folder,
    run: (words, options = {}) =>
      runCommand(process.execPath, [command, ...words], { folder, ...options }),
    remove: () => rmSync(temporary, { recursive: true, force: true }),
  };
}

/** In a copy of the checkout: npm pack builds dist/, and tests leave the checkout as it is. */
async function pack(temporary: string): Promise<string> {
  const source = join(temporary, "source");
  for (const name of PACKED_FROM) {
    cpSync(join(CHECKOUT, name), join(source, name), { recursive: true });
  }
  link(join(CHECKOUT, "node_modules"), join(source, "node_modules"));
  const packing = ["pack", "--json", "--pack-destination", temporary];
  const { stdout } = await succeed("npm", packing, source);
  // What prepack prints comes before the list.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.search(/^\[\s*\{/m))) as [
    { filename: string },
  ];
  return join(temporary, filename);
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

async function succeed(command: string, args: readonly string[], folder?: string) {
  const result = await runCommand(command, args, folder === undefined ? {} : { folder });
  if (result.status === 0) return result;
  throw new Error(`${command} ${args.join(" ")} failed:\n${result.stdout}${result.stderr}`);
}
