/**
 * @file A world of ours as an AgentGym server, so that trainers which speak its protocol can use it.
 *
 * On 127.0.0.1 unless told otherwise, for programs and not for pages of the web (src/network): the
 * protocol itself has no passwords.
 */
import {
  NetworkError,
  type OpenServer,
  openServer,
  type ServerOptions,
} from "../../../network/index.ts";
import { EnvironmentError, type World } from "../../environment.ts";
import { taskSet } from "../../tasks.ts";
import type { Kind } from "../kind.ts";
import { findKind, KIND_NAMES } from "../kinds/index.ts";
import { HostedEnvironments, type Limits, type NumberedTasks } from "./hosted.ts";
import { handlerOf } from "./http.ts";
import { routesOf } from "./routes.ts";

export interface ServeOptions {
  /** As which kind of AgentGym's servers. Default: by the world's name, or else textcraft. */
  kind?: string | undefined;
  /** Only the tasks of this split. Default: all splits, one behind the other. */
  split?: string | undefined;
  /** Default 127.0.0.1. */
  host?: string | undefined;
  /** Default 0: any that is free. */
  port?: number | undefined;
  /** How many environments there may be at once. Default 1024. */
  maximumEnvironments?: number | undefined;
  /** Seconds after which an environment that nobody uses is closed. Default 3600. */
  idle?: number | undefined;
  /** Seconds after which it is closed where all places are taken and one is needed. Default 300. */
  spare?: number | undefined;
  /** Seconds for one reset or step; then the environment is closed. Default 300. */
  stepSeconds?: number | undefined;
  /** Every request must bring it, as "Authorization: Bearer …". Default: none is needed. */
  apiKey?: string | undefined;
  /** Further names by which the server may be asked: "proxy.example", "localhost:8080". */
  allowedHosts?: readonly string[] | undefined;
  /** Is told, in sentences, what the person who starts it should know. */
  say?: ((sentence: string) => void) | undefined;
}

export interface AgentGymServer {
  /** With the kind's prefix: what AgentGym's client takes as env_server_base. */
  readonly url: string;
  readonly port: number;
  readonly kind: string;
  /** How many tasks it has. */
  readonly tasks: number;
  /** How many environments there are now. */
  readonly environments: number;
  /** Stops listening, breaks connections, closes the environments. The world stays open. */
  close(): Promise<void>;
}

export async function serveWorld(
  world: World,
  options: ServeOptions = {},
): Promise<AgentGymServer> {
  const limits = limitsOf(world, options);
  const kind = kindOf(world, options.kind);
  const tasks = await numberedTasks(world, options.split);
  const hosted = new HostedEnvironments(world, kind, tasks, limits);
  const server = await openFor(world, options, {
    handler: handlerOf(kind, routesOf(kind, world, hosted)),
    // Several requests of one environment wait for each other.
    answerSeconds: (2 * limits.step) / 1000 + 60,
  });
  const collector = setInterval(() => hosted.collectIdle(), Math.min(limits.idle / 4 + 1, 60_000));
  collector.unref();
  return {
    url: server.url + kind.prefix,
    port: server.port,
    kind: kind.name,
    tasks: tasks.length,
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

/** What the environments of a server may cost, in milliseconds. */
export function limitsOf(world: World, options: ServeOptions): Limits {
  const { maximumEnvironments = 1024, idle = 3600, spare = 300, stepSeconds = 300 } = options;
  for (const [name, value] of Object.entries({ maximumEnvironments, idle, spare, stepSeconds }))
    if (!(value > 0 && value <= (name === "stepSeconds" ? LONGEST_STEP : Number.MAX_SAFE_INTEGER)))
      throw new EnvironmentError(world.name, `${name} must be a number above 0, not ${value}.`);
  return {
    ...{ maximumEnvironments, idle: idle * 1000, step: stepSeconds * 1000 },
    ...{ spare: spare * 1000, spareUnused: Math.min(spare * 1000, SPARE_UNUSED) },
  };
}

/** Seconds. Node's timers take milliseconds of 31 bits, and an answer may wait for two steps. */
const LONGEST_STEP = 1_000_000;
/** Milliseconds after which one that was created and never used is closed where its place is needed. */
const SPARE_UNUSED = 30_000;

/** What cannot be listened on is an error of the world's. */
export async function openFor(
  world: World,
  { host, port, apiKey, allowedHosts, say }: ServeOptions,
  serving: Pick<ServerOptions, "handler" | "answerSeconds" | "sockets">,
): Promise<OpenServer> {
  try {
    return await openServer({ ...serving, host, port, apiKey, allowedHosts, say });
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new EnvironmentError(world.name, error.message, { cause: error });
  }
}

/** Our worlds that AgentGym knows by another name, or not at all. */
const KIND_OF_WORLD: Readonly<Record<string, string>> = {
  household: "alfworld",
  sql: "sqlgym",
};

function kindOf({ name }: World, wish: string | undefined): Kind {
  const kind = findKind(wish ?? KIND_OF_WORLD[name] ?? name);
  if (kind) return kind;
  if (wish === undefined) return findKind("textcraft")!;
  throw new EnvironmentError(
    name,
    `AgentGym has no kind of server called "${wish}"; it has ${KIND_NAMES.join(", ")}.`,
  );
}

/** The tasks of a split, or of all, by number. */
export async function numberedTasks(
  world: World,
  split: string | undefined,
): Promise<NumberedTasks> {
  const splits = split === undefined ? world.splits : [split];
  const sets = await Promise.all(splits.map(async (name) => world.tasks(name)));
  return taskSet({
    environment: world.name,
    split: split ?? "all",
    length: sets.reduce((sum, { length }) => sum + length, 0),
    task(index) {
      let rest = index;
      for (const set of sets) {
        if (rest < set.length) return set.task(rest);
        rest -= set.length;
      }
      throw new EnvironmentError(world.name, `there is no task ${index}.`);
    },
  });
}
