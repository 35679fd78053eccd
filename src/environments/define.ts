/**
 * @file How a world is defined: `defineWorld` for the general case, `defineEnvironment` for a world
 * that is a few functions over plain data.
 */
import type { World } from "./environment.ts";
import type { WorldParts } from "./functions/parts.ts";
import { openFunctionWorld } from "./functions/world.ts";
import type { OptionTable, OptionValues } from "./options.ts";

/** What the registry knows of a world before its data is loaded. Must be cheap to import. */
export interface WorldDefinition<Table extends OptionTable = OptionTable> {
  /** The name in tasks and trajectories. Names are found without regard to case. */
  readonly name: string;
  /** Other names by which it is found. */
  readonly aliases?: readonly string[];
  /** One sentence for `env list`. */
  readonly summary: string;
  /** What an agent is told of it, before anything else: a sentence or two. Default: the summary. */
  readonly briefing?: string;
  /** How many steps an episode usually has. */
  readonly maximumSteps: number;
  /** The kinds of task, where there are kinds. */
  readonly types?: readonly string[];
  readonly options: Table;
  /** Loads what the world needs. `options` are already checked; see `openWorld` in registry.ts. */
  open(options: OptionValues<Table>): World | Promise<World>;
}

/** Only for its types: the options that `open` receives follow from the table. */
export function defineWorld<const Table extends OptionTable>(
  definition: WorldDefinition<Table>,
): WorldDefinition<Table> {
  return definition;
}

/** What `defineEnvironment` takes: a world's facts, and its functions. */
export interface EnvironmentParts<State, Table extends OptionTable, Resource>
  extends WorldParts<State, Table, Resource> {
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly briefing?: string;
  readonly maximumSteps: number;
  readonly options?: Table;
}

/**
 * A world from a few functions. States are not changed but replaced, which makes copies free and
 * observations true snapshots; random numbers depend on the task and the step only, so that a copy
 * and a replay draw the same. Functions may give promises, and a world may hold something while it is
 * open (`open`, `close`) and for each episode (`finish`).
 */
export function defineEnvironment<
  State,
  const Table extends OptionTable = Record<never, never>,
  Resource = undefined,
>(parts: EnvironmentParts<State, Table, Resource>): WorldDefinition<Table> {
  const { name, aliases, summary, briefing, maximumSteps } = parts;
  return {
    name,
    ...(aliases && { aliases }),
    summary,
    ...(briefing !== undefined && { briefing }),
    maximumSteps,
    options: parts.options ?? ({} as Table),
    open: (options) => openFunctionWorld(parts, options),
  };
}
