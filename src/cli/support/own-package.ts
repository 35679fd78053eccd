/**
 * @file This package as another project's dependency: by its version where it came from a registry, and
 * otherwise as a file that goes into the project, because nobody could find it by its version.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { OptionError } from "../../assembly/index.ts";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Where a package came from. */
export type Origin =
  /** What npm understands: a range of versions, or an address. */
  | { readonly kind: "named"; readonly name: string }
  | { readonly kind: "tarball" | "folder"; readonly path: string };

/** Where the package in this folder came from: what the project that it is installed in asked for. */
export function originOf(root: string): Origin {
  // A checkout has the sources: it is where it came from.
  if (existsSync(join(root, "src"))) return { kind: "folder", path: root };
  const { name, version } = readManifest(root);
  const byVersion = { kind: "named", name: `^${version}` } as const;
  // Not only two folders up: package managers other than npm put links between.
  for (let folder = dirname(root); folder !== dirname(folder); folder = dirname(folder)) {
    if (!existsSync(join(folder, "package.json"))) continue;
    const { dependencies, devDependencies } = readManifest(folder);
    const wanted = dependencies?.[name] ?? devDependencies?.[name];
    if (wanted === undefined) continue;
    if (/^(git|github|gitlab|bitbucket|https?)\b.*[:/]/.test(wanted))
      return { kind: "named", name: wanted };
    if (!/^file:|^[./~]/.test(wanted)) return byVersion;
    const path = resolve(folder, wanted.replace(/^file:/, ""));
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return byVersion;
    return { kind: found.isDirectory() ? "folder" : "tarball", path };
  }
  return byVersion;
}

/** Gives what to write for it into a project's package.json; a file is put into the project first. */
export function asDependency(origin: Origin, project: string): string {
  if (origin.kind === "named") return origin.name;
  if (origin.kind === "folder") return `file:${packed(origin.path, project)}`;
  const file = basename(origin.path);
  copyFileSync(origin.path, join(project, file));
  return `file:${file}`;
}

/** The name of the file that npm makes of a folder. */
function packed(folder: string, project: string): string {
  const args = ["pack", "--json", "--pack-destination", resolve(project)];
  const { status, stdout, stderr, error } = spawnSync("npm", args, {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0)
    throw new OptionError(
      `npm could not pack ${folder}, which the new project depends on:\n` +
        `${error?.message ?? `${stdout}${stderr}`.trim()}\nCorrect the cause and try again.`,
    );
  // What the package's own scripts print comes before the list.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.search(/^\[\s*\{/m))) as [
    { filename: string },
  ];
  return filename;
}
