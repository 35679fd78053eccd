/**
 * @file A world of which one call in five goes wrong, by a seed: it throws, throws what is no error, rejects, hangs, gives
 * garbage, or dies for good; at reset, in a step, at close. What does not go wrong is the world's own.
 */
import {
  defineWorld,
  type Environment,
  type Random,
  type StepResult,
  seededRandom,
  type WorldDefinition,
} from "../../src/environments/index.ts";

export const FAULTS = [
  ...["throws", "throws no error", "rejects", "hangs", "dies", "garbage", "no number"],
] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyOptions {
  readonly seed: number;
  /** Of calls that go wrong. Default 0.2; 0: none does, and everything else is the same. */
  readonly share?: number;
  readonly name?: string;
  /** Hears of every fault. */
  readonly onFault?: (fault: Fault, call: string) => void;
}

/** Another one each time: whoever waits is kept by what it waits for. */
const never = () => new Promise<never>(() => {});

export function faultyWorld(inner: WorldDefinition, options: FaultyOptions): WorldDefinition {
  const { name = `faulty-${inner.name}`, seed } = options;
  let made = 0;
  return defineWorld({
    ...inner,
    name,
    async open(given) {
      const world = await inner.open(given);
      return {
        ...world,
        environment: () =>
          faultyEnvironment(world.environment(), seededRandom("faults", seed, made++), options),
      };
    },
  });
}

function faultyEnvironment(
  inner: Environment,
  random: Random,
  { share = 0.2, onFault }: FaultyOptions,
): Environment {
  let dead = false;
  const call = <Value>(name: string, run: () => Value): Value => {
    if (dead) throw new Error("the world is dead");
    if (!random.chance(share)) return run();
    const fault = random.pick(FAULTS);
    onFault?.(fault, name);
    switch (fault) {
      case "throws":
        throw new Error("the world threw");
      case "throws no error":
        throw undefined;
      case "rejects":
        return Promise.reject(new Error("the world rejected")) as Value;
      case "hangs":
        return never() as Value;
      case "dies":
        dead = true;
        throw new Error("the world died");
      case "garbage":
        return { text: 7, observation: null } as Value;
      default:
        return { ...run(), reward: Number.NaN, text: undefined };
    }
  };
  return {
    reset: (task) => call("reset", () => inner.reset(task)),
    step: (action) => call("step", () => inner.step(action) as StepResult),
    close() {
      if (share > 0 && random.chance(0.3)) return never();
      if (share > 0 && random.chance(0.3)) throw new Error("it does not want to be closed");
      return inner.close?.();
    },
  };
}
