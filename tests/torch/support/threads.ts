/**
 * @file Several threads with tensors of their own at once, the main one among them. Prints JSON.
 */
import { Worker } from "node:worker_threads";
import { memory, noGrad, shareMemory, tidy, zeros } from "../../../src/torch/index.ts";

// A worker does not inherit the loader for TypeScript.
const LOAD_THREAD = `
  import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(new URL("./thread.ts", import.meta.url).href)});
  });
`;

interface Report {
  result: number;
  tensors: number;
  recording: boolean;
}

function run(
  ending: string,
  megabytes: number,
  rounds: number,
): Promise<Report & { code: number }> {
  const worker = new Worker(LOAD_THREAD, {
    eval: true,
    workerData: { ending, megabytes, rounds },
  });
  return new Promise((resolve, reject) => {
    let report: Report | undefined;
    worker.on("message", (message: Report) => {
      report = message;
      if (ending === "wait") worker.terminate();
    });
    worker.on("error", (error) => {
      if (ending !== "throw") reject(error);
    });
    worker.on("exit", (code) =>
      report ? resolve({ ...report, code }) : reject(new Error("no report")),
    );
  });
}

const kept = zeros([10]);
const before = memory().tensors;
let going = true;
/** The main thread shares and drops buffers, without recording, while the workers do their work. */
async function work(): Promise<number> {
  let rounds = 0;
  while (going) {
    noGrad(() => tidy(() => shareMemory(new Float32Array(1000).fill(2)).sum().item()));
    if (++rounds % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return rounds;
}

const main = work();
const reports = await Promise.all(
  ["normal", "exit", "wait", "throw"].map((ending) => run(ending, 1, 300)),
);
going = false;
const rounds = await main;

// Threads that come and go, 200 MB each: they must not add up.
await run("normal", 200, 1);
const resident = process.memoryUsage.rss();
for (const ending of ["normal", "exit", "wait", "throw"]) await run(ending, 200, 1);
const grownMegabytes = (process.memoryUsage.rss() - resident) / 1e6;

console.log(
  JSON.stringify({
    reports,
    rounds,
    leftInMain: memory().tensors - before,
    kept: kept.sum().item(),
    grownMegabytes,
  }),
);
