/**
 * @file The Python that yardsticks run with: OPENMANUS_BENCH_PYTHON, or a virtual environment that is
 * made here, with current packages by name.
 */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("./.venv", import.meta.url));

/** The interpreter's path; makes the environment at first use (some minutes). */
export function benchmarkPython(): string {
  const wish = process.env.OPENMANUS_BENCH_PYTHON;
  if (wish) return wish;
  const python = `${FOLDER}/bin/python`;
  if (!existsSync(`${FOLDER}/ready`)) {
    console.error("making a virtual environment with torch and transformers, once …");
    rmSync(FOLDER, { recursive: true, force: true });
    execFileSync("python3", ["-m", "venv", FOLDER], { stdio: "inherit" });
    const packages = ["torch", "transformers", "numpy"];
    execFileSync(python, ["-m", "pip", "install", "--quiet", ...packages], { stdio: "inherit" });
    execFileSync("touch", [`${FOLDER}/ready`]);
  }
  return python;
}

/** Runs one of benchmarks/python/*.py and parses the JSON that it prints. */
export function runYardstick(script: string, ...words: string[]): Record<string, unknown> {
  const path = fileURLToPath(new URL(`./python/${script}`, import.meta.url));
  const output = execFileSync(benchmarkPython(), [path, ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, HF_HUB_OFFLINE: "1", TOKENIZERS_PARALLELISM: "false" },
  });
  return JSON.parse(output.trim().split("\n").at(-1)!) as Record<string, unknown>;
}
