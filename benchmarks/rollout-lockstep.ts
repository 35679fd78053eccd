/**
 * @file The yardstick of the rollout benchmark: a loop in lock-step, as the original works. In every
 * turn all episodes, also those that are over, generate together from prompts that are computed from
 * their beginning; nobody goes on before the last one has answered.
 *
 * It has our engine, so what is compared is the loop alone. A whole run would take the better part of an
 * hour; its cost is smooth in the turn, so some turns are measured and the others lie between them.
 */
import { createEngine, type SamplingOptions } from "../src/generation/index.ts";
import type { Model } from "../src/models/index.ts";

export interface LockStepOptions {
  readonly model: Model;
  /** [episodes][turns] What was asked; shorter for episodes that ended. */
  readonly prompts: readonly (readonly (readonly number[])[])[];
  readonly turns: number;
  /** The turns that are measured, ascending, the first and the last among them. */
  readonly measured: readonly number[];
  readonly sampling: SamplingOptions;
  readonly cacheBytes: number;
  readonly onTurn: (turn: number, seconds: number) => void;
}

/** Seconds for all turns, by the wall's clock and of the processor. */
export async function lockStepSeconds(
  options: LockStepOptions,
): Promise<{ seconds: number; cpuSeconds: number }> {
  const { model, prompts, turns, measured, sampling, cacheBytes } = options;
  const engine = createEngine(model, { cacheBytes });
  const seconds: number[] = [];
  const cpuSeconds: number[] = [];
  for (const turn of measured) {
    // Nothing of an earlier turn is known any more.
    engine.weightsChanged();
    const begun = performance.now();
    const before = process.cpuUsage();
    await Promise.all(
      prompts.map((own, episode) =>
        engine.generate({
          prompt: own[Math.min(turn, own.length - 1)]!,
          sampling,
          seed: episode * turns + turn,
        }),
      ),
    );
    seconds.push((performance.now() - begun) / 1000);
    cpuSeconds.push(secondsOf(process.cpuUsage(before)));
    options.onTurn(turn, seconds.at(-1)!);
  }
  await engine.close();
  return {
    seconds: integral(measured, seconds, turns),
    cpuSeconds: integral(measured, cpuSeconds, turns),
  };
}

export function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1e6;
}

/** The sum over turns 0 … turns − 1 of a line through the measured ones. */
export function integral(
  places: readonly number[],
  values: readonly number[],
  turns: number,
): number {
  let sum = 0;
  for (let turn = 0; turn < turns; turn++) {
    const after = Math.max(
      1,
      places.findIndex((place) => place >= turn),
    );
    const [left, right] = [places[after - 1]!, places[after]!];
    const share = (turn - left) / (right - left);
    sum += values[after - 1]! * (1 - share) + values[after]! * share;
  }
  return sum;
}
