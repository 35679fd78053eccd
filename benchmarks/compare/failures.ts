/**
 * @file `npx tsx benchmarks/compare/failures.ts FOLDER`: why episodes of ALFWorld were not won, from the
 * episodes that `eval --out FOLDER` stored. Rules, in their order; every lost episode is in one class.
 */
import { pathToFileURL } from "node:url";
import { readWish } from "../../src/environments/alfworld/explorer/wish.ts";
import { readTrajectories, type Trajectory } from "../../src/rollout/index.ts";

const CLASSES = {
  "went in circles": "more than half of its actions did nothing",
  overlooked: "what was wanted stood in a text, its hands were empty, and it was never taken",
  "did not finish": "had it, and did not clean, heat, cool, use or put it as asked",
  "searched to the end": "never saw what was wanted",
} as const;
export type Failure = keyof typeof CLASSES;

/** Undefined: it was won. */
export function failureOf({ won, turns }: Trajectory): Failure | undefined {
  if (won) return undefined;
  const idle = turns.filter(({ admissible }) => admissible === false).length;
  if (idle > turns.length / 2) return "went in circles";
  const task = /Your task is to: (.*)/.exec(turns[0]?.observation ?? "")?.[1] ?? "";
  const wanted = readWish(task)?.object ?? "";
  const taking = new RegExp(`^take ${wanted} \\d`);
  if (turns.some(({ action, admissible }) => admissible === true && taking.test(action ?? "")))
    return "did not finish";
  const told = new RegExp(`\\ba ${wanted} \\d`);
  const seen = turns.some(({ observation }) => told.test(observation));
  return seen ? "overlooked" : "searched to the end";
}

function report(folder: string): void {
  const all = [...readTrajectories(folder)];
  const lost = all.map(failureOf).filter((failure) => failure !== undefined);
  console.log(`${all.length} episodes, ${all.length - lost.length} won, ${lost.length} lost:`);
  for (const [name, about] of Object.entries(CLASSES)) {
    const count = lost.filter((failure) => failure === name).length;
    console.log(`${String(count).padStart(5)}  ${name.padEnd(20)} ${about}`);
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    console.error("Usage: npx tsx benchmarks/compare/failures.ts FOLDER");
    process.exitCode = 2;
  } else report(folder);
}
