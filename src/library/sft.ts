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
  fingerprintsOf,
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
  fingerprintOfExamples,
  folderOfFirst,
  keptEpisodes,
  openWork,
  type Ranks,
  readExamples,
  requireNewModel,
  requireTokensOf,
  resumeFrom,
  type SftPosition,
  type SftResult,
  type TrainingOptions,
  taskOrder,
  type Work,
  weightsIn,
} from "../training/index.ts";
import { fetchedModel } from "./hub/hub.ts";
import type { ProgressChoices, WarmStart } from "./options.ts";
import { type Audience, audienceOf, InterruptedError, throwIfAborted } from "./progress.ts";
import { requireSameWork, withRanks } from "./ranks.ts";

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
  /** The processes that learn together. */
  readonly ranks: Ranks;
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

/** What `sft` takes: a model's folder or its name on the Hub, a world or episodes, and where the result goes. */
export interface SftOptions extends WarmStart, PlayChoices, ProgressChoices {
  /** Default: where the settings say it is. */
  readonly model?: string;
  readonly out: string;
  readonly seed?: number;
  /** By which the tasks are put into order. */
  readonly taskSeed?: number;
}

/** Fine-tunes a model on episodes of a world's expert, or on one's own. */
export function sft(options: SftOptions): Promise<SftReport> {
  return withRanks((ranks) => sftOnRanks(options, ranks));
}

async function sftOnRanks(given: SftOptions, ranks: Ranks): Promise<SftReport> {
  const options = ranks.isFirst ? given : { ...given, progress: false, say() {} };
  const named = await resolveTraining(options, options.model);
  const audience = audienceOf(options);
  const place = await fetchedModel(named.options.model.folder, audience, options.signal);
  const model = requireModelFolder(place);
  // The form that a model has learned is what it goes on with, as in training.
  const resolved = await resolveTraining(options, model, formOf(model, options.settings));
  const { options: run } = resolved;
  await requireSameWork(ranks, { ...resolved, models: { model } });
  const world = await openRunWorld(run.world);
  try {
    return await fineTuneFolder({
      ...options,
      seed: options.seed ?? run.seed,
      ...{ model, world, run, audience, ranks },
    });
  } finally {
    await world.world.close?.();
  }
}

/** Minutes of work that a killed fine-tuning loses at most. */
const SAVE_MINUTES = 5;

export async function fineTuneFolder(parts: SftParts): Promise<SftReport> {
  // Rank 0 makes the episodes, writes checkpoints and the model; all of them learn.
  const { ranks } = parts;
  if (ranks.isFirst) requireNewModel(parts.out, parts.model);
  const work = ranks.isFirst ? openWork<SftPosition>(parts.out) : undefined;
  try {
    const report = await fineTuneIn(work, parts);
    work?.remove();
    return report;
  } finally {
    work?.release();
  }
}

async function fineTuneIn(
  work: Work<SftPosition> | undefined,
  parts: SftParts,
): Promise<SftReport> {
  const { model: folder, out, run, audience, signal, saveMinutes = SAVE_MINUTES, ranks } = parts;
  const { say, progress } = audience;
  const chat = loadChat(folder);
  const load = { dtype: run.play.dtype, device: run.play.device as "cpu" };
  let model = loadModel(folder, load);
  try {
    const made = ranks.isFirst ? await examplesFor(parts, model, chat) : [];
    throwIfAborted(signal, "while episodes were made");
    const examples = ranks.broadcast(made);
    const { holdout = 0 } = parts;
    if (typeof holdout === "number" && holdout > 0 && holdout >= examples.length)
      throw new OptionError(
        `holdout: ${holdout} sequences are to be held out, and there are ${examples.length}; leave some to learn`,
      );
    const wanted = holdout === "tenth" ? Math.min(50, Math.floor(examples.length / 10)) : holdout;
    const held = Math.max(0, Math.min(wanted, examples.length - 1));
    const training = examples.slice(0, examples.length - held);
    const validation = examples.slice(examples.length - held);
    const usual = parts.isNew ? forNewModel(training.length) : FOR_PRETRAINED;
    const { epochs, learningRate: lr, batchSize } = { ...usual, ...chosen(parts) };
    const weightDecay = parts.weightDecay ?? (parts.isNew ? 0 : 0.01);
    const { seed } = parts;
    say(`${training.length} sequences to learn, ${validation.length} held out`);
    const identity = {
      ...{ epochs, lr, batchSize, weightDecay, seed, ...fingerprintsOf(folder) },
      ...{ sequences: training.length, learned: fingerprintOfExamples(training) },
    };
    const found = ranks.broadcast(work?.resume(identity));
    const copy = found === undefined ? undefined : folderOfFirst(ranks, found);
    if (copy) {
      model.dispose();
      model = loadModel(weightsIn(copy.path), load);
    }
    const resume = copy && resumeFrom<SftPosition>(copy.path);
    if (resume) say(`going on after update ${resume.position.update} (${copy.path})`);
    const result = await fineTune(model, training, {
      ...{ epochs, lr, batchSize, weightDecay, seed, validation, resume, ranks },
      ...(work && {
        checkpoints: {
          minutes: saveMinutes,
          save: (position, optimizer) =>
            work.save(position, (place) => saveModel(model, place), optimizer, identity),
        },
      }),
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
    copy?.dispose();
    if (result.isStopped)
      throw new InterruptedError(
        `interrupted after update ${result.updates}, and saved; the same call goes on from there ` +
          `(${parts.out}.training)`,
      );
    if (work) saveModel(model, out, { tokenizerFolder: folder, extraFiles: run.checkpoints.notes });
    return { ...result, model: out, learned: training.length, heldOut: validation.length };
  } finally {
    model.dispose();
  }
}

async function examplesFor(parts: SftParts, model: Model, chat: Chat): Promise<Example[]> {
  const { data, allTokens = parts.isNew ?? false } = parts;
  const examples = allTokens ? examplesOfEverything : examplesOf;
  if (data === undefined) return (await played(parts, model, chat)).flatMap(examples);
  if (typeof data === "string") return readExamples(data, chat, parts.keep);
  if (data.length === 0) throw new OptionError("warmStart: data has no episodes");
  if (isChats(data)) return data.map((messages) => exampleOfChat(chat, messages));
  for (const trajectory of data) requireTokensOf(chat, trajectory, "warmStart.data");
  return keptEpisodes(data, parts.keep ?? "all", "data").flatMap(examples);
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
