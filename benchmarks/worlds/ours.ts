/**
 * @file The same episodes in our engine. Games are opened anew each time, so that no text and no list is there from an
 * earlier episode; passes are repeated until the time is long enough to be measured.
 */
import { type Episode, openGames } from "./episodes.ts";
import { coresSince, type Seconds } from "./watch.ts";

/** Seconds for all steps, and for all beginnings, of one pass. */
export interface Pass {
  readonly steps: Seconds;
  readonly resets: Seconds;
}

export async function ourPass(
  folder: string,
  episodes: readonly Episode[],
  seconds: number,
): Promise<Pass> {
  await onePass(folder, episodes);
  const begun = performance.now();
  const passes: Pass[] = [];
  while (passes.length === 0 || (performance.now() - begun) / 1000 < seconds)
    passes.push(await onePass(folder, episodes));
  return { steps: meanOf(passes, "steps"), resets: meanOf(passes, "resets") };
}

function meanOf(passes: readonly Pass[], part: keyof Pass): Seconds {
  const mean = (kind: keyof Seconds): number =>
    passes.reduce((sum, pass) => sum + pass[part][kind], 0) / passes.length;
  return { clock: mean("clock"), core: mean("core") };
}

async function onePass(folder: string, episodes: readonly Episode[]): Promise<Pass> {
  const world = await openGames(folder);
  const split = world.splits[0]!;
  const tasks = await world.tasks(split);
  const byId = new Map(
    Array.from({ length: tasks.length }, (_, i) => tasks.task(i)).map((task) => [task.id, task]),
  );
  const resetting = coresSince();
  const started = episodes.map(({ id, actions }) => {
    const environment = world.environment();
    const first = environment.reset(byId.get(id)!);
    if (!first.admissible) throw new Error(`${id} lists no commands`);
    return { environment, actions };
  });
  const resets = resetting();
  let seen = 0;
  const stepping = coresSince();
  for (const { environment, actions } of started)
    for (const action of actions) {
      const { observation } = environment.step(action);
      // Reading a character makes a string that was put together lazily whole.
      seen += observation.text.charCodeAt(observation.text.length - 1);
      seen += observation.admissible!.length;
    }
  const steps = stepping();
  if (!(seen > 0)) throw new Error("nothing was shown");
  return { steps, resets };
}
