/**
 * @file How good is a model, and is it better than another?
 */
import {
  chosenTasks,
  evaluateFolder,
  OptionError,
  openRunWorld,
  requireModelFolder,
} from "../assembly/index.ts";
import { type PlayChoices, type Resolved, resolvePlay, settingsOf } from "../config/index.ts";
import {
  comparePaired,
  type PairedComparison,
  type SuccessTable,
  successTable,
} from "../evaluation/index.ts";
import type { Trajectory } from "../rollout/index.ts";
import { runResults } from "../training/index.ts";
import type { ProgressChoices } from "./options.ts";
import { audienceOf, throwIfAborted } from "./progress.ts";

export interface EvaluateOptions extends PlayChoices, ProgressChoices {
  /** A model's folder, or a run's: its best policy. */
  readonly model: string;
  /** The same tasks with another model, and a paired test of the difference. */
  readonly against?: string | undefined;
  /** Default: the validation split. */
  readonly split?: string | undefined;
  /** So many tasks, always the same choice; null: all of the split. Default: null. */
  readonly tasks?: number | null;
  /** Episodes per task. Default 1. */
  readonly episodes?: number;
  /** Of sampling; 0: the most likely token. Default: that of validation (0.4). */
  readonly temperature?: number;
}

export interface Evaluation {
  readonly model: string;
  readonly world: string;
  /** Where the world's tasks come from. */
  readonly source: string | undefined;
  readonly split: string;
  readonly tasks: number;
  /** Only admissible actions could be drawn: never to be mistaken for free generation. */
  readonly constrained: boolean;
  readonly table: SuccessTable;
  readonly trajectories: readonly Trajectory[];
  readonly against: { readonly model: string; readonly table: SuccessTable } | undefined;
  readonly comparison: PairedComparison | undefined;
}

/** An evaluation against another model. */
export interface ComparedEvaluation extends Evaluation {
  readonly against: NonNullable<Evaluation["against"]>;
  readonly comparison: PairedComparison;
}

/** What comes of these options: with another model, a comparison. */
export type EvaluationOf<Options> = Options extends { readonly against: string }
  ? ComparedEvaluation
  : Evaluation;

export async function evaluate<Options extends EvaluateOptions>(
  options: Options,
): Promise<EvaluationOf<Options>> {
  const model = policyIn(options.model);
  const resolved = await resolvePlay(options, settingsOf(model));
  return (await evaluateWith(resolved, { ...options, model })) as EvaluationOf<Options>;
}

/** The same, where the settings are known already. */
export async function evaluateWith(
  { play, world: where }: Pick<Resolved, "play" | "world">,
  options: EvaluateOptions,
): Promise<Evaluation> {
  const { model, tasks: count = null, episodes = 1, signal } = options;
  const { progress } = audienceOf(options);
  const world = await openRunWorld(where);
  try {
    const set = await world.world.tasks(options.split ?? world.valSplit);
    const tasks = chosenTasks(set, count);
    const played = async (folder: string): Promise<readonly Trajectory[]> => {
      let done = 0;
      try {
        const { all } = await evaluateFolder(folder, {
          ...{ play, world, tasks, members: episodes, signal },
          onEpisode: () => progress.show(folder, ++done, tasks.length * episodes),
        });
        throwIfAborted(signal, "while episodes were played");
        return all;
      } finally {
        progress.clear();
      }
    };
    const own = await played(model);
    const against = options.against === undefined ? undefined : policyIn(options.against);
    const other = against === undefined ? undefined : await played(against);
    return {
      model,
      world: world.about.name,
      source: world.world.source,
      split: set.split,
      tasks: tasks.length,
      constrained: play.constrain,
      table: successTable(own, play.validity),
      trajectories: own,
      against: other && { model: against!, table: successTable(other, play.validity) },
      comparison: other && comparePaired(other, own),
    };
  } finally {
    await world.world.close?.();
  }
}

/** The model of a folder: itself, or the best policy of a run (the last, where it has not validated). */
export function policyIn(path: string): string {
  const found = runResults(path);
  if (found) return (found.best ?? found.last).folder;
  try {
    return requireModelFolder(path);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new OptionError(
      `${error.message} (A run's folder will do, too, once it has saved a checkpoint.)`,
    );
  }
}
