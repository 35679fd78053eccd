/**
 * @file Plays and stores episodes until it is killed: `node --import tsx killed.ts MODEL FOLDER`. Goes on
 * with the iteration after the last one of the folder, and says a line for each episode that is stored.
 */
import { writeSync } from "node:fs";
import { createAgent } from "../../src/agents/index.ts";
import { openWorld } from "../../src/environments/index.ts";
import { Chat, loadChatTemplate, loadTokenizer } from "../../src/models/index.ts";
import { collect, openTrajectoryStore, scriptedPolicy } from "../../src/rollout/index.ts";

const [model = "", folder = ""] = process.argv.slice(2);
const chat = new Chat({ tokenizer: loadTokenizer(model), template: loadChatTemplate(model) });
const world = await openWorld("household");
const tasks = await world.tasks("train");
const agent = createAgent({ format: "openmanus" });
const policy = scriptedPolicy({ chat, format: agent.format, expert: () => world.expert!(1) });
const about = { name: "household", summary: "A household." };
const store = openTrajectoryStore(folder, { uncompressed: 2 });
const first = Math.max(-1, ...store.episodes().map(({ step }) => step)) + 1;

for (let step = first; ; step++)
  await collect({
    ...{ world, about, agent, policy, limits: { turns: 50 }, seed: 1, step },
    tasks: [tasks.task(step), tasks.task(step + 1)],
    members: 4,
    onEpisode(trajectory) {
      store.append(trajectory);
      writeSync(1, `${trajectory.id}\n`);
    },
  });
