/**
 * @file One process of the fuzz test: calls operators from a list with random arguments.
 *
 *   node --import tsx fuzz-worker.ts <wrong|odd> <seed> <trials> <progress file> < names as JSON
 *
 * Before each call it writes the operator's place in the list to the progress file, so that whoever
 * started it knows which one it was when the process dies. Prints what went wrong as JSON.
 */
import { openSync, readFileSync, writeSync } from "node:fs";
import {
  type Argument,
  call,
  describeOperator,
  memory,
  type Result,
  Tensor,
  tidy,
} from "../../../src/torch/index.ts";
import { plainType, rightValue, wrongValue } from "./fuzz-values.ts";
import { Random } from "./random.ts";

const [mode, seed, trials, progressPath] = process.argv.slice(2);
const names = JSON.parse(readFileSync(0, "utf8")) as string[];
const progress = openSync(progressPath!, "w");
const problems: string[] = [];

/** Arguments of which at least one is wrong: too many, where there is none. */
function wrongArguments(name: string, random: Random): unknown[] {
  const types = describeOperator(name).arguments.map((argument) => argument.type);
  if (types.length === 0) return [1];
  const chosen = random.integer(0, types.length - 1);
  return types.map((type, i) =>
    i === chosen || random.next() < 0.2 ? wrongValue(random, type) : rightValue(random, type),
  );
}

/** Arguments of the right types; those with defaults are sometimes left out. */
function oddArguments(name: string, random: Random): Argument[] {
  return describeOperator(name).arguments.map(({ type, hasDefault }) =>
    hasDefault && random.next() < 0.5 ? undefined : rightValue(random, type),
  );
}

function tryWrong(name: string, random: Random): void {
  const values = wrongArguments(name, random);
  try {
    call(name, values as Argument[]);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    const isOurs = code === "ERR_TORCH_ARGUMENT" && message.startsWith(name);
    if (!isOurs) problems.push(`${name}: an error without the operator's name: ${message}`);
    return;
  }
  const types = describeOperator(name).arguments.map(({ type }) => plainType(type).type);
  problems.push(
    `${name}: took wrong arguments (${types.join(", ")}) ${values.map(String).join("; ")}`,
  );
}

/** Looks at a result in every way, and sends a gradient back through it. */
function use(result: Result): void {
  if (Array.isArray(result)) for (const each of result) use(each);
  if (!(result instanceof Tensor)) return;
  String(result);
  // An expanded tensor may show 2^46 elements without having them.
  if (result.requiresGrad && result.numel < 1e6) result.sum().backward();
}

function tryOdd(name: string, random: Random): void {
  try {
    use(call(name, oddArguments(name, random)));
  } catch (error) {
    if (!(error instanceof Error)) problems.push(`${name}: threw ${String(error)}`);
    else if (/Exception raised from|frame #\d/.test(error.message))
      problems.push(`${name}: an error with a C++ backtrace: ${error.message.slice(0, 500)}`);
  }
}

const before = memory().tensors;
for (const [i, name] of names.entries()) {
  for (let trial = 0; trial < Number(trials); trial++) {
    writeSync(progress, `${i} ${trial}`.padEnd(24), 0);
    // By name and trial: the same arguments come again when a run is repeated from the middle.
    let own = Number(seed) * 1000 + trial;
    for (const letter of name) own = Math.imul(own, 31) + letter.charCodeAt(0);
    const random = new Random(own);
    if (mode === "wrong") tidy(() => tryWrong(name, random));
    else tidy(() => tryOdd(name, random));
  }
}
// Three tensors at most are the fuzzer's own.
if (memory().tensors - before > 3) problems.push(`${memory().tensors - before} tensors leaked`);
console.log(JSON.stringify(problems));
