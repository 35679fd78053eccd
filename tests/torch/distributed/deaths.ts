/**
 * @file Ranks that reduce large tensors without end, until one of them dies or ends in the way that
 * the first argument says; the others say what they were told.
 */
import { ones } from "../../../src/torch/index.ts";
import { attempt, join, say } from "./worker.ts";

const [way, victim = "2"] = process.argv.slice(2);
const group = join(20_000);
say("process", process.pid);

const x = ones([2_000_003]);
for (let i = 0; ; i++) {
  if (i === 3) say("busy", i);
  if (i === 6 && group.rank === Number(victim)) {
    if (way === "throw") throw new Error("a bug of this rank");
    if (way === "exit") process.exit(7);
    if (way === "end") break;
  }
  const outcome = attempt(() => group.allReduce(x, "average"));
  if (!outcome.ok) {
    say("outcome", outcome);
    break;
  }
}
