/**
 * @file The page's files. The package has them built (web/dist); in a checkout they are built from web/page when they are
 * asked for and a source has changed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PageFile {
  readonly content: string;
  readonly type: string;
}

const WEB = fileURLToPath(new URL("../../web/", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
};

/** Undefined: there is no such file. */
export function pageFile(name: string): PageFile | undefined {
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) return undefined;
  return { type, content: pageFiles()[name]! };
}

/** All of them, by name. */
export function pageFiles(): Readonly<Record<string, string>> {
  const folder = join(WEB, "dist");
  if (existsSync(join(WEB, "page")) && isStale(folder)) build();
  return Object.fromEntries(
    Object.keys(TYPES).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
}

/** In a process of its own: what builds is a tool of the checkout, and no part of the package. */
function build(): void {
  const script = join(WEB, "build.ts");
  const { status, stderr } = spawnSync(process.execPath, ["--import", "tsx", script], {
    cwd: WEB,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${script}: the page could not be built:\n${stderr}`);
}

/** Whether a source is younger than what was built of it. */
function isStale(folder: string): boolean {
  const made = join(folder, "page.js");
  if (!existsSync(made)) return true;
  const { mtimeMs } = statSync(made);
  return readdirSync(join(WEB, "page"), { recursive: true, encoding: "utf8" }).some(
    (name) => statSync(join(WEB, "page", name)).mtimeMs > mtimeMs,
  );
}
