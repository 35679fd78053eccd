/**
 * @file Supervised fine-tuning: a model learns from episodes before it learns by itself. From the world's
 * expert, played through the same loop as everything else, or from episodes of one's own.
 */
import {
  modelPlayer,
  OptionError,
  openRunWorld,
  type RunWorld,
  requireModelFolder,
} from "../assembly/index.ts";
import { formOf, type PlayChoices, resolveTraining } from "../config/index.ts";
import {
  type Chat,
  type ChatMessage,
  loadChat,
  loadModel,
  type Model,
  saveModel,
} from "../models/index.ts";
import type { Trajectory } from "../rollout/index.ts";
import {
  type Example,
  exampleOfChat,
  examplesOf,
  examplesOfEverything,
  expertEpisodes,
  fineTune,
  readExamples,
  type SftResult,
  type TrainingOptions,
  taskOrder,
} from "../training/index.ts";
import type { ProgressChoices, WarmStart } from "./options.ts";
import { type Audience, audienceOf, throwIfAborted } from "./progress.ts";

/** As in model.ts. */
const ORDER = 2;

export interface SftParts extends WarmStart {
  /** The model to begin with, and where the one that has learned goes. */
  readonly model: string;
  readonly out: string;
  readonly world: RunWorld;
  /** How it plays, draws and is saved: as in the training that follows. */
  readonly run: TrainingOptions;
  readonly seed: number;
  /** By which the tasks are put into order. Default: another than that of training. */
  readonly taskSeed?: number;
  /** A model from nothing: it learns everything, fast. Default: one that can talk. */
  readonly isNew?: boolean;
  readonly audience: Audience;
  readonly signal?: AbortSignal | undefined;
}

type Learning = Required<Pick<WarmStart, "epochs" | "learningRate" | "batchSize">>;

const FOR_PRETRAINED: Learning = { epochs: 3, learningRate: 5e-5, batchSize: 8 };

/** Some thousand sequences in all. */
function forNewModel(sequences: number): Learning {
  const epochs = Math.min(10, Math.max(1, Math.ceil(3000 / sequences)));
  return { epochs, learningRate: 4e-3, batchSize: 4 };
}

function chosen({ epochs, learningRate, batchSize }: WarmStart): Partial<Learning> {
  return {
    ...(epochs !== undefined && { epochs }),
    ...(learningRate !== undefined && { learningRate }),
    ...(batchSize !== undefined && { batchSize }),
  };
}

export interface SftReport extends SftResult {
  readonly model: string;
  /** Sequences that were learned, and that were held out. */
  readonly learned: number;
  readonly heldOut: number;
}

/** What `sft` takes: a model's folder, a world or episodes, and where the result goes. */
export interface SftOptions extends WarmStart, PlayChoices, ProgressChoices {
  /** Default: where the settings say it is. */
  readonly model?: string;
  readonly out: string;
  readonly seed?: number;
  /** By which the tasks are put into order. */
  readonly taskSeed?: number;
}

/** Fine-tunes a model on episodes of a world's expert, or on one's own. */
export async function sft(options: SftOptions): Promise<SftReport> {
  const named = await resolveTraining(options, options.model);
  const model = requireModelFolder(named.options.model.folder);
  // The form that a model has learned is what it goes on with, as in training.
  const { options: run } = await resolveTraining(options, model, formOf(model));
  const world = await openRunWorld(run.world);
  try {
    return await fineTuneFolder({
      ...options,
      seed: options.seed ?? run.seed,
      ...{ model, world, run, audience: audienceOf(options) },
    });
  } finally {
    await world.world.close?.();
  }
}

export async function fineTuneFolder(parts: SftParts): Promise<SftReport> {
  const { model: folder, out, run, audience, signal } = parts;
  const { say, progress } = audience;
  const chat = loadChat(folder);
  const model = loadModel(folder, { dtype: run.play.dtype, device: run.play.device as "cpu" });
  try {
    const examples = await examplesFor(parts, model, chat);
    throwIfAborted(signal, "while episodes were made");
    const { holdout = 0 } = parts;
    const wanted = holdout === "tenth" ? Math.min(50, Math.floor(examples.length / 10)) : holdout;
    const held = Math.max(0, Math.min(wanted, examples.length - 1));
    const training = examples.slice(0, examples.length - held);
    const validation = examples.slice(examples.length - held);
    const usual = parts.isNew ? forNewModel(training.length) : FOR_PRETRAINED;
    const { epochs, learningRate: lr, batchSize } = { ...usual, ...chosen(parts) };
    say(`${training.length} sequences to learn, ${validation.length} held out`);
    const result = await fineTune(model, training, {
      ...{ epochs, lr, batchSize },
      weightDecay: parts.weightDecay ?? (parts.isNew ? 0 : 0.01),
      seed: parts.seed,
      validation,
      checkpointing: run.model.gradientCheckpointing,
      signal,
      onUpdate: ({ update, updates, loss }) =>
        progress.show("warm start", update, updates, `loss ${loss.toFixed(3)}`),
      onEpoch: (epoch, validationLoss) => {
        progress.clear();
        const shown =
          validationLoss === undefined || held <= 0
            ? ""
            : `, held-out loss ${validationLoss.toFixed(4)}`;
        if (epochs > 1) say(`epoch ${epoch} of ${epochs}${shown}`);
      },
    });
    progress.clear();
    throwIfAborted(signal, "in the warm start");
    saveModel(model, out, { tokenizerFolder: folder, extraFiles: run.checkpoints.notes });
    return { ...result, model: out, learned: training.length, heldOut: validation.length };
  } finally {
    model.dispose();
  }
}

async function examplesFor(parts: SftParts, model: Model, chat: Chat): Promise<Example[]> {
  const { data, allTokens = parts.isNew ?? false } = parts;
  const examples = allTokens ? examplesOfEverything : examplesOf;
  if (data === undefined) return (await played(parts, model, chat)).flatMap(examples);
  if (typeof data === "string") return readExamples(data, chat);
  if (data.length === 0) throw new OptionError("warmStart: data has no episodes");
  return isChats(data)
    ? data.map((messages) => exampleOfChat(chat, messages))
    : data.flatMap(examples);
}

function isChats(
  data: readonly Trajectory[] | readonly (readonly ChatMessage[])[],
): data is readonly (readonly ChatMessage[])[] {
  return Array.isArray(data[0]);
}

/** Episodes of the expert; with a student, of both. */
async function played(parts: SftParts, model: Model, chat: Chat): Promise<Trajectory[]> {
  const { world, run, seed, audience, signal, dagger = 0 } = parts;
  const { play } = run;
  const { say, progress } = audience;
  if (world.world.source !== undefined) say(`episodes: ${world.world.source}`);
  const taskSeed = parts.taskSeed ?? seed + ORDER;
  const order = taskOrder(await world.world.tasks(world.trainSplit), taskSeed, true);
  const tasks = order.next(parts.episodes ?? 300);
  let done = 0;
  const common = {
    ...{ play, world, chat, tasks, seed, signal },
    contextLength: model.config.maximumPositions,
    onEpisode: () => progress.show("expert episodes", ++done, tasks.length),
  };
  const player = dagger > 0 ? modelPlayer(model, chat, play) : undefined;
  try {
    const pattern = parts.randomPattern ?? /./u;
    const episodes = await expertEpisodes({
      ...common,
      ...(player
        ? { student: { policy: player.drawing(run.rollout.sampling), share: dagger } }
        : {
            mistakes: parts.mistakes ?? 0.05,
            repeatMistakes: parts.repeatMistakes ?? 0,
            ...(parts.randomActions && {
              randomActions: {
                share: parts.randomActions,
                allows: (action: string) => pattern.test(action),
              },
            }),
          }),
    });
    progress.clear();
    const won = episodes.filter((trajectory) => trajectory.won).length;
    say(`${player ? "model and expert" : "the expert"} solved ${won} of ${tasks.length} tasks`);
    return episodes;
  } finally {
    await player?.close();
  }
}
