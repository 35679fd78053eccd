/**
 * @file Collecting garbage on demand, finalizers included.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects, and lets finalizers run: they are tasks of their own after a collection. */
export async function collectGarbage(rounds = 3): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Collects until a condition holds, for at most about two seconds; whether it came to hold. */
export async function collectUntil(condition: () => boolean): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    if (condition()) return true;
    // What a WeakRef gave stays alive to the end of the task: collect in the next one.
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return condition();
}
