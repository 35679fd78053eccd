/**
 * @file An agent in Python, with the package openai: a command that is started for each episode. It is told its task in
 * OPENMANUS_TASK and where the model is in OPENAI_BASE_URL, and prints its answer.
 *
 *   openmanus-rl train env.env_name=./python.ts …
 */
import { join } from "node:path";
import { agentProgram } from "openmanus-rl";
import { type AgesTask, expert, tasks, worth } from "./ages.ts";

export default agentProgram<AgesTask>({
  name: "ages",
  summary: "an agent in Python says how old somebody will be",
  command: [process.env.PYTHON ?? "python3", join(import.meta.dirname, "agent.py")],
  tasks,
  reward: ({ task, output }) => worth(task.data, output),
  expert,
  maximumCalls: 6,
  seconds: 120,
  // Each is an interpreter of its own.
  atOnce: 8,
});
