/**
 * @file A program whose own code fails while episodes are played: `exception` or `rejection`. Nobody may catch
 * that in its place.
 */
import { createAgent } from "../../src/agents/index.ts";
import { openWorld } from "../../src/environments/index.ts";
import { byteChat } from "../../src/models/index.ts";
import { collect, scriptedPolicy } from "../../src/rollout/index.ts";

const [file, kind] = process.argv.slice(2);
const world = await openWorld(file!, { where: "step" });
const agent = createAgent();
if (kind === "listened")
  process.on("uncaughtException", (error) => console.log(`heard: ${error.message}`));
setTimeout(() => {
  if (kind === "rejection") void Promise.reject(new Error("of the program's own"));
  else throw new Error("of the program's own");
}, 200);
await collect({
  world,
  about: { name: "hanging", summary: "" },
  agent,
  policy: scriptedPolicy({
    chat: byteChat(),
    format: agent.format,
    expert: () => world.expert!(1),
  }),
  limits: { turns: 3, stepSeconds: 1 },
  tasks: [(await world.tasks("train")).task(0)],
  retries: 0,
  seed: 1,
});
console.log(`played, ${process.listenerCount("uncaughtException")} listeners left`);
