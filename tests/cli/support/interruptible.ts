/**
 * @file A process whose work is interrupted: `patient` work ends when it is asked to, `slow` work a little
 * later, `stubborn` never.
 */
import { once } from "node:events";
import { interruptible } from "../../../src/cli/support/interrupt.ts";

const work = async (signal: AbortSignal) => {
  // Something that keeps the process alive, as a server or a computation does.
  const alive = setInterval(() => {}, 1000);
  console.log("working");
  await once(signal, "abort");
  console.log("finishing");
  if (process.argv[2] === "stubborn") await new Promise(() => {});
  if (process.argv[2] === "slow") await new Promise((resolve) => setTimeout(resolve, 500));
  clearInterval(alive);
  return "saved";
};
console.log(await interruptible(work));
