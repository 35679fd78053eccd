/**
 * @file A world of ours as an AgentGym server, so that trainers which speak its protocol can use it.
 *
 * On 127.0.0.1 unless told otherwise: the protocol has no passwords.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { EnvironmentError, type World } from "../../environment.ts";
import { taskSet } from "../../tasks.ts";
import type { Kind } from "../kind.ts";
import { findKind, KIND_NAMES } from "../kinds/index.ts";
import { HostedEnvironments, type NumberedTasks } from "./hosted.ts";
import { listener } from "./http.ts";
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
  const { host = "127.0.0.1", port = 0, maximumEnvironments = 1024, idle = 3600 } = options;
  const kind = kindOf(world, options.kind);
  const tasks = await numberedTasks(world, options.split);
  const limits = { maximumEnvironments, idle: idle * 1000 };
  const hosted = new HostedEnvironments(world, kind, tasks, limits);
  const routes = routesOf(kind, world, hosted);
  const server = createServer(listener(kind, routes));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new EnvironmentError(
          world.name,
          `cannot listen on ${host}:${port}: ${error.code === "EADDRINUSE" ? "the port is taken; choose another, or 0 for any" : error.message}.`,
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
  const collector = setInterval(() => hosted.collectIdle(), Math.min(limits.idle / 4 + 1, 60_000));
  collector.unref();
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}${kind.prefix}`,
    port: address.port,
    kind: kind.name,
    tasks: tasks.length,
    get environments() {
      return hosted.numbers.length;
    },
    async close() {
      clearInterval(collector);
      const stopped = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await stopped;
      await hosted.closeAll();
    },
  };
}

/** Our worlds that AgentGym knows by another name, or not at all. */
const KIND_OF_WORLD: Readonly<Record<string, string>> = { household: "alfworld" };

function kindOf({ name }: World, wish: string | undefined): Kind {
  const kind = findKind(wish ?? KIND_OF_WORLD[name] ?? name);
  if (kind) return kind;
  if (wish === undefined) return findKind("textcraft")!;
  throw new EnvironmentError(
    name,
    `AgentGym has no kind of server called "${wish}"; it has ${KIND_NAMES.join(", ")}.`,
  );
}

async function numberedTasks(world: World, split: string | undefined): Promise<NumberedTasks> {
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
