/**
 * @file What a worker thread of the thread test does: compute with tensors of its own, then end in the
 * way it is told to.
 */
import { parentPort, workerData } from "node:worker_threads";
import {
  Generator,
  isGradEnabled,
  memory,
  noGrad,
  randn,
  shareMemory,
  tidy,
  zeros,
} from "../../../src/torch/index.ts";

const { ending, megabytes, rounds } = workerData as {
  ending: string;
  megabytes: number;
  rounds: number;
};

function train(): number {
  const generator = new Generator(5);
  const weight = randn([32, 32], generator).mul(0.1).requiresGrad_();
  for (let i = 0; i < rounds; i++)
    tidy(() => {
      const shared = shareMemory(new Float32Array(32 * 32).fill(1), [32, 32]);
      shared.mm(weight).tanh().square().sum().backward();
      const gradient = weight.grad!;
      noGrad(() => weight.sub_(gradient, 0.01));
      weight.grad = null;
    });
  return tidy(() => weight.sum().item());
}

const held = zeros([megabytes * 250_000]).fill_(1);
const result = train();
const shared = held.shareTypedArray();
parentPort!.postMessage({ result, tensors: memory().tensors, recording: isGradEnabled() });

if (ending === "exit") process.exit(0);
if (ending === "throw") throw new Error("nobody catches this");
if (ending === "wait") setInterval(() => shared.length, 1000);
