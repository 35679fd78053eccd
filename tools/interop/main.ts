/**
 * @file `npm run interop [-- NAME …]`: do we get along with the real transformers, PEFT, llama.cpp, MLflow,
 * TensorBoard and huggingface_hub? Exit code 0: yes, or there is no Python to ask; 1: no; 2: there is no such check.
 *
 * OPENMANUS_INTEROP_MINUTES: no check is begun after so many minutes; a line says which were left out. CI has a limit
 * of its own, and a slow machine must not lose the result of everything else to it.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finding, InteropCheck } from "./check.ts";
import { findPeers, NoPeers, type Peers } from "./peers.ts";

async function allChecks(): Promise<InteropCheck[]> {
  const folder = fileURLToPath(new URL("./checks/", import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const modules = files.sort().map((name) => import(join(folder, name)));
  return (await Promise.all(modules)).map((module: { default: InteropCheck }) => module.default);
}

async function main(names: readonly string[]): Promise<number> {
  const checks = await allChecks();
  const stranger = names.find((name) => !checks.some((check) => check.name === name));
  if (stranger !== undefined) {
    console.error(`interop: there is no check "${stranger}"; there are ${namesOf(checks)}.`);
    return 2;
  }
  const begun = performance.now();
  let peers: Peers;
  try {
    peers = await findPeers((text) => console.log(`interop: ${text}`));
  } catch (error) {
    if (error instanceof NoPeers) {
      console.log(`interop: skipped (${error.message})`);
      return 0;
    }
    console.error(`interop: ${(error as Error).message}`);
    console.log("0 passed, 1 failed");
    return 1;
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`interop: peers in ${peers.folder}, ready after ${seconds} s\n`);
  const chosen = names.length > 0 ? checks.filter(({ name }) => names.includes(name)) : checks;
  const counts = { passed: 0, failed: 0 };
  const minutes = Number(process.env.OPENMANUS_INTEROP_MINUTES || Number.POSITIVE_INFINITY);
  for (const [i, check] of chosen.entries()) {
    if ((performance.now() - begun) / 60_000 >= minutes) {
      console.log(`\nleft out after ${minutes} minutes: ${namesOf(chosen.slice(i))}`);
      break;
    }
    await runCheck(check, peers, counts);
  }
  console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
  return counts.failed > 0 ? 1 : 0;
}

function namesOf(checks: readonly InteropCheck[]): string {
  return checks.map(({ name }) => name).join(", ");
}

/** Prints a line for each thing that was compared. */
async function runCheck(
  { name, run }: InteropCheck,
  peers: Peers,
  counts: { passed: number; failed: number },
): Promise<void> {
  const begun = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "openmanus-interop-"));
  let findings: readonly Finding[];
  try {
    findings = await run(peers, folder);
  } catch (error) {
    findings = [{ what: "runs", detail: "", problem: (error as Error).message }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  for (const [number, { what, detail, problem, skipped }] of findings.entries()) {
    if (!skipped) counts[problem === undefined ? "passed" : "failed"]++;
    const label = number === 0 ? `${name} (${seconds} s)` : "";
    const state = skipped ? "skipped" : problem === undefined ? "passed" : "FAILED";
    console.log(`${label.padEnd(24)}${state}  ${what.padEnd(44)}${detail}`);
    if (problem !== undefined) console.log(problem.replace(/^/gm, "    "));
  }
}

process.exitCode = await main(process.argv.slice(2));
