/**
 * @file The composer: weighted components become the reward of an episode and of its turns, with an
 * account of where each part came from. What it gives is what is trained on (see allocation.ts).
 */
import {
  holdStrayFaults,
  messageOf,
  onBehalfOf,
  type TimeLimit,
  warnOfFault,
  within,
} from "../environments/index.ts";
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

/** Seconds of a component for an episode, where nobody says otherwise. */
const SECONDS = 120;
/** A weighted value is no larger than this, either way: sums and squares of such numbers stay numbers. */
const LARGEST = 1e9;

/** `seconds`: how long a component is waited for, for each episode. Default 120. */
export function rewardComposer(
  components: readonly RewardComponent[],
  seconds = SECONDS,
): RewardComposer {
  if (components.length === 0) throw new RangeError("rewards: there is no component");
  const names = components.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new RangeError(`rewards: there are two components "${twice}"`);
  for (const { name, weight } of components)
    if (!Number.isFinite(weight))
      throw new RangeError(`rewards: the weight of "${name}" is ${weight}, expected a number`);
  const limit: TimeLimit = { seconds, setting: "reward.seconds" };
  return {
    components,
    async compose(input) {
      const release = holdStrayFaults();
      let values: RewardValue[];
      try {
        values = await Promise.all(
          components.map((component) => componentValue(component, input, limit)),
        );
      } finally {
        release();
      }
      const turns = new Float64Array(input.trajectory.turns.length);
      const breakdown: Record<string, number> = {};
      let episode = 0;
      for (const [i, { name, weight }] of components.entries()) {
        const value = partsOf(values[i]!);
        let sum = weight * value.episode;
        episode += sum;
        for (const [turn, one] of value.turns.entries()) {
          turns[turn]! += weight * one;
          sum += weight * one;
        }
        breakdown[name] = sum;
      }
      return { episode, turns, total: episode + turns.reduce((a, b) => a + b, 0), breakdown };
    },
  };
}

function partsOf(value: RewardValue): { episode: number; turns: readonly number[] } {
  if (typeof value === "number") return { episode: value, turns: [] };
  return "episode" in value ? value : { episode: 0, turns: value };
}

async function componentValue(
  component: RewardComponent,
  input: RewardInput,
  limit: TimeLimit,
): Promise<RewardValue> {
  const { trajectory } = input;
  const fail = (reason: string, cause?: unknown): never => {
    throw new RewardError(trajectory.id, component.name, reason, { cause });
  };
  // A fault in what it started and does not wait for is its own, too.
  const broken = new AbortController();
  // Whoever is too late is told to stop: a judge that never answers must not hold a connection for ever.
  const over = new AbortController();
  // Not AbortSignal.any: in Node 20 the signal of a whole run keeps something of each that is made with it.
  const stop = (): void => over.abort(input.signal?.reason);
  if (input.signal?.aborted) stop();
  input.signal?.addEventListener("abort", stop, { once: true });
  let isOver = false;
  const owner = {
    fault(sentence: string) {
      if (isOver) warnOfFault(`the reward "${component.name}": ${sentence}`);
      else broken.abort(new Error(sentence));
    },
  };
  let value: unknown;
  try {
    const computed = onBehalfOf(owner, () => component.compute({ ...input, signal: over.signal }));
    value = await within(limit, `the reward ${component.name}`, computed, broken.signal);
  } catch (error) {
    if (error instanceof RewardError) throw error;
    return fail(messageOf(error), error);
  } finally {
    isOver = true;
    input.signal?.removeEventListener("abort", stop);
    over.abort();
  }
  const { episode, turns } = (
    typeof value === "object" && value !== null && !Array.isArray(value) ? value : {}
  ) as { episode?: unknown; turns?: unknown };
  const both = Array.isArray(turns) && episode !== undefined;
  const list: unknown = both ? turns : value;
  if (Array.isArray(list) && list.length !== trajectory.turns.length)
    return fail(`${list.length} values for ${trajectory.turns.length} turns`);
  const numbers: readonly unknown[] = [
    ...(Array.isArray(list) ? list : [list]),
    ...(both ? [episode] : []),
  ];
  const wrong = numbers.find((number) => !Number.isFinite(number));
  if (wrong !== undefined || numbers.includes(undefined))
    return fail(`expected finite numbers, got ${String(wrong)}`);
  const { weight } = component;
  const huge = (numbers as number[]).find((number) => Math.abs(weight * number) > LARGEST);
  if (huge !== undefined)
    return fail(
      `${huge} with a weight of ${weight} is too large; expected at most ${LARGEST} either way`,
    );
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
