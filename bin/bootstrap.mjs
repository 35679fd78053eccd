/**
 * @file Makes the package ready to run: npm's packages (in a checkout), then the native addon
 * (src/setup).
 *
 * Plain JavaScript without dependencies, because it runs before anything is installed. `npm start`,
 * `npm test` and `npm run bench` call it first, and so does `openmanus-rl setup`. The usual case,
 * nothing to do, takes no longer than starting Node: it compares the facts that the last set-up wrote
 * down (src/setup/stamp/facts.ts).
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = 20;
const root = fileURLToPath(new URL("..", import.meta.url));
const build = join(root, "build/native");
const say = (line) => console.log(`setup: ${line}`);

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function readJson(path) {
  try {
    return JSON.parse(readText(path));
  } catch {
    return undefined;
  }
}

/** See src/setup/stamp/facts.ts, which writes what this compares. */
function signature(path) {
  try {
    const found = statSync(path);
    return `${found.mtimeMs}:${found.size}`;
  } catch {
    return "missing";
  }
}

/** The last set-up's stamp if everything it depended on is as it was. */
function currentStamp() {
  const wish = process.env.OPENMANUS_LIBTORCH;
  const name = wish && createHash("sha256").update(wish).digest("hex").slice(0, 16);
  const stamp = readJson(join(build, name ? `current-${name}.json` : "current.json"));
  if (!stamp?.facts || !existsSync(stamp.addon)) return undefined;
  const { node, cpuFlags, environment, files } = stamp.facts;

  const flags = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(readText("/proc/cpuinfo"))?.[1];
  const path = (process.env.PATH ?? "").split(delimiter);
  const now = {
    ...process.env,
    PATH: path.filter((folder) => !folder.includes("node_modules")).join(delimiter),
  };
  const same =
    node === process.version &&
    cpuFlags === (flags ?? "").split(/\s+/).filter(Boolean).sort().join(" ") &&
    Object.entries(environment).every(([name, value]) => (now[name] ?? null) === value) &&
    Object.entries(files).every(([path, then]) => signature(path) === then);
  return same ? stamp : undefined;
}

/** Whether node_modules holds what package-lock.json asks for, by npm's own list of what it holds. */
function packagesAreInstalled() {
  // A published package has no lock file: whoever installed it installed its dependencies.
  const wanted = readJson(join(root, "package-lock.json"))?.packages;
  if (!wanted) return true;
  const installed = readJson(join(root, "node_modules/.package-lock.json"))?.packages ?? {};
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === "" ||
      // Optional packages are those for other systems.
      (optional && !installed[path]) ||
      (installed[path]?.version === version && existsSync(join(root, path))),
  );
}

function installPackages() {
  const started = performance.now();
  say("npm install …");
  // Not `npm ci`: it refuses a lock file that lacks the optional packages of some other system, and
  // which of those a lock file has depends on the registry it was made from. The versions come from
  // the lock file all the same, and --no-save leaves that as it is.
  const args = ["install", "--no-save", "--include=dev", "--no-audit", "--no-fund"];
  // npm's remarks (install scripts it did not run, which nothing here needs) matter only on failure.
  const { status, stdout, stderr, error } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) {
    console.error(stdout, stderr, error?.message ?? "");
    console.error(
      "setup: npm install failed; its messages are above. Correct the cause and try again.",
    );
    process.exit(1);
  }
  say(`npm packages installed in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** One set-up at a time: a second one waits, then finds everything done. */
function withLock(work) {
  const lock = join(build, "lock");
  try {
    mkdirSync(build, { recursive: true });
    accessSync(build, constants.W_OK);
  } catch {
    // Installed by root for everyone: nothing is written here, so there is nothing to guard.
    return work();
  }
  for (let announced = false; ; ) {
    try {
      writeFileSync(lock, `${process.pid} ${startOf(process.pid)}`, { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = readText(lock) ?? "";
    if (isAbandoned(lock, holder)) rmSync(lock, { force: true });
    else if (!announced) {
      say(`waiting for another set-up (process ${holder.split(" ")[0]}) …`);
      announced = true;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  const release = () => rmSync(lock, { force: true });
  process.on("exit", release);
  return work();
}

/** A killed set-up leaves its lock behind; so does one that died before it wrote its number. */
function isAbandoned(lock, holder) {
  if (holder === "")
    return Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0) > 5000;
  const [id, start] = holder.split(" ");
  const running = startOf(id);
  return running === undefined || running !== start;
}

/** When a process started; undefined when there is none. See src/setup/cache/lock.ts. */
function startOf(id) {
  return readText(`/proc/${id}/stat`)?.split(") ").at(-1).split(" ")[19];
}

function ready() {
  const stamp = packagesAreInstalled() && currentStamp();
  if (stamp) say(`ready, libtorch ${stamp.libtorch.version} (${stamp.libtorch.origin})`);
  return stamp;
}

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  console.error(
    `setup: Node ${OLDEST_NODE} or newer is needed; this is ${process.version}. Install a newer one ` +
      "(https://nodejs.org) and try again.",
  );
  process.exit(1);
}
if (!ready()) {
  withLock(() => {
    if (ready()) return;
    if (!packagesAreInstalled()) installPackages();
    const source = join(root, "src/setup/main.ts");
    const main = existsSync(source)
      ? ["--import", "tsx", source]
      : [join(root, "dist/setup/main.js")];
    const { status } = spawnSync(process.execPath, main, { cwd: root, stdio: "inherit" });
    process.exitCode = status ?? 1;
  });
}
