/**
 * @file Commands of this project run as processes of their own, some at once.
 */
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));

/** Runs `openmanus-rl WORDS`, its output to a log; throws, with the log's name, when it fails. */
export async function run(words: readonly string[], log: string, threads?: number): Promise<void> {
  mkdirSync(dirname(log), { recursive: true });
  const out = createWriteStream(log, { flags: "a" });
  out.write(`$ openmanus-rl ${words.join(" ")}\n`);
  const child = spawn(process.execPath, [COMMAND, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...(threads && { OMP_NUM_THREADS: `${threads}` }) },
  });
  child.stdout.pipe(out, { end: false });
  child.stderr.pipe(out, { end: false });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  out.end();
  if (code !== 0) throw new Error(`openmanus-rl ${words[0]} ended with ${code}; see ${log}`);
}

/** Does all jobs, `width` at once, in their order. The first that fails ends it, when the others are done. */
export async function inParallel(
  jobs: readonly (() => Promise<void>)[],
  width: number,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < jobs.length) await jobs[next++]!();
  };
  const results = await Promise.allSettled(Array.from({ length: width }, lane));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
