/** @file A script that is happy as the only process; also shows how launch() runs a script. */
import { initializeProcessGroup } from "../../../src/torch/index.ts";
import { say } from "./worker.ts";

const group = initializeProcessGroup({ joinTimeoutMilliseconds: 60_000 });
say("who", {
  rank: group.rank,
  worldSize: group.worldSize,
  localRank: group.localRank,
  arguments: process.argv.slice(2),
  extra: process.env.EXTRA,
});
console.log("a line");
console.error("a complaint");
if (process.argv[2] === "fail" && group.rank === 1) process.exit(5);
if (process.argv[2] === "hang") setInterval(() => {}, 1000);
