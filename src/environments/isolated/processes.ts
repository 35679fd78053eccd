/**
 * @file The processes of an isolated world: environments are spread over them, and one that dies is replaced,
 * with a pause that grows while they do nothing but die.
 */
import { EnvironmentError } from "../environment.ts";
import { messageOf } from "../foreign/message.ts";
import { type TimeLimit, within } from "../foreign/within.ts";
import type { Request } from "./messages.ts";
import { type IsolateOptions, processCount } from "./options.ts";
import { startProcess, type WorldProcess } from "./process.ts";

export interface WorldProcesses {
  /** A place for one environment, where the fewest are. Rejects where no process can be started. */
  take(): Promise<TakenPlace>;
  /** Something was answered: it does not only die. */
  worked(): void;
  close(): Promise<void>;
}

export interface TakenPlace {
  readonly process: WorldProcess;
  /** The environment is closed, or was lost with its process. */
  give(): void;
}

/** So many deaths one after the other, without an answer between them, are the world's end. */
const MOST_DEATHS = 6;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

interface Place {
  process: WorldProcess | undefined;
  /** A process that is being started, for everybody who waits for it. */
  starting: Promise<WorldProcess> | undefined;
  environments: number;
}

/**
 * Starts all of them. `opening` is asked of each, with so much time, and `onOpened` gets the answers. `name`:
 * the world's, which may be known only when it is open.
 */
export async function startProcesses(
  name: () => string,
  options: IsolateOptions,
  opening: Request,
  limit: TimeLimit,
  onOpened: (answer: unknown) => void,
): Promise<WorldProcesses> {
  const places: Place[] = Array.from({ length: processCount(options) }, () => ({
    process: undefined,
    starting: undefined,
    environments: 0,
  }));
  let deaths = 0;
  let closed = false;

  async function open(): Promise<WorldProcess> {
    const process = startProcess(name, options);
    try {
      onOpened(await within(limit, "open()", process.ask(opening)));
      return process;
    } catch (error) {
      process.kill("its world could not be opened");
      if (error instanceof EnvironmentError) throw error;
      throw new EnvironmentError(name(), messageOf(error), { cause: error });
    }
  }

  async function replace(place: Place): Promise<WorldProcess> {
    const reason = place.process?.death ?? "it did not start";
    if (++deaths > MOST_DEATHS)
      throw new EnvironmentError(
        name(),
        `its process ended ${MOST_DEATHS} times without doing anything, at last because: ${reason}. ` +
          "It is not started again; see what the world does when it is opened and reset.",
      );
    // The first time it may have been chance.
    if (deaths > 1)
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (deaths - 2))),
      );
    const process = await open();
    if (closed) process.kill("the world is closed");
    place.process = process;
    return process;
  }

  const started = await Promise.allSettled(places.map(() => open()));
  const failed = started.find((result) => result.status === "rejected");
  for (const [i, result] of started.entries())
    if (result.status === "fulfilled") {
      places[i]!.process = result.value;
      if (failed) result.value.kill("another of the world's processes could not be started");
    }
  if (failed) throw failed.reason;

  return {
    async take() {
      if (closed) throw new EnvironmentError(name(), "the world is closed; open it again to play.");
      const place = places.reduce((best, one) =>
        one.environments < best.environments ? one : best,
      );
      place.environments++;
      const give = once(() => {
        place.environments--;
      });
      if (place.process && !place.process.death) return { process: place.process, give };
      place.starting ??= replace(place).finally(() => {
        place.starting = undefined;
      });
      try {
        return { process: await place.starting, give };
      } catch (error) {
        give();
        throw error;
      }
    },
    worked() {
      deaths = 0;
    },
    async close() {
      closed = true;
      const all = places.flatMap(({ process }) => (process && !process.death ? [process] : []));
      const ends = await Promise.allSettled(all.map((process) => process.end()));
      const failed = ends.find((end) => end.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
