/**
 * @file `npx tsx benchmarks/compare/failures.ts FOLDER`: why episodes of ALFWorld were not won, from the
 * episodes that `eval --out FOLDER` stored. Rules, in their order; every lost episode is in one class.
 */
import { pathToFileURL } from "node:url";
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
  const wanted = wantedIn(turns[0]?.observation ?? "");
  const had = turns.some(({ action, admissible }) => {
    return admissible === true && new RegExp(`^take ${wanted} \\d`).test(action ?? "");
  });
  if (had) return "did not finish";
  const seen = turns.some(({ observation }) => new RegExp(`\\ba ${wanted} \\d`).test(observation));
  return seen ? "overlooked" : "searched to the end";
}

/** The kind of thing that the task is about. */
function wantedIn(text: string): string {
  const task = /Your task is to: (.*)/.exec(text)?.[1] ?? "";
  const words =
    /^(?:look at|examine the|find two|put two|put a (?:clean|hot|cool)|put (?:a|some)|(?:clean|heat|cool) some) (\S+)/;
  return words.exec(task)?.[1] ?? "";
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
