/**
 * @file The door does not crash: all operators with wrong arguments, and those behind the typed API
 * with right but odd ones, in processes of their own.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { operatorNames } from "../../src/torch/index.ts";
import { CRASHES_IN_LIBTORCH } from "./support/fuzz-exclusions.ts";

const WORKER = fileURLToPath(new URL("support/fuzz-worker.ts", import.meta.url));
const SOURCES = fileURLToPath(new URL("../../src/torch/", import.meta.url));
const SEED = 2;
const WRONG_TRIALS = 5;
const ODD_TRIALS = 50;
const PROCESSES = 2;
const TIMEOUT = 120_000;

const folder = mkdtempSync(join(tmpdir(), "openmanus-fuzz-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Mode = "wrong" | "odd";
let runs = 0;

/** Runs one process over the names. Resolves with its problems, or with where it died. */
function runWorker(
  mode: Mode,
  names: readonly string[],
  trials: number,
): Promise<{ problems: string[]; died?: { at: number; how: string } }> {
  const progress = join(folder, `progress-${runs++}`);
  const worker = spawn(
    process.execPath,
    ["--import", "tsx", WORKER, mode, String(SEED), String(trials), progress],
    {
      env: { ...process.env, OMP_NUM_THREADS: "1" },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  let output = "";
  let errors = "";
  worker.stdout.on("data", (data) => (output += data));
  worker.stderr.on("data", (data) => (errors += data));
  worker.stdin.end(JSON.stringify(names));
  const timer = setTimeout(() => worker.kill("SIGKILL"), TIMEOUT);
  return new Promise((resolve) => {
    worker.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0)
        return resolve({ problems: JSON.parse(output.trim().split("\n").at(-1)!) as string[] });
      const [at = "0", trial] = readFileSync(progress, "utf8").trim().split(" ");
      const how = `trial ${trial}: ${signal ?? `exit code ${code}`}\n${errors.slice(-2000)}`;
      resolve({ problems: [], died: { at: Number(at), how } });
    });
  });
}

/** All problems over the names; an operator that kills the process is one, and the rest goes on. */
async function fuzz(mode: Mode, names: readonly string[], trials: number): Promise<string[]> {
  const half = Math.ceil(names.length / PROCESSES);
  const parts = Array.from({ length: PROCESSES }, (_, i) => names.slice(i * half, (i + 1) * half));
  const found = await Promise.all(
    parts.map(async (part) => {
      const problems: string[] = [];
      for (let rest = part; rest.length > 0; ) {
        const { problems: some, died } = await runWorker(mode, rest, trials);
        problems.push(...some);
        if (!died) break;
        problems.push(`${rest[died.at]} killed the process, ${died.how}`);
        rest = rest.slice(died.at + 1);
      }
      return problems;
    }),
  );
  return found.flat();
}

/** The operators that the typed API names, read from its sources. */
function typedOperators(): string[] {
  const files = [
    ...readdirSync(join(SOURCES, "tensor")).map((name) => join("tensor", name)),
    "creation.ts",
    "functions.ts",
  ];
  const text = files.map((file) => readFileSync(join(SOURCES, file), "utf8")).join("\n");
  const names = [...text.matchAll(/\baten\("([^"]+)"\)/g)].map((match) => `aten::${match[1]}`);
  for (const [, name] of text.matchAll(/\bcomparison\("([^"]+)"\)/g))
    names.push(`aten::${name}.Tensor`, `aten::${name}.Scalar`);
  return [...new Set(names)];
}

describe("fuzz", () => {
  it("every operator refuses wrong arguments with an error that names it", async () => {
    const names = operatorNames();
    expect(names.length).toBeGreaterThan(2000);
    expect(await fuzz("wrong", names, WRONG_TRIALS)).toEqual([]);
  }, 300_000);

  it("no operator behind the typed API crashes on odd arguments", async () => {
    const names = typedOperators();
    expect(names.length).toBeGreaterThan(150);
    const tried = names.filter((name) => !CRASHES_IN_LIBTORCH.has(name));
    expect(await fuzz("odd", tried, ODD_TRIALS)).toEqual([]);
  }, 300_000);
});
