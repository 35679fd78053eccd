/**
 * @file A world's process: opens the world and does what the other side of the pipe asks for. bin/world.mjs
 * starts it.
 *
 * It ends with the pipe: whoever asked has gone then. A thread of its own sees to that where the world holds
 * the main one for good.
 */
import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import {
  type DistantExpert,
  type Environment,
  EnvironmentError,
  expertsOf,
  type Json,
  type Observation,
  type TaskSet,
  type World,
} from "../environment.ts";
import { checkedObservation, checkedResult } from "../foreign/checked.ts";
import { messageOf } from "../foreign/message.ts";
import { type FaultOwner, holdStrayFaults, onBehalfOf } from "../foreign/stray-faults.ts";
import { within } from "../foreign/within.ts";
import { findWorld, openWorld, seededOptions } from "../registry.ts";
import {
  LONGEST_LINE,
  lineReader,
  MARKS,
  type OpenedWorld,
  PIPE,
  type Reply,
  type Request,
  type SentObservation,
} from "./messages.ts";

/** Larger than anybody allows: the exact limit is the other side's. */
const LONGEST_TEXT = 5_000_000;
/** Characters of tasks that are sent at once. */
const TASKS_AT_ONCE = 1_000_000;
/** Experts are not given back; the oldest go. */
const MOST_EXPERTS = 4096;
const FAREWELL = { seconds: 2 };

export function serveWorld(parent: number): void {
  watchParent(parent);
  // Ctrl-C is for the whole group of processes; this one ends when the pipe does.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  holdStrayFaults();
  const pipe = new Socket({ fd: PIPE, readable: true, writable: true });
  const desk = openDesk((reply) => {
    const line = JSON.stringify(reply);
    if (line.length * 3 <= LONGEST_LINE || Buffer.byteLength(line) < LONGEST_LINE)
      pipe.write(`${line}\n`);
    else if ("id" in reply)
      pipe.write(
        `${JSON.stringify({ id: reply.id, error: "its answer is too long to be sent" })}\n`,
      );
  });
  const read = lineReader((line) => {
    const { id, ...request } = JSON.parse(line) as Request & { readonly id: number };
    void desk.answer(id, request as Request);
  });
  pipe.on("data", read);
  pipe.on("error", () => {});
  pipe.on("close", () => void desk.leave());
}

/** From another thread, because the world may hold this one. (As text: a thread cannot start from TypeScript.) */
function watchParent(parent: number): void {
  const watchdog = new Worker(
    `setInterval(() => {
       if (process.ppid !== ${parent}) process.kill(process.pid, "SIGKILL");
     }, 1000);`,
    { eval: true, env: {} },
  );
  watchdog.unref();
}

interface Desk {
  answer(id: number, request: Request): Promise<void>;
  /** Closes the world, if that takes no time, and ends the process. */
  leave(): Promise<never>;
}

function openDesk(send: (reply: Reply) => void): Desk {
  let opened: World | undefined;
  const environments = new Map<number, { environment: Environment; owner: FaultOwner }>();
  const experts = new Map<number, DistantExpert>();
  const sets = new Map<string, TaskSet>();

  const world = (): World => {
    if (opened) return opened;
    throw new Error("the world is not open yet");
  };

  function environmentOf(number: number) {
    const known = environments.get(number);
    if (known) return known;
    const owner: FaultOwner = { fault: (fault) => send({ fault, environment: number }) };
    const made = { environment: onBehalfOf(owner, () => world().environment()), owner };
    environments.set(number, made);
    return made;
  }

  async function tasksOf(split: string): Promise<TaskSet> {
    const set = sets.get(split) ?? (await world().tasks(split));
    sets.set(split, set);
    return set;
  }

  function expertOf(number: number, seed: number): DistantExpert {
    const expert = experts.get(number) ?? expertsOf(world())!(seed);
    experts.set(number, expert);
    if (experts.size > MOST_EXPERTS) experts.delete(experts.keys().next().value!);
    return expert;
  }

  async function done(request: Request): Promise<unknown> {
    switch (request.call) {
      case "open": {
        const { options, seed } = request;
        const definition = await findWorld(request.world);
        opened = await openWorld(definition, seededOptions(definition, options, seed), Infinity);
        const { aliases = [], types = [], briefing, name, summary, maximumSteps } = definition;
        return {
          definition: {
            ...{ name, aliases, summary, maximumSteps, types, options: definition.options },
            ...(briefing !== undefined && { briefing }),
          },
          ...factsOf(opened),
        };
      }
      case "tasks": {
        const { environment, split, length, variants } = await tasksOf(request.split);
        return { environment, split, length, ...(variants !== undefined && { variants }) };
      }
      case "list":
        return listed(await tasksOf(request.split), request.from);
      case "reset": {
        const { environment, owner } = environmentOf(request.environment);
        const seen = await onBehalfOf(owner, () => environment.reset(request.task));
        return onBehalfOf(owner, () =>
          sent(checkedObservation(world().name, seen, "reset()", LONGEST_TEXT)),
        );
      }
      case "step": {
        const { environment, owner } = environmentOf(request.environment);
        const given = await onBehalfOf(owner, () => environment.step(request.action));
        return onBehalfOf(owner, () => {
          const result = checkedResult(world().name, given, LONGEST_TEXT);
          return { ...result, observation: sent(result.observation) };
        });
      }
      case "close": {
        const known = environments.get(request.environment);
        environments.delete(request.environment);
        if (known) await onBehalfOf(known.owner, () => known.environment.close?.());
        return undefined;
      }
      case "act": {
        const expert = expertOf(request.expert, request.seed);
        const action = await expert.act(received(request.observation));
        return { action, thought: expert.thought?.() };
      }
      case "acted":
        return experts.get(request.expert)?.acted?.(request.action);
      case "solution":
        return world().solution?.(request.task);
      case "ping":
        return true;
      case "end":
        return closeWorld();
    }
  }

  async function closeWorld(): Promise<void> {
    const closing = opened;
    opened = undefined;
    await closing?.close?.();
  }

  async function leave(): Promise<never> {
    try {
      await within(FAREWELL, "close()", closeWorld());
    } catch {
      // Whoever could be told has gone.
    }
    process.exit();
  }

  return {
    async answer(id, request) {
      if (["reset", "step", "act"].includes(request.call)) mark(id);
      try {
        const value = (await done(request)) as Json | undefined;
        send({ id, value: value ?? null });
      } catch (error) {
        send({ id, error: reasonOf(error) });
      }
    },
    leave,
  };
}

/** Written before anything else happens, unlike what goes through the other pipe. */
function mark(id: number): void {
  try {
    writeSync(MARKS, `${id}\n`);
  } catch {
    // Nobody is there to read it; the other pipe has ended, too.
  }
}

/** Without the world's name, which the other side puts before it. */
function reasonOf(error: unknown): string {
  const message = messageOf(error);
  const prefix = error instanceof EnvironmentError ? `${error.environment}: ` : "";
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

function factsOf(world: World): Omit<OpenedWorld, "definition"> {
  const { name, source, splits, tools, solution } = world;
  const expert = expertsOf(world)?.(0);
  return {
    name,
    splits,
    solution: solution !== undefined,
    ...(source !== undefined && { source }),
    ...(tools && { tools: tools as unknown as readonly Json[] }),
    ...(expert && {
      expert: { acted: expert.acted !== undefined, thought: expert.thought !== undefined },
    }),
  };
}

/** Tasks from `from` on with their types, until it is enough for one message. */
function listed(set: TaskSet, from: number) {
  const tasks: { task: Json; type: string | null }[] = [];
  let characters = 0;
  for (let index = from; index < set.length && characters < TASKS_AT_ONCE; index++) {
    const task = set.task(index);
    characters += JSON.stringify(task).length;
    tasks.push({ task: task as unknown as Json, type: set.type(index) ?? null });
  }
  return tasks;
}

function sent(observation: Observation): SentObservation {
  const { text, anchor, info, instruction } = observation;
  const plain = { text, anchor, info, ...(instruction !== undefined && { instruction }) };
  try {
    const { admissible } = observation;
    return admissible === undefined ? plain : { ...plain, admissible };
  } catch (error) {
    return { ...plain, noActions: reasonOf(error) };
  }
}

function received({ noActions: _, ...observation }: SentObservation): Observation {
  return observation;
}
