/**
 * @file A world from functions: its tasks, its environments, and what it holds while it is open.
 */
import {
  type Environment,
  EnvironmentError,
  type LocalEnvironment,
  type Task,
  type World,
} from "../environment.ts";
import { within } from "../foreign/within.ts";
import type { OptionTable, OptionValues } from "../options.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { type Awaitable, after, finallyAfter, guarded, isThenable } from "./call.ts";
import { functionEnvironment, type Opened, startOf } from "./environment.ts";
import type { LocalWorldParts, WorldParts } from "./parts.ts";

/** A world that never waits, for a definition that loads its functions only when it is opened. */
export function localWorld<State, Table extends OptionTable = Record<never, never>>(
  parts: LocalWorldParts<State, Table>,
  options: OptionValues<Table>,
): World<LocalEnvironment> {
  // Functions that give no promises make environments that give none, and there is no `finish`.
  return worldOf<State, Table, undefined>(parts, options, undefined) as World<LocalEnvironment>;
}

/** Opens a world that may wait: its resource comes first. */
export function openFunctionWorld<State, Table extends OptionTable, Resource>(
  parts: WorldParts<State, Table, Resource>,
  options: OptionValues<Table>,
): Awaitable<World> {
  const resource = guarded(parts.name, "open", () => parts.open?.(options));
  return after(resource as Awaitable<Resource>, (held) => worldOf(parts, options, held));
}

function worldOf<State, Table extends OptionTable, Resource>(
  parts: WorldParts<State, Table, Resource>,
  options: OptionValues<Table>,
  resource: Resource,
): World {
  const { name, source } = parts;
  const splits = Object.keys(parts.splits);
  const holds = parts.open ?? parts.close ?? parts.finish;
  const { opened, close } = openedWorld(parts, options, resource);
  return {
    name,
    ...(source !== undefined && { source }),
    splits,
    tasks(split) {
      requireSplit(name, split, splits);
      const listed = parts.splits[split]!;
      return taskSet({
        environment: name,
        split,
        length: typeof listed === "number" ? listed : listed.length,
        task: (index) => ({
          environment: name,
          split,
          id: `${split}/${index}`,
          ...(typeof listed === "number" ? {} : listed[index]),
        }),
      });
    },
    environment: () => {
      requireOpen(opened);
      return functionEnvironment(opened);
    },
    ...(parts.solution && { solution: (task: Task) => solutionOf(opened, task) }),
    ...(parts.expert && { expert: (seed: number) => parts.expert!(seed) }),
    ...(holds && { close }),
  };
}

function requireOpen({ closedError }: Pick<Opened<never, never, never>, "closedError">): void {
  const error = closedError();
  if (error) throw error;
}

/** Starts the task to ask for its solution, and finishes it. */
function solutionOf<State, Table extends OptionTable, Resource>(
  opened: Opened<State, Table, Resource>,
  task: Task,
): Awaitable<readonly string[] | undefined> {
  const { parts } = opened;
  requireOpen(opened);
  return after(startOf(opened, task), (state) => {
    const solve = () => guarded(parts.name, "solution", () => parts.solution!(state, task));
    if (!parts.finish) return solve();
    return (async () => {
      try {
        return await solve();
      } finally {
        await opened.finish(state);
      }
    })();
  });
}

/** How long a world which is being closed waits for what its episodes have to give back. */
const LONGEST_FINISH = { seconds: 5 };

function openedWorld<State, Table extends OptionTable, Resource>(
  parts: WorldParts<State, Table, Resource>,
  options: OptionValues<Table>,
  resource: Resource,
): { opened: Opened<State, Table, Resource>; close(): Promise<void> } {
  const living = new Set<Environment>();
  /** Calls of `finish` that have not ended. */
  const finishing = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;
  const opened: Opened<State, Table, Resource> = {
    parts,
    options,
    resource,
    living,
    closedError: () =>
      closing && new EnvironmentError(parts.name, "the world is closed; open it again to play."),
    finish(state) {
      const work = guarded(parts.name, "finish", () => parts.finish?.(state, resource));
      if (!isThenable(work)) return work;
      const promise = Promise.resolve(work);
      finishing.add(promise);
      return finallyAfter(
        () => promise,
        () => finishing.delete(promise),
      );
    },
  };

  async function closeAll(): Promise<void> {
    const ends = [...living].map(async (environment) => environment.close?.());
    const ended = Promise.allSettled([...ends, ...finishing]);
    // What is not given back in time is left: the world itself must still be closed.
    const results = await within(LONGEST_FINISH, "finish()", ended).catch(() => undefined);
    await guarded(parts.name, "close", () => parts.close?.(resource));
    const failed = results?.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  // Set before anything is called: from now on nothing is begun, and a second close is the same one.
  const close = () => {
    closing ??= Promise.resolve().then(closeAll);
    return closing;
  };
  return { opened, close };
}
