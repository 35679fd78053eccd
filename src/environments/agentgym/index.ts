/**
 * @file AgentGym's HTTP protocol: its servers as a world of ours, and our worlds as such a server.
 */
import { defineWorld } from "../define.ts";
import type { World } from "../environment.ts";
import { KIND_NAMES } from "./kinds/index.ts";
import type { AgentGymServer, ServeOptions } from "./server/serve.ts";

export type { AgentGymServer, ServeOptions };

/** Offers a world as an AgentGym server. The world is not closed with it. */
export async function serveWorld(world: World, options?: ServeOptions): Promise<AgentGymServer> {
  return (await import("./server/serve.ts")).serveWorld(world, options);
}

const count = { kind: "number", integer: true, minimum: 0 } as const;

export const agentgym = defineWorld({
  name: "agentgym",
  summary: "environments of AgentGym's HTTP servers, also of several at once",
  maximumSteps: 30,
  types: KIND_NAMES,
  options: {
    url: {
      kind: "list",
      default: ["http://127.0.0.1:36001"],
      about: "where the server is; of several (separated by commas) each gets its share",
    },
    kind: {
      kind: "text",
      choices: KIND_NAMES,
      default: "webshop",
      about: "what kind of environment it has",
    },
    tasks: {
      ...count,
      minimum: 1,
      default: 200,
      about: "how many tasks the split train has",
    },
    testTasks: {
      ...count,
      default: 0,
      about: "how many of those that follow make a split test",
    },
    first: { ...count, default: 0, about: "the number of the first task" },
    timeout: {
      kind: "number",
      minimum: 0.001,
      maximum: 300, // Node's fetch does not wait longer for the beginning of an answer
      default: 300,
      about: "seconds for an answer",
    },
    retries: {
      ...count,
      maximum: 100,
      default: 5,
      about: "how often a request is repeated, where that is safe",
    },
    wait: {
      kind: "number",
      minimum: 0.001,
      maximum: 60,
      default: 0.5,
      about: "seconds before the first repetition, doubled each time",
    },
    replay: {
      kind: "boolean",
      default: true,
      about:
        "begin an episode anew and repeat its actions when an answer was lost; for worlds that are " +
        "deterministic",
    },
    winReward: {
      kind: "number",
      about:
        "the reward of solving a task, and 0 for anything else; default: 10 for alfworld and " +
        "webshop, as in our own, and for the others what the server gives",
    },
    key: {
      kind: "text",
      about: "where the servers' key is, if they ask for one: env:NAME (a variable) or file:PATH",
    },
  },
  open: async (options) => (await import("./world.ts")).agentgymWorld(options),
});
