/**
 * @file A world in processes of its own. To whoever plays it is a world like any other: what differs is that
 * it has neither `clone` nor `plan`, that its expert has to be waited for, and that nothing it does can end or
 * freeze this process.
 */
import { resolve } from "node:path";
import type { WorldDefinition } from "../define.ts";
import {
  type DistantExpert,
  type Environment,
  EnvironmentError,
  type Observation,
  type StepResult,
  type Task,
  type TaskSet,
  type ToolDefinition,
  type World,
} from "../environment.ts";
import { boundedWorld, openLimit } from "../foreign/bounded-world.ts";
import { checkedObservation, checkedResult } from "../foreign/checked.ts";
import { shown } from "../foreign/message.ts";
import type { OptionTable } from "../options.ts";
import { taskSet } from "../tasks.ts";
import { isFileName } from "../user-file.ts";
import type { OpenedWorld, SentObservation } from "./messages.ts";
import { type IsolateOptions, processCount } from "./options.ts";
import { startProcesses, type TakenPlace, type WorldProcesses } from "./processes.ts";

export interface IsolatedWorld {
  /** As in the registry, but that it was opened already. */
  readonly definition: WorldDefinition;
  readonly world: World;
}

export interface OpenIsolatedOptions {
  /** The world's own options. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Of the world's own randomness, where it has an option for that. */
  readonly seed?: number | undefined;
  /** How long opening it may take. Default 600. */
  readonly seconds?: number | undefined;
  readonly isolate: IsolateOptions;
}

/** Texts that the other side may send: the exact limit is that of whoever plays. */
const LONGEST_TEXT = 5_000_000;
/** Tasks of a split at most: all of them are fetched, because task sets answer at once. */
const MOST_TASKS = 1_000_000;

/** Opens a world of that name, or of that file, in processes of its own. */
export async function openIsolatedWorld(
  name: string,
  { options = {}, seed, seconds, isolate }: OpenIsolatedOptions,
): Promise<IsolatedWorld> {
  if (processCount(isolate) < 1)
    throw new RangeError(`isolate: expected one process or more, got ${isolate.processes}`);
  let opened: OpenedWorld | undefined;
  const world = isFileName(name) ? resolve(name) : name;
  const opening = { call: "open", world, options, seed } as const;
  const limit = openLimit(seconds);
  const nameNow = () => opened?.name ?? name;
  const processes = await startProcesses(nameNow, isolate, opening, limit, (answer) => {
    opened ??= checkedOpening(name, answer);
  });
  return {
    definition: definitionOf(opened!),
    world: boundedWorld(opened!.name, worldOf(opened!, processes), seconds),
  };
}

function definitionOf({ definition }: OpenedWorld): WorldDefinition {
  const { options, ...rest } = definition;
  return {
    ...rest,
    options: options as unknown as OptionTable,
    open() {
      throw new EnvironmentError(
        rest.name,
        "it lives in processes of its own and is open already.",
      );
    },
  };
}

function worldOf(opened: OpenedWorld, processes: WorldProcesses): World {
  const { name, source, splits, tools, expert, solution } = opened;
  const sets = new Map<string, Promise<TaskSet>>();
  let made = 0;
  /** Asks any of the processes. */
  const anywhere = async <Value>(work: (place: TakenPlace) => Promise<Value>): Promise<Value> => {
    const place = await processes.take();
    try {
      return await work(place);
    } finally {
      place.give();
    }
  };
  return {
    name,
    ...(source !== undefined && { source }),
    splits,
    ...(tools && { tools: tools as unknown as readonly ToolDefinition[] }),
    tasks(split) {
      const known = sets.get(split) ?? anywhere((place) => fetchTasks(name, split, place));
      sets.set(split, known);
      known.catch(() => sets.delete(split));
      return known;
    },
    environment: () => isolatedEnvironment(name, ++made, processes),
    ...(expert && {
      distantExpert: (seed: number) => isolatedExpert(name, ++made, seed, expert, processes),
    }),
    ...(solution && {
      solution: (task: Task) =>
        anywhere(async ({ process }) =>
          checkedTexts(name, await process.ask({ call: "solution", task })),
        ),
    }),
    close: () => processes.close(),
  };
}

/** All tasks of a split, message by message. */
async function fetchTasks(name: string, split: string, { process }: TakenPlace): Promise<TaskSet> {
  const fail = (found: string) =>
    new EnvironmentError(name, `the tasks of the split "${split}" came as ${found}.`);
  const about = fieldsOf(await process.ask({ call: "tasks", split }));
  const { environment, split: own, length, variants } = about;
  if (typeof environment !== "string" || typeof own !== "string" || typeof length !== "number")
    throw fail("something that is no task set");
  if (!Number.isSafeInteger(length) || length < 0) throw fail(`a set of the length ${length}`);
  if (length > MOST_TASKS)
    throw new EnvironmentError(
      name,
      `the split "${split}" has ${length} tasks; a world in processes of its own may have ` +
        `${MOST_TASKS} in a split. Give it fewer, or play it without env.isolate.`,
    );
  const all: { readonly task: Task; readonly type: string | undefined }[] = [];
  while (all.length < length) {
    const list = await process.ask({ call: "list", split, from: all.length });
    if (!Array.isArray(list) || list.length === 0 || all.length + list.length > length)
      throw fail("lists that do not fit together");
    for (const entry of list) {
      const { task, type } = fieldsOf(entry);
      all.push({ task: task as Task, type: typeof type === "string" ? type : undefined });
    }
  }
  return taskSet({
    environment,
    split: own,
    length,
    task: (index) => all[index]!.task,
    type: (index) => all[index]!.type,
    ...(typeof variants === "number" && { variants }),
  });
}

function isolatedEnvironment(
  name: string,
  environment: number,
  processes: WorldProcesses,
): Environment {
  let place: TakenPlace | undefined;
  let fault: string | undefined;
  let isClosed = false;
  /** Rejects what is under way; undefined: nothing is. */
  let interrupt: ((error: Error) => void) | undefined;

  function settle(next: TakenPlace | undefined): void {
    place?.process.onFault(environment, undefined);
    if (place !== next) place?.give();
    place = next;
    fault = undefined;
    next?.process.onFault(environment, (sentence) => {
      fault ??= sentence;
      interrupt?.(new EnvironmentError(name, sentence));
    });
  }

  /** The answer, or the fault that came before it. */
  async function answered(work: Promise<unknown>): Promise<unknown> {
    const broken = new Promise<never>((_, reject) => {
      interrupt = reject;
    });
    try {
      const value = await Promise.race([work, broken]);
      processes.worked();
      return value;
    } finally {
      interrupt = undefined;
    }
  }

  return {
    timed: true,
    async reset(task) {
      // An environment whose process has ended goes on in another: between episodes there is nothing to lose.
      const next = place && !place.process.death ? place : await processes.take();
      if (isClosed) {
        next.give();
        throw new EnvironmentError(name, "it is closed; make a new environment.");
      }
      settle(next);
      const seen = await answered(next.process.ask({ call: "reset", environment, task }));
      return received(name, seen, "reset()");
    },
    async step(action) {
      if (!place)
        throw new EnvironmentError(
          name,
          isClosed
            ? "it is closed; make a new environment."
            : "step() before reset(); call reset(task) first.",
        );
      if (fault !== undefined) throw new EnvironmentError(name, fault);
      const given = await answered(place.process.ask({ call: "step", environment, action }));
      const { observation, ...rest } = fieldsOf(given);
      const result = { ...rest, observation: received(name, observation, "step()") };
      return checkedResult(name, result, LONGEST_TEXT) satisfies StepResult;
    },
    async close() {
      const left = place;
      isClosed = true;
      settle(undefined);
      if (left && !left.process.death) await left.process.ask({ call: "close", environment });
    },
  };
}

function isolatedExpert(
  name: string,
  expert: number,
  seed: number,
  can: NonNullable<OpenedWorld["expert"]>,
  processes: WorldProcesses,
): DistantExpert {
  let taken: Promise<TakenPlace> | undefined;
  let thought: string | undefined;
  const process = async () => {
    taken ??= processes.take();
    const place = await taken;
    // Experts are light and are never given back: they do not count.
    place.give();
    return place.process;
  };
  return {
    async act(observation) {
      const sent: SentObservation = plain(observation);
      const given = fieldsOf(
        await (await process()).ask({ call: "act", expert, seed, observation: sent }),
      );
      if (typeof given.action !== "string")
        throw new EnvironmentError(
          name,
          `its expert gave ${shown(given.action)}, expected a text.`,
        );
      thought = typeof given.thought === "string" ? given.thought : undefined;
      return given.action;
    },
    ...(can.acted && {
      acted(action: string) {
        // Asked before whatever comes next; what goes wrong shows there.
        void process()
          .then((one) => one.ask({ call: "acted", expert, action }))
          .catch(() => {});
      },
    }),
    ...(can.thought && { thought: () => thought ?? "" }),
  };
}

/** An observation as messages hold it. */
function plain(observation: Observation): SentObservation {
  const { text, anchor, info, instruction, admissible } = observation;
  return {
    ...{ text, anchor, info },
    ...(instruction !== undefined && { instruction }),
    ...(admissible && { admissible }),
  };
}

function received(name: string, given: unknown, place: string): Observation {
  const { noActions, ...rest } = fieldsOf(given);
  const seen = checkedObservation(name, rest, place, LONGEST_TEXT);
  if (typeof noActions !== "string") return seen;
  return {
    ...seen,
    get admissible(): never {
      throw new EnvironmentError(name, noActions);
    },
  };
}

function checkedTexts(name: string, given: unknown): readonly string[] | undefined {
  if (given === null) return undefined;
  if (Array.isArray(given) && given.every((action) => typeof action === "string")) return given;
  throw new EnvironmentError(name, `solution() gave ${shown(given)}, expected a list of actions.`);
}

function checkedOpening(name: string, answer: unknown): OpenedWorld {
  const opened = fieldsOf(answer);
  const definition = fieldsOf(opened.definition);
  const isRight =
    typeof definition.name === "string" &&
    typeof definition.summary === "string" &&
    typeof definition.maximumSteps === "number" &&
    typeof opened.name === "string" &&
    Array.isArray(opened.splits) &&
    opened.splits.every((split) => typeof split === "string");
  if (isRight) return opened as unknown as OpenedWorld;
  throw new EnvironmentError(name, "its process answered open() with something that is no world.");
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
