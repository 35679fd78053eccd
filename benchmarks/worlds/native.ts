/**
 * @file Our own worlds: steps per second by the known solutions of their tasks, and how long a beginning takes. Each step's
 * text and list of actions is made, as for an agent.
 */
import { openWorld } from "../../src/environments/index.ts";
import { coresSince, type Seconds } from "./watch.ts";

const TASKS = 200;
/** Episodes that are begun, and then played, so that the two are measured apart. */
const AT_ONCE = 20;

interface Way {
  readonly options?: Readonly<Record<string, unknown>>;
  /** Instead of the solutions. */
  readonly actions?: readonly string[];
}

/** Those that need no data of others. */
export const NATIVE: Readonly<Record<string, Way>> = {
  household: {},
  webshop: { options: { data: "builtin" } },
  babyai: {},
  textcraft: { options: { data: "builtin" } },
  maze: {},
  // Who knows the word needs one guess.
  wordle: { actions: ["h o u s e", "t r a i n", "p l a n t", "w o r l d"] },
  sql: { options: { data: "builtin" } },
  tools: {},
};

export interface NativeRate {
  readonly world: string;
  /** Seconds of a step and of a beginning. What a world's own processes compute (`sql`) is in the clock's only. */
  readonly step: Seconds;
  readonly reset: Seconds;
}

export async function nativeRate(name: string, seconds: number): Promise<NativeRate> {
  const { options, actions } = NATIVE[name]!;
  const world = await openWorld(name, options);
  try {
    const set = await world.tasks("train");
    const tasks = Array.from({ length: Math.min(set.length, TASKS) }, (_, i) => set.task(i));
    const plans: (readonly string[])[] = [];
    for (const task of tasks) plans.push(actions ?? (await world.solution?.(task)) ?? []);
    const environments = Array.from({ length: AT_ONCE }, () => world.environment());
    let [steps, episodes, characters] = [0, 0, 0];
    let [stepping, resetting] = [NOTHING, NOTHING];
    const round = async () => {
      const [number, resets] = [episodes, coresSince()];
      for (const [i, environment] of environments.entries())
        characters += (await environment.reset(tasks[(number + i) % tasks.length]!)).text.length;
      resetting = sum(resetting, resets());
      const played = coresSince();
      for (const [i, environment] of environments.entries())
        for (const action of plans[(number + i) % plans.length]!) {
          const { observation, done } = await environment.step(action);
          steps++;
          // Reading a character makes a string that was put together lazily whole.
          characters += observation.text.charCodeAt(observation.text.length - 1);
          characters += observation.admissible?.length ?? 0;
          if (done) break;
        }
      stepping = sum(stepping, played());
      episodes += environments.length;
    };
    // The first rounds make the program fast.
    for (const atLeast of [seconds / 4, seconds]) {
      [steps, episodes] = [0, 0];
      [stepping, resetting] = [NOTHING, NOTHING];
      while (stepping.clock + resetting.clock < atLeast) await round();
    }
    if (!(characters > 0)) throw new Error(`${name} showed nothing`);
    return { world: name, step: share(stepping, steps), reset: share(resetting, episodes) };
  } finally {
    await world.close?.();
  }
}

const NOTHING: Seconds = { clock: 0, core: 0 };

function sum(a: Seconds, b: Seconds): Seconds {
  return { clock: a.clock + b.clock, core: a.core + b.core };
}

function share({ clock, core }: Seconds, count: number): Seconds {
  return { clock: clock / count, core: core / count };
}
