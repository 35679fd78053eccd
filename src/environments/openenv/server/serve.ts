/**
 * @file A world of ours as an OpenEnv server, for TRL and others: sessions over web sockets, and the same over
 * plain requests for one episode that all share.
 */
import { HostedEnvironments, Refusal } from "../../agentgym/server/hosted.ts";
import {
  limitsOf,
  numberedTasks,
  openFor,
  type ServeOptions,
} from "../../agentgym/server/serve.ts";
import type { World } from "../../environment.ts";
import { messageOf } from "../../foreign/message.ts";
import { Session } from "./session.ts";

export interface OpenEnvServer {
  /** What OpenEnv's clients take as base_url. */
  readonly url: string;
  readonly port: number;
  readonly tasks: number;
  /** How many environments there are now. */
  readonly environments: number;
  /** Stops listening, ends sessions, closes the environments. The world stays open. */
  close(): Promise<void>;
}

/** Bytes. */
const LARGEST_MESSAGE = 2 ** 20;
/** Numbers of tasks that are larger than the last begin anew: seeds are taken for them. */
const RULES = { wraps: true } as const;

export async function serveOpenEnv(
  world: World,
  options: ServeOptions & { readonly description?: string | undefined } = {},
): Promise<OpenEnvServer> {
  const limits = limitsOf(world, options);
  const tasks = await numberedTasks(world, options.split);
  const hosted = new HostedEnvironments(world, RULES, tasks, limits);
  /** Of plain requests, which have no sessions. */
  const shared = new Session(hosted);
  const server = await openFor(world, options, {
    handler: (request) => answered(request, shared, world, options.description),
    answerSeconds: (2 * limits.step) / 1000 + 60,
    sockets: {
      ...{ path: "/ws", maximum: limits.maximumEnvironments, largestMessage: LARGEST_MESSAGE },
      open: () => new Session(hosted),
    },
  });
  const collector = setInterval(() => hosted.collectIdle(), Math.min(limits.idle / 4 + 1, 60_000));
  collector.unref();
  return {
    ...{ url: server.url, port: server.port, tasks: tasks.length },
    get environments() {
      return hosted.numbers.length;
    },
    async close() {
      clearInterval(collector);
      await server.close();
      await hosted.closeAll();
    },
  };
}

async function answered(
  request: Request,
  shared: Session,
  world: World,
  description: string | undefined,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  const routes: Readonly<Record<string, [method: string, answer: () => unknown]>> = {
    "/health": ["GET", () => ({ status: "healthy" })],
    "/metadata": [
      "GET",
      () => ({ name: world.name, description: description ?? world.source ?? world.name }),
    ],
    "/schema": ["GET", () => SCHEMA],
    "/state": ["GET", () => shared.state()],
    "/reset": ["POST", async () => shared.reset(await fieldsOf(request))],
    "/step": [
      "POST",
      async () => shared.step(((await fieldsOf(request)).action ?? {}) as Record<string, unknown>),
    ],
  };
  const route = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined;
  if (!route) return Response.json({ detail: "Not Found" }, { status: 404 });
  if (request.method !== route[0])
    return Response.json({ detail: "Method Not Allowed" }, { status: 405 });
  try {
    return Response.json(await route[1]());
  } catch (error) {
    const status = error instanceof Refusal && error.busy ? 503 : 422;
    return Response.json({ detail: messageOf(error) }, { status });
  }
}

async function fieldsOf(request: Request): Promise<Record<string, unknown>> {
  const text = await request.text();
  const fields: unknown = text === "" ? {} : JSON.parse(text);
  if (typeof fields === "object" && fields !== null && !Array.isArray(fields))
    return fields as Record<string, unknown>;
  throw new TypeError("the body must be an object.");
}

const text = { type: "string" } as const;
const SCHEMA = {
  action: {
    ...{ title: "Action", type: "object", required: ["text"], additionalProperties: false },
    properties: { text: { ...text, description: "what to do" }, metadata: { type: "object" } },
  },
  observation: {
    ...{ title: "Observation", type: "object", required: ["text"] },
    properties: {
      text,
      instruction: { type: ["string", "null"] },
      admissible_actions: { type: ["array", "null"], items: text },
      won: { type: "boolean" },
      score: { type: "number" },
      task_id: text,
    },
  },
  state: {
    ...{ title: "State", type: "object" },
    properties: { episode_id: { type: ["string", "null"] }, step_count: { type: "integer" } },
  },
} as const;
