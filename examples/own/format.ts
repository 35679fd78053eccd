/**
 * @file A reply format of one's own: what the agent is asked for, how its reply is read and how an expert
 * writes one all follow from the fields.
 *
 *   npx tsx format.ts          openmanus-rl train env.format=format.ts env.env_name=maze …
 */
import { fileURLToPath } from "node:url";
import { defineFormat, train } from "openmanus-rl";

const lookThenDo = defineFormat({
  name: "look-then-do",
  style: "labels",
  fields: [
    { name: "See", about: "what matters of what you see" },
    { name: "Do", about: "exactly one action" },
  ],
});
export default lookThenDo;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    agent: { format: lookThenDo, replyTokens: 40 },
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/format",
  });
