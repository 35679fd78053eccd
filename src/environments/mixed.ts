/**
 * @file Several worlds as one: `alfworld+webshop`, or with weights `alfworld*3+webshop`. A run in it trains one policy in all
 * of them. Tasks come by weight, in an order that never changes; each keeps the name of its world, and its kind begins with
 * it, so that tables and metrics by kind are tables and metrics by world.
 */
import type { WorldDefinition } from "./define.ts";
import {
  type Environment,
  EnvironmentError,
  type Expert,
  type LocalEnvironment,
  type Observation,
  type Task,
  type TaskSet,
  type ToolDefinition,
  type World,
} from "./environment.ts";
import { checkOptions, type Option, type OptionTable } from "./options.ts";
import { requireSplit, taskSet } from "./tasks.ts";

export interface MixedPart {
  readonly world: WorldDefinition;
  /** How often its tasks come, against the others'. Default 1. */
  readonly weight?: number;
}

/** What separates worlds in a name, and a world from its weight. */
const PLUS = "+";
const TIMES = "*";
/** An option of one of them: `webshop:shops`. */
const OF = ":";

/** The parts of a name; undefined: it is none of several worlds. */
export function mixedNames(name: string): { name: string; weight: number }[] | undefined {
  if (!name.includes(PLUS)) return undefined;
  return name.split(PLUS).map((part) => {
    const [world = "", weight = "1", ...more] = part.split(TIMES).map((text) => text.trim());
    const number = Number(weight);
    if (world === "" || more.length > 0 || !(number > 0 && number <= 1000))
      throw new EnvironmentError(
        name,
        `"${part}" is no world with a weight; several worlds are named as in alfworld+webshop or alfworld*3+webshop.`,
      );
    return { name: world, weight: number };
  });
}

/** One definition of several. Options are those of all, each behind its world's name (`webshop:shops`). */
export function mixWorlds(parts: readonly MixedPart[]): WorldDefinition {
  const names = parts.map(({ world }) => world.name);
  const name = parts
    .map(({ world, weight = 1 }) => (weight === 1 ? world.name : `${world.name}${TIMES}${weight}`))
    .join(PLUS);
  if (parts.length < 2 || new Set(names).size < names.length)
    throw new EnvironmentError(name, "expected two worlds or more, each once.");
  const options: Record<string, Option> = {};
  for (const { world } of parts)
    for (const [option, about] of Object.entries(world.options))
      options[`${world.name}${OF}${option}`] = about;
  return {
    name,
    summary: `several worlds: ${names.join(", ")}`,
    briefing: "one of several worlds, which each task says",
    maximumSteps: Math.max(...parts.map(({ world }) => world.maximumSteps)),
    options: options as OptionTable,
    async open(given) {
      const opened: OpenPart[] = [];
      try {
        for (const { world, weight = 1 } of parts) {
          const own = optionsOf(world, given);
          opened.push({ definition: world, weight, world: await world.open(own as never) });
        }
      } catch (error) {
        for (const { world } of opened) await world.close?.();
        throw error;
      }
      return mixedWorld(name, opened);
    },
  };
}

function optionsOf(world: WorldDefinition, given: Readonly<Record<string, unknown>>): object {
  const prefix = `${world.name}${OF}`;
  const own = Object.entries(given).flatMap(([name, value]) =>
    name.startsWith(prefix) && value !== undefined ? [[name.slice(prefix.length), value]] : [],
  );
  return checkOptions(world.name, world.options, Object.fromEntries(own));
}

interface OpenPart {
  readonly definition: WorldDefinition;
  readonly weight: number;
  readonly world: World;
}

const SPLITS = ["train", "test"] as const;

function mixedWorld(name: string, parts: readonly OpenPart[]): World {
  const programs = parts.filter(({ world }) => world.program);
  if (programs.length > 0)
    throw new EnvironmentError(
      name,
      `an episode of ${programs[0]!.definition.name} is a program; such worlds are played by themselves.`,
    );
  const partOf = ({ environment }: Task): OpenPart => {
    const found = parts.find(({ definition }) => definition.name === environment);
    if (found) return found;
    throw new EnvironmentError(name, `a task of ${environment} is none of these worlds'.`);
  };
  const tools = parts.flatMap(({ world }) => world.tools ?? []);
  const hasExperts = parts.every(({ world }) => world.expert);
  return {
    name,
    source: parts
      .map(({ definition, world }) => `${definition.name}: ${world.source ?? "its own tasks"}`)
      .join("; "),
    splits: SPLITS,
    ...(tools.length > 0 && { tools: byName(tools) }),
    async tasks(split) {
      requireSplit(name, split, SPLITS);
      const sets = await Promise.all(
        parts.map(async ({ world, weight }) => ({ weight, set: await splitOf(world, split) })),
      );
      return mixedTasks(name, split, sets);
    },
    environment: () => mixedEnvironment((task) => partOf(task)),
    ...(hasExperts && { expert: (seed: number) => mixedExpert(parts, seed) }),
    async solution(task) {
      return partOf(task).world.solution?.(ownTask(task));
    },
    async close() {
      for (const { world } of parts) await world.close?.();
    },
  };
}

/** Train is the first split of each; test the second, or the only one. */
function splitOf(world: World, split: string): TaskSet | Promise<TaskSet> {
  const [first, second = first] = world.splits;
  return world.tasks(split === "train" ? first! : second!);
}

function byName(tools: readonly ToolDefinition[]): ToolDefinition[] {
  return [...new Map(tools.map((tool) => [tool.name, tool])).values()];
}

/**
 * Of any first n tasks each world has its share. To train on, there are as many as it takes to have all of every world, and
 * those of smaller ones come again; to test, no more than can be had once.
 */
function mixedTasks(
  name: string,
  split: string,
  sets: readonly { readonly weight: number; readonly set: TaskSet }[],
): TaskSet {
  const whole = sets.reduce((sum, { weight }) => sum + weight, 0);
  const sizes = sets.map(({ weight, set }) => (set.length * whole) / weight);
  const isEmpty = sets.some(({ set }) => set.length === 0);
  const length = isEmpty ? 0 : Math.floor((split === "train" ? Math.max : Math.min)(...sizes));
  /** Of the first `count` tasks, those before each world's share is full. */
  const share = (count: number, i: number) => {
    const before = sets.slice(0, i).reduce((sum, { weight }) => sum + weight, 0);
    const upTo = (weight: number) => Math.floor((count * weight) / whole + 1e-9);
    return upTo(before + sets[i]!.weight) - upTo(before);
  };
  const at = (index: number) => {
    const i = sets.findIndex((_, place) => share(index + 1, place) > share(index, place));
    const { set } = sets[i]!;
    return { set, index: share(index, i) % set.length };
  };
  return taskSet({
    ...{ environment: name, split, length },
    task(index) {
      const { set, index: own } = at(index);
      const task = set.task(own);
      return {
        ...task,
        id: `${task.environment}/${task.id}`,
        type: kindOf(task.environment, task.type),
      };
    },
    type(index) {
      const { set, index: own } = at(index);
      return kindOf(set.environment, set.type(own));
    },
  });
}

function kindOf(world: string, type: string | undefined): string {
  return type === undefined ? world : `${world}/${type}`;
}

/** As its own world knows it. */
function ownTask(task: Task): Task {
  const prefix = `${task.environment}/`;
  const { type, ...rest } = task;
  const own = type?.startsWith(prefix) ? type.slice(prefix.length) : undefined;
  return {
    ...rest,
    id: task.id.startsWith(prefix) ? task.id.slice(prefix.length) : task.id,
    ...(own !== undefined && { type: own }),
  };
}

/** An environment of whichever world the task is of; one of each is kept. */
function mixedEnvironment(
  partOf: (task: Task) => OpenPart,
  kept = new Map<string, Environment>(),
  begun?: Environment,
): LocalEnvironment {
  let now = begun;
  // Worlds in this process answer at once, others with a promise: what is given is what they give.
  return {
    reset(task: Task) {
      const { definition, world } = partOf(task);
      now = kept.get(definition.name) ?? world.environment();
      kept.set(definition.name, now);
      const { name, summary, briefing = summary } = definition;
      return after(now.reset(ownTask(task)), (seen) => named(seen, name, briefing));
    },
    step(action: string) {
      if (!now) throw new EnvironmentError("mixed", "step() before reset().");
      return now.step(action);
    },
    // Where the world that is played now can be.
    get clone() {
      const played = now;
      return played?.clone && (() => mixedEnvironment(partOf, new Map(), played.clone!()));
    },
    plan: () => now?.plan?.(),
    async close() {
      for (const environment of kept.values()) await environment.close?.();
    },
  } as LocalEnvironment;
}

function after<Value, Result>(
  value: Value | Promise<Value>,
  then: (value: Value) => Result,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** The first observation says which world it is; an agent is told it before the task. */
function named(seen: Observation, world: string, briefing: string): Observation {
  const { instruction } = seen;
  return {
    text: seen.text,
    instruction: instruction === undefined ? briefing : `${briefing}\n\n${instruction}`,
    get admissible() {
      return seen.admissible;
    },
    anchor: seen.anchor,
    info: { ...seen.info, world },
  };
}

/** The expert of the world whose first observation it sees. */
function mixedExpert(parts: readonly OpenPart[], seed: number): Expert {
  let own: Expert | undefined;
  return {
    act(observation) {
      own ??= parts
        .find(({ definition }) => definition.name === observation.info.world)
        ?.world.expert?.(seed);
      if (!own)
        throw new EnvironmentError("mixed", "the first observation is of none of these worlds.");
      return own.act(observation);
    },
    acted: (action) => own?.acted?.(action),
    thought: () => own?.thought?.() ?? "",
  };
}
