/**
 * @file The composer: weighted components become the reward of an episode and of its turns, with an
 * account of where each part came from. What it gives is what is trained on (see allocation.ts).
 */
import type { Trajectory } from "../rollout/index.ts";
import type { RewardComponent, RewardInput, RewardValue } from "./component.ts";

export interface ComposedReward {
  /** What belongs to the episode as a whole. */
  readonly episode: number;
  /** [turns] What belongs to a turn. */
  readonly turns: Float64Array;
  /** Their sum: the episode's reward. */
  readonly total: number;
  /** Weighted, by component; they sum up to the total. */
  readonly breakdown: Readonly<Record<string, number>>;
}

/** An episode whose reward could not be computed. It must not be trained on. */
export class RewardError extends Error {
  override name = "RewardError";
  readonly trajectory: string;
  readonly component: string;

  constructor(trajectory: string, component: string, reason: string, options?: ErrorOptions) {
    super(`reward "${component}" of episode ${trajectory}: ${reason}`, options);
    this.trajectory = trajectory;
    this.component = component;
  }
}

export interface RewardComposer {
  readonly components: readonly RewardComponent[];
  /** Throws RewardError when a component does, or when it gives what is no reward. */
  compose(input: RewardInput): Promise<ComposedReward>;
}

export function rewardComposer(components: readonly RewardComponent[]): RewardComposer {
  if (components.length === 0) throw new RangeError("rewards: there is no component");
  const names = components.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new RangeError(`rewards: there are two components "${twice}"`);
  for (const { name, weight } of components)
    if (!Number.isFinite(weight))
      throw new RangeError(`rewards: the weight of "${name}" is ${weight}, expected a number`);
  return {
    components,
    async compose(input) {
      const values = await Promise.all(
        components.map((component) => componentValue(component, input)),
      );
      const turns = new Float64Array(input.trajectory.turns.length);
      const breakdown: Record<string, number> = {};
      let episode = 0;
      for (const [i, { name, weight }] of components.entries()) {
        const value = values[i]!;
        let sum = 0;
        if (typeof value === "number") {
          sum = weight * value;
          episode += sum;
        } else {
          for (const [turn, one] of value.entries()) {
            turns[turn]! += weight * one;
            sum += weight * one;
          }
        }
        breakdown[name] = sum;
      }
      return { episode, turns, total: episode + turns.reduce((a, b) => a + b, 0), breakdown };
    },
  };
}

async function componentValue(
  component: RewardComponent,
  input: RewardInput,
): Promise<RewardValue> {
  const { trajectory } = input;
  const fail = (reason: string, cause?: unknown): never => {
    throw new RewardError(trajectory.id, component.name, reason, { cause });
  };
  let value: unknown;
  try {
    value = await component.compute(input);
  } catch (error) {
    if (error instanceof RewardError) throw error;
    return fail(error instanceof Error ? error.message : String(error), error);
  }
  if (Array.isArray(value) && value.length !== trajectory.turns.length)
    return fail(`${value.length} values for ${trajectory.turns.length} turns`);
  const numbers: readonly unknown[] = Array.isArray(value) ? value : [value];
  const wrong = numbers.find((number) => !Number.isFinite(number));
  if (wrong !== undefined || numbers.includes(undefined))
    return fail(`expected finite numbers, got ${String(wrong)}`);
  return value as RewardValue;
}

export interface ComposedGroup {
  /** By episode; those that failed are not among them. */
  readonly rewards: ReadonlyMap<Trajectory, ComposedReward>;
  readonly errors: readonly RewardError[];
}

/** Composes the rewards of a group. An episode whose reward fails is an error, and left out. */
export async function composeGroup(
  composer: RewardComposer,
  group: readonly Trajectory[],
  rest: Omit<RewardInput, "trajectory" | "group" | "kl"> & {
    kl?: (trajectory: Trajectory) => number | undefined;
  },
): Promise<ComposedGroup> {
  const { kl, ...others } = rest;
  const results = await Promise.all(
    group.map(async (trajectory): Promise<ComposedReward | RewardError> => {
      try {
        return await composer.compose({ ...others, trajectory, group, kl: kl?.(trajectory) });
      } catch (error) {
        if (error instanceof RewardError) return error;
        throw error;
      }
    }),
  );
  // In the group's order, whoever was judged first.
  const rewards = new Map<Trajectory, ComposedReward>();
  const errors: RewardError[] = [];
  for (const [i, result] of results.entries()) {
    if (result instanceof RewardError) errors.push(result);
    else rewards.set(group[i]!, result);
  }
  return { rewards, errors };
}
