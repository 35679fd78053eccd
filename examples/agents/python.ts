/**
 * @file An agent in Python, with the package openai: a command that is started for each episode. It is told its task in
 * OPENMANUS_TASK and where the model is in OPENAI_BASE_URL, and prints its answer.
 *
 *   openmanus-rl train env.env_name=./python.ts …
 *
 * To load that package takes an interpreter most of a second. Started once, as a service, it does so once:
 *
 *   python agent.py 8100 &
 *   AGENT=http://127.0.0.1:8100 openmanus-rl train env.env_name=./python.ts …
 */
import { join } from "node:path";
import { agentProgram } from "openmanus-rl";
import { type AgesTask, expert, tasks, worth } from "./ages.ts";

const service = process.env.AGENT;

export default agentProgram<AgesTask>({
  name: "ages",
  summary: "an agent in Python says how old somebody will be",
  ...(service === undefined
    ? { command: [process.env.PYTHON ?? "python3", join(import.meta.dirname, "agent.py")] }
    : { url: service }),
  tasks,
  reward: ({ task, output }) => worth(task.data, output),
  expert,
  maximumCalls: 6,
  seconds: 120,
  // Commands are interpreters of their own.
  atOnce: service === undefined ? 8 : 32,
});
