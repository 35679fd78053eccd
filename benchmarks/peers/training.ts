/**
 * @file A training step of 4,096 tokens beside transformers on a current torch: forward, backward, AdamW. Each is a
 * process that does only that, because its peak memory is compared, too.
 */
import type { PeersOptions } from "./arguments.ts";
import { askOurs, askPython } from "./children.ts";
import type { Measured } from "./report.ts";
import type { Setting } from "./setting.ts";
import { cutter, TRAINING_CASES, TRAINING_LENGTH, TRAINING_SEQUENCES } from "./workloads.ts";

export interface TrainingRequest {
  readonly folder: string;
  /** [sequences][tokens] */
  readonly ids: readonly (readonly number[])[];
  readonly entropy: boolean;
  /** Steps that are timed, after one that is not. */
  readonly steps: number;
}

export interface TrainingAnswer {
  /** Of a step: the median. */
  readonly seconds: number;
  /** The loss of the first step: both must compute the same. */
  readonly loss: number;
  readonly peakBytes: number;
  readonly about: string;
}

const STEPS = 2;
/** How far losses of the same step may be apart. */
const TOLERANCE = 1e-3;

export async function measureTraining(
  { peers, rounds }: PeersOptions,
  setting: Setting,
): Promise<Measured[]> {
  const cut = cutter(setting.text);
  const ids = Array.from({ length: TRAINING_SEQUENCES }, () => cut(TRAINING_LENGTH));
  const measured: Measured[] = [];
  const whos = (["ours", "transformers"] as const).filter((who) => peers.includes(who));
  for (let round = 0; round < rounds; round++)
    for (const [what, { entropy }] of Object.entries(TRAINING_CASES)) {
      if (!setting.isWanted(what)) continue;
      const losses: number[] = [];
      for (const who of whos) {
        setting.say(`training, round ${round + 1}, ${what}: ${who} …`);
        const request: TrainingRequest = { folder: setting.folder, ids, entropy, steps: STEPS };
        const found = await setting.attempt(who, () =>
          who === "ours"
            ? askOurs<TrainingAnswer>("training.ts", request, setting)
            : askPython<TrainingAnswer>("torch", "transformers_trains.py", request, setting),
        );
        if (!found) continue;
        const { seconds, peakBytes, about, loss } = found;
        measured.push({ who, what, round, seconds, peakBytes, about });
        losses.push(loss);
        const speed = (TRAINING_SEQUENCES * TRAINING_LENGTH) / seconds;
        setting.say(`  ${speed.toFixed(1)} tokens/s, ${(peakBytes / 1e9).toFixed(2)} GB`);
      }
      requireSame(losses);
    }
  return measured;
}

/** Throws where the losses of one step differ: then they did not compute the same. */
function requireSame(losses: readonly number[]): void {
  if (losses.length > 0 && Math.max(...losses) - Math.min(...losses) > TOLERANCE)
    throw new Error(`the losses of the same step differ: ${losses.join(", ")}`);
}
