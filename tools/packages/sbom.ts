/**
 * @file `npm run sbom`: an inventory of everything that the package brings along, in CycloneDX's form. Of npm's own inventory of
 * all that is installed, what only development needs is left out here: `npm sbom --omit dev` also leaves out what both need.
 * Every package that package-lock.json has for users must be in it.
 *
 *   --check    prints one line instead
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Inventory {
  readonly components: readonly Component[];
  readonly dependencies: readonly {
    readonly ref: string;
    readonly dependsOn?: readonly string[];
  }[];
  readonly metadata: { readonly component: Component };
}

interface LockFile {
  readonly packages: Readonly<
    Record<string, { version: string; dev?: true; devOptional?: true; optional?: true }>
  >;
}

const DEVELOPMENT = "cdx:npm:package:development";

const { stdout, stderr, status } = spawnSync("npm", ["sbom", "--sbom-format", "cyclonedx"], {
  encoding: "utf8",
  maxBuffer: 2 ** 28,
});
if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`);
const all = JSON.parse(stdout) as Inventory;
const components = all.components.filter(
  ({ properties = [] }) => !properties.some(({ name }) => name === DEVELOPMENT),
);
const missing = expected().filter((name) => !components.map(named).includes(name));
if (missing.length > 0) {
  console.error(`the inventory lacks ${missing.join(", ")}, which package-lock.json has for users`);
  process.exitCode = 1;
} else if (process.argv.includes("--check")) {
  console.log(`the inventory has ${components.length} packages, all that come with this one`);
} else {
  const kept = new Set([all.metadata.component, ...components].map((one) => one["bom-ref"]));
  const dependencies = all.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((on) => kept.has(on)) }));
  console.log(JSON.stringify({ ...all, components, dependencies }, null, 2));
}

function named({ name, version }: Pick<Component, "name" | "version">): string {
  return `${name}@${version}`;
}

/** What users get, but for what is only for other systems than theirs. */
function expected(): string[] {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as LockFile;
  return Object.entries(lock.packages).flatMap(([path, { version, dev, devOptional, optional }]) =>
    path === "" || dev || devOptional || optional
      ? []
      : [named({ name: path.split("node_modules/").at(-1)!, version })],
  );
}
