/**
 * @file `npm run fuzz -- --minutes N`: hostile bytes for every reader that we have, by mutation, led by the code that they
 * reach. Prints how many inputs each target was given, and writes down those that did what no input may.
 *
 *   --minutes N      for all targets together, each with its share. Default 5
 *   --inputs N       so many per target, in place of a time
 *   --only NAME,…    some targets
 *   --seed S         another seed gives other inputs. Default 1
 *   --folder DIR     where inputs are kept that reach new code, and finds. Default build/fuzz
 *   --replay FILE    one input alone; its target is in its name, or in --only
 */
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { TARGET_NAMES } from "./targets/names.ts";
import { type TargetResult, watchTarget } from "./watch.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    inputs: { type: "string" },
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    folder: { type: "string", default: join("build", "fuzz") },
    replay: { type: "string" },
  },
});

const names = values.only?.split(",") ?? TARGET_NAMES;
const unknown = names.filter((name) => !TARGET_NAMES.includes(name));
if (unknown.length > 0)
  throw new Error(`there is no target ${unknown.join(", ")}; there are ${TARGET_NAMES.join(", ")}`);
const seed = Number(values.seed);
const finds = join(values.folder, "finds");

if (values.replay === undefined) await fuzzAll();
else await replayOne(values.replay);

async function replayOne(file: string): Promise<void> {
  const target = values.only ?? basename(file).split("--")[0]!;
  const result = await watchTarget({ target, seed, finds, replay: file });
  for (const { signature, report } of result.finds) console.log(`${signature}\n${report}`);
  if (result.finds.length > 0) process.exitCode = 1;
}

async function fuzzAll(): Promise<void> {
  const seconds = (60 * Number(values.minutes)) / names.length;
  const results: TargetResult[] = [];
  console.log("target              inputs   blocks  functions  kept  finds  seconds");
  for (const target of names) {
    const result = await watchTarget({
      ...{ target, seed, finds, corpus: join(values.folder, "corpus", target) },
      ...(values.inputs === undefined ? { seconds } : { inputs: Number(values.inputs) }),
    });
    results.push(result);
    console.log(lineOf(result));
    for (const found of result.finds)
      console.log(`  FIND ${found.signature}\n       npm run fuzz -- --replay ${found.file}`);
  }
  const total = (read: (result: TargetResult) => number) =>
    results.reduce((sum, result) => sum + read(result), 0);
  const found = total(({ finds: some }) => some.length);
  console.log(`${total(({ inputs }) => inputs)} inputs, ${results.length} targets, ${found} finds`);
  if (found > 0) process.exitCode = 1;
}

function lineOf({
  target,
  inputs,
  blocks,
  functions,
  corpus,
  finds: some,
  seconds,
}: TargetResult): string {
  return [
    target.padEnd(16),
    String(inputs).padStart(9),
    String(blocks).padStart(8),
    String(functions).padStart(10),
    String(corpus).padStart(5),
    String(some.length).padStart(6),
    seconds.toFixed(1).padStart(8),
  ].join(" ");
}
