/**
 * @file The virtual environments of the peers, outside the repository: $OPENMANUS_PEERS, by default in the user's
 * cache. There are three: vLLM is compiled against another torch than the current one, and Python's worlds need none.
 */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPTS = fileURLToPath(new URL("./python/", import.meta.url));

/** In which a peer's Python runs. */
export type EnvironmentName = "torch" | "vllm" | "worlds";

const SIZES: Record<EnvironmentName, string> = { torch: "6 GB", vllm: "6 GB", worlds: "400 MB" };

/** It cannot be had here; the others are measured. */
export class NoEnvironment extends Error {}

export function peersFolder(): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return process.env.OPENMANUS_PEERS || join(cache, "openmanus-rl", "peers");
}

/** Whether it is there, and as it is to be. */
export function hasEnvironment(name: EnvironmentName): boolean {
  const { stamp, stampFile } = stampOf(name);
  return (
    stamp !== undefined && existsSync(stampFile) && readFileSync(stampFile, "utf8").trim() === stamp
  );
}

function stampOf(name: EnvironmentName): { stamp: string | undefined; stampFile: string } {
  const version = run("python3", ["--version"]);
  const requirements = readFileSync(join(SCRIPTS, `requirements-${name}.txt`), "utf8");
  const stamp = createHash("sha256")
    .update(`${version.stdout?.trim()}\n${requirements}`)
    .digest("hex");
  return {
    stamp: version.status === 0 ? stamp : undefined,
    stampFile: join(peersFolder(), `${name}.stamp`),
  };
}

/** The interpreter of an environment, which is made where it is missing or old. `say` hears what takes long. */
export function pythonOf(name: EnvironmentName, say: (text: string) => void): string {
  const folder = join(peersFolder(), name);
  const python = join(folder, "bin", "python");
  const requirements = join(SCRIPTS, `requirements-${name}.txt`);
  const { stamp, stampFile } = stampOf(name);
  if (stamp === undefined) throw new NoEnvironment("there is no python3");
  if (hasEnvironment(name)) return python;
  say(`making a virtual environment for ${name}, once (minutes, some ${SIZES[name]}) …`);
  rmSync(stampFile, { force: true });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(peersFolder(), { recursive: true });
  must(run("python3", ["-m", "venv", folder]), "python3 makes no virtual environment");
  const install = (...words: string[]) =>
    must(
      run(python, ["-m", "pip", "install", "--no-input", "--progress-bar", "off", ...words]),
      `pip could not install ${words.at(-1)}`,
    );
  if (name === "vllm") {
    // Its wheel asks for a local version of torch, which no index has: without it first, then what else it asks for.
    install("--no-deps", "-r", requirements);
    const asked = join(folder, "asked.txt");
    must(
      run(python, ["-B", join(SCRIPTS, "vllm_requirements.py"), asked]),
      "vLLM's requirements could not be read",
    );
    install("-r", asked);
  } else install("-r", requirements);
  writeFileSync(stampFile, `${stamp}\n`);
  return python;
}

function run(command: string, words: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(command, words, { encoding: "utf8", maxBuffer: 2 ** 28 });
}

function must({ status, stdout, stderr, error }: SpawnSyncReturns<string>, problem: string): void {
  if (status === 0) return;
  const said = error?.message ?? `${stdout}\n${stderr}`.trim().split("\n").at(-1);
  throw new NoEnvironment(`${problem}: ${said}`);
}
