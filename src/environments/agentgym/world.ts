/**
 * @file The world behind AgentGym's servers: tasks by number, and environments on one server after the
 * other.
 */
import { keyAt, NetworkError } from "../../network/index.ts";
import { EnvironmentError, type Task, type TaskSet, type World } from "../environment.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { type Context, RemoteEnvironment } from "./environment.ts";
import { ServerFailure } from "./exchange.ts";
import { findKind } from "./kinds/index.ts";
import { type Line, Remote } from "./remote.ts";

export interface AgentGymOptions {
  readonly url: readonly string[];
  readonly kind: string;
  readonly tasks: number;
  readonly testTasks: number;
  readonly first: number;
  /** Seconds. */
  readonly timeout: number;
  readonly retries: number;
  /** Seconds. */
  readonly wait: number;
  readonly replay: boolean;
  readonly winReward: number | undefined;
  /** Where the servers' key is: `env:NAME` or `file:PATH`. */
  readonly key: string | undefined;
}

/** Milliseconds for a farewell; a server that does not take it is left alone. */
const FAREWELL = 5000;

export function agentgymWorld(options: AgentGymOptions): World<RemoteEnvironment> {
  const kind = findKind(options.kind)!;
  const key = options.key === undefined ? undefined : keyIn(options.key);
  const lines = options.url.map((url): Line => {
    return { kind, base: baseOf(url, kind.prefix), timeout: options.timeout * 1000, key };
  });
  if (lines.length === 0)
    throw new EnvironmentError("agentgym", "which server? Set url=http://127.0.0.1:36001.");
  const sizes: Readonly<Record<string, number>> = {
    train: options.tasks,
    ...(options.testTasks > 0 && { test: options.testTasks }),
  };
  const splits = Object.keys(sizes);
  const living = new Set<RemoteEnvironment>();
  /** Given back by their environments, at servers that cannot close them. */
  const free: Remote[] = [];
  /** The numbers of those that are in use or free, by server. */
  const held = new Map<Line, Set<number>>(lines.map((line) => [line, new Set()]));
  let made = 0;
  /** Whether it is heard is the server's affair: many have no such route. */
  const farewell = (remote: Remote): Promise<void> =>
    remote.close(AbortSignal.timeout(FAREWELL)).catch(() => {});
  const context: Context = {
    kind,
    ...{ retries: options.retries, wait: options.wait * 1000, replay: options.replay },
    winReward: options.winReward,
    async take(server, index, signal) {
      const line = lines[server % lines.length]!;
      const place = free.findIndex((remote) => remote.line === line);
      return place < 0 ? unheld(line, index, held.get(line)!, signal) : free.splice(place, 1)[0]!;
    },
    async giveBack(remote, usable) {
      if (usable && !remote.closes) {
        free.push(remote);
        return;
      }
      held.get(remote.line)!.delete(remote.id);
      const said = farewell(remote);
      // A server that has failed us is not waited for.
      if (usable) await said;
    },
    closed: (environment) => void living.delete(environment),
  };
  const environment = (): RemoteEnvironment => {
    const another = new RemoteEnvironment(context, made++);
    living.add(another);
    return another;
  };
  return {
    name: "agentgym",
    source: `${kind.name} at ${lines.map(({ base }) => base).join(", ")}`,
    splits,
    tasks(split): TaskSet {
      requireSplit("agentgym", split, splits);
      const from = options.first + (split === "test" ? options.tasks : 0);
      return taskSet({
        ...{ environment: "agentgym", split, length: sizes[split]! },
        task: (place): Task => ({
          ...{ environment: "agentgym", split, id: `${kind.item}_${from + place}` },
          ...{ type: kind.name, data: { index: from + place } },
        }),
      });
    },
    environment,
    async solution(task) {
      const asked = environment();
      try {
        await asked.reset(task);
        return await asked.solution();
      } finally {
        await asked.close();
      }
    },
    async close() {
      await Promise.all([...living].map((environment) => environment.close()));
      await Promise.all(free.splice(0).map(farewell));
    },
  };
}

/**
 * A new environment that is nobody else's. AgentGym's servers of SQL and of the shop have so many (8, 8000), and then give the
 * oldest once more, though it is played: two episodes would act in one. And one that was started anew counts from 0 again. So
 * it is asked until the number is a new one, or must have come round.
 */
async function unheld(
  line: Line,
  index: number,
  held: Set<number>,
  signal: AbortSignal,
): Promise<Remote> {
  for (let left = held.size; ; left--) {
    const remote = await Remote.create(line, index, signal);
    if (!held.has(remote.id)) {
      held.add(remote.id);
      return remote;
    }
    if (left > 0) continue;
    throw new ServerFailure(
      "undelivered",
      `${line.base} has no environment left: the new one is number ${remote.id}, which is in use, as are ` +
        `${held.size} in all (play fewer episodes at once, or give more servers in url)`,
    );
  }
}

function keyIn(place: string): string {
  try {
    return keyAt("key", place);
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new EnvironmentError("agentgym", error.message, { cause: error });
  }
}

/** Users write the address as AgentGym's clients take it: some with the kind's prefix, some without. */
function baseOf(url: string, prefix: string): string {
  const base = url.replace(/\/+$/, "");
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol))
    throw new EnvironmentError(
      "agentgym",
      `url must be like http://127.0.0.1:36001 (several: separated by commas), not "${url}".`,
    );
  return base.endsWith(prefix) ? base : base + prefix;
}
