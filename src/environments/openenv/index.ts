/**
 * @file OpenEnv's protocol: its servers as a world of ours, and our worlds as such a server.
 */
import type { ServeOptions } from "../agentgym/index.ts";
import { defineWorld } from "../define.ts";
import type { World } from "../environment.ts";
import type { OpenEnvServer } from "./server/serve.ts";

export type { OpenEnvServer };

/** Offers a world as an OpenEnv server. The world is not closed with it. */
export async function serveOpenEnv(
  world: World,
  options?: ServeOptions & { readonly description?: string | undefined },
): Promise<OpenEnvServer> {
  return (await import("./server/serve.ts")).serveOpenEnv(world, options);
}

const count = { kind: "number", integer: true, minimum: 0 } as const;

export const openenv = defineWorld({
  name: "openenv",
  summary: "environments of OpenEnv's servers (web sockets), also of several at once",
  maximumSteps: 30,
  options: {
    url: {
      kind: "list",
      default: ["http://127.0.0.1:8000"],
      about: "where the server is; of several (separated by commas) each gets its share",
    },
    tasks: {
      ...count,
      minimum: 1,
      default: 200,
      about: "how many tasks, which are seeds, the split train has",
    },
    testTasks: { ...count, default: 0, about: "how many of those that follow make a split test" },
    first: { ...count, default: 0, about: "the first task's seed" },
    timeout: {
      kind: "number",
      minimum: 0.001,
      maximum: 3600,
      default: 300,
      about: "seconds for an answer",
    },
    field: {
      kind: "text",
      about: "the action's field that holds its text; default: as /schema says",
    },
    text: {
      kind: "text",
      about: "the observation's field that is shown; default: by its name, or all of it",
    },
    winAt: {
      kind: "number",
      default: 1,
      about:
        "the last step's reward from which on an episode counts as won, where the server does not say",
    },
    key: { kind: "text", about: "where the servers' key is: env:NAME or file:PATH" },
  },
  open: async (options) => (await import("./world.ts")).openenvWorld(options),
});
