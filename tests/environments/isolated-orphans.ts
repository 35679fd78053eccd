/**
 * @file A program that opens a world in two processes of its own, lets one of them freeze, and waits to be
 * killed. It prints the numbers of the processes.
 */
import { readdirSync, readFileSync } from "node:fs";
import { openIsolatedWorld } from "../../src/environments/index.ts";

const { world } = await openIsolatedWorld(process.argv[2]!, {
  options: { kind: "freezes when begun" },
  isolate: { processes: 2 },
});
/** The last word of a world's process is the number of the one that it belongs to. */
const isOurs = (id: string) => {
  try {
    const words = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0");
    return words.includes(String(process.pid)) && words.some((word) => word.includes("world.mjs"));
  } catch {
    return false;
  }
};
const children = readdirSync("/proc").filter((id) => /^\d+$/.test(id) && isOurs(id));
const tasks = await world.tasks("train");
void world.environment().reset(tasks.task(0));
setTimeout(() => console.log(`children ${children.join(" ")}`), 1000);
