/**
 * @file Tools of one's own, beside what the world offers: the agent calls them, they answer, and the world
 * does not move. They make the reply format "tools": one call as JSON.
 *
 *   npx tsx tools.ts          openmanus-rl train env.tools=[tools.ts] env.format=tools …
 */
import { fileURLToPath } from "node:url";
import { type Tool, train } from "openmanus-rl";

const compass: Tool = {
  name: "compass",
  description: "says which way a change of position is",
  parameters: {
    type: "object",
    properties: { rows: { type: "number" }, columns: { type: "number" } },
    required: ["rows", "columns"],
  },
  execute: async ({ rows, columns }) =>
    Math.abs(Number(rows)) > Math.abs(Number(columns))
      ? `${Number(rows) > 0 ? "down" : "up"}`
      : `${Number(columns) > 0 ? "right" : "left"}`,
};
export default compass;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    agent: { tools: [compass], replyTokens: 60 },
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/tools",
  });
