/**
 * @file A program that ends in the way its argument says, with tensors, shared buffers, views, graphs,
 * generators and checkpoints alive. Prints "ready" before.
 */
import {
  checkpoint,
  Generator,
  mapFile,
  randn,
  shareMemory,
  tidy,
  zeros,
} from "../../../src/torch/index.ts";

const alive: unknown[] = [];
const generator = new Generator(1);
const weight = randn([64, 64], generator).requiresGrad_();
alive.push(generator, weight, zeros([1000]), zeros([1000]).shareTypedArray());
alive.push(shareMemory(new Float32Array(1000)), mapFile(process.execPath));
alive.push(
  weight.mm(weight).sum(),
  checkpoint((x) => x!.mm(weight), [weight]),
);
weight.mm(weight).sum().backward();
console.log("ready");

const ways: Record<string, () => void> = {
  normal: () => {},
  exit: () => process.exit(3),
  "exit inside tidy": () => tidy(() => process.exit(3)),
  throw: () => {
    throw new Error("nobody catches this");
  },
  reject: () => {
    Promise.reject(new Error("nobody catches this"));
  },
  "exit handler": () => {
    process.on("exit", () => {
      if (zeros([2]).add(1).sum().item() !== 2) process.exitCode = 9;
    });
  },
};
ways[process.argv[2]!]!();
