/**
 * @file Opens a world for a command or a run: in this process or in some of its own. While it is open, faults
 * in what it has started are told and end nothing (see foreign/stray-faults.ts).
 */
import type { WorldDefinition } from "./define.ts";
import { EnvironmentError, type World } from "./environment.ts";
import { messageOf } from "./foreign/message.ts";
import { holdStrayFaults } from "./foreign/stray-faults.ts";
import type { IsolateOptions } from "./isolated/options.ts";
import { openIsolatedWorld } from "./isolated/world.ts";
import { findWorld, openWorld, seededOptions } from "./registry.ts";

export interface PlaceOptions {
  /** Of the world's own randomness, where it has an option for that. Default: the world's own. */
  readonly seed?: number | undefined;
  /** Seconds to open the world, and to list the tasks of a split. Default 600. */
  readonly seconds?: number | undefined;
  /** Default: none. */
  readonly isolate?: IsolateOptions | undefined;
}

export interface PlacedWorld {
  readonly definition: WorldDefinition;
  /** Its `close` never rejects: what was played is not lost because a world cannot end. */
  readonly world: World;
}

export async function placeWorld(
  world: string | WorldDefinition,
  options: Readonly<Record<string, unknown>>,
  { seed, seconds, isolate }: PlaceOptions = {},
): Promise<PlacedWorld> {
  const release = holdStrayFaults();
  try {
    const opened = isolate?.processes
      ? await openIsolatedWorld(nameOf(world), { options, seed, seconds, isolate })
      : await openHere(world, options, seed, seconds);
    return { definition: opened.definition, world: closingQuietly(opened.world, release) };
  } catch (error) {
    release();
    throw error;
  }
}

function nameOf(world: string | WorldDefinition): string {
  if (typeof world === "string") return world;
  throw new EnvironmentError(
    world.name,
    "it is an object of this program, which cannot be sent to processes of its own (isolate, env.isolate); " +
      'give the file that exports it (world: "./world.ts"), or leave isolate out.',
  );
}

async function openHere(
  world: string | WorldDefinition,
  given: Readonly<Record<string, unknown>>,
  seed: number | undefined,
  seconds: number | undefined,
): Promise<PlacedWorld> {
  const definition = typeof world === "string" ? await findWorld(world) : world;
  const options = seededOptions(definition, given, seed);
  return { definition, world: await openWorld(definition, options, seconds) };
}

function closingQuietly(world: World, release: () => void): World {
  return {
    ...world,
    async close() {
      try {
        await world.close?.();
      } catch (error) {
        const reason = error instanceof EnvironmentError ? "" : `${world.name}: `;
        process.emitWarning(`a world was not closed: ${reason}${messageOf(error)}`, "WorldWarning");
      } finally {
        release();
      }
    },
  };
}
