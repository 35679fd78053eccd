/**
 * @file What learning from preferences has in common, whether a policy learns (dpo.ts) or a reward model
 * (reward-model.ts): where the model is, where pairs come from, how long it learns, who hears of it.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OptionError, requireModelFolder } from "../../assembly/index.ts";
import { resolveTraining, SETTINGS_FILE, type Settings } from "../../config/index.ts";
import {
  type Chat,
  fingerprintsOf,
  type LoadModelOptions,
  loadChat,
  type Model,
} from "../../models/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import {
  type Holdout,
  type LearnProgress,
  type LoraSettings,
  learnModel,
  type ModelLearned,
  type Objective,
  type PairSource,
  type PassChoices,
  type Ranks,
  requireLength,
  type Sources,
  sourcesIn,
  sourcesOf,
  splitByTask,
  type TokenRow,
  type TrainingOptions,
  type WorkIdentity,
} from "../../training/index.ts";
import { fetchedModel } from "../hub/hub.ts";
import type { ProgressChoices } from "../options.ts";
import { type Audience, audienceOf, InterruptedError } from "../progress.ts";

/** How long and how fast it learns, and what is held out. */
export interface LearningChoices {
  /** Passes over the data. Default 1. */
  readonly epochs?: number;
  /** Default 1e-5. */
  readonly learningRate?: number;
  /** Pairs, or episodes, per update. Default 16. */
  readonly batchSize?: number;
  /** How the rate goes on after it has risen. Default linear: to 0. */
  readonly schedule?: "constant" | "linear" | "cosine";
  /** Updates over which the rate rises. Default: a tenth of all, 20 at most. */
  readonly warmup?: number;
  /** Default 0. */
  readonly weightDecay?: number;
  /** Default 1. */
  readonly gradientClip?: number;
  /**
   * So many that are not learned, in whole tasks; the weights that do best with them are kept. Default "tenth": at most
   * 50. 0: none, and the last weights are kept.
   */
  readonly holdout?: Holdout;
  /** Updates between two looks at what is held out. Default: those of an epoch. */
  readonly validateEvery?: number;
  /** Tokens that are computed at once; a pair is never cut. Default: by memory. */
  readonly tokensPerPass?: number;
  /** Default: trainer.seed. */
  readonly seed?: number;
  /** Minutes between two checkpoints, from which it goes on if it is stopped. Default 5. */
  readonly saveMinutes?: number;
}

export interface PreferenceOptions extends LearningChoices, ProgressChoices {
  /** The model to begin with: its folder, or its name on the Hub. */
  readonly model: string;
  /** Where the result goes: a new folder. Until it is finished, `OUT.training` beside it has checkpoints. */
  readonly out: string;
  /**
   * Folders of rollouts or runs (groups of episodes; what a search found), files of episodes or of preferences in TRL's
   * form (`prompt`, `chosen`, `rejected`), or episodes themselves.
   */
  readonly data: string | readonly string[] | readonly Trajectory[];
  /** Which pairs of folders: of whole episodes, of single steps that searches compared, or all. */
  readonly pairs?: PairSource;
  /** Pairs of episodes that one group gives at most. Default 8. */
  readonly pairsPerGroup?: number;
  /** An adapter is trained, and nothing else. Default: what the settings say, which is none. */
  readonly lora?: Pick<LoraSettings, "rank"> & Partial<LoraSettings>;
  /** Any setting by its verl name: the dtype, the device, an adapter. */
  readonly settings?: Settings;
  readonly preset?: string;
}

export interface PreferenceReport {
  readonly model: string;
  readonly updates: number;
  /** Pairs, or episodes, that were learned, and that were held out. */
  readonly learned: number;
  readonly heldOut: number;
  /** The update whose weights were kept, and its held-out loss; undefined: nothing was held out. */
  readonly best: ModelLearned["best"];
  /** Of what is held out, before the first update and with what was kept. */
  readonly before: Readonly<Record<string, number>>;
  readonly after: Readonly<Record<string, number>>;
}

/** What is known before anything is learned. */
interface Preparation {
  readonly folder: string;
  readonly chat: Chat;
  readonly run: TrainingOptions;
  readonly audience: Audience;
  readonly seed: number;
  readonly lora: LoraSettings | undefined;
  /** The form in which the model acts does not change: what says so goes on. */
  readonly notes: Readonly<Record<string, string>>;
}

async function prepared(options: PreferenceOptions, ranks: Ranks): Promise<Preparation> {
  const audience = audienceOf(ranks.isFirst ? options : { progress: false, say() {} });
  const folder = requireModelFolder(await fetchedModel(options.model, audience, options.signal));
  const { preset, settings } = options;
  const choices = { ...(preset !== undefined && { preset }), ...(settings && { settings }) };
  const { options: run } = await resolveTraining(choices, folder);
  const note = join(folder, SETTINGS_FILE);
  return {
    ...{ folder, run, audience, chat: loadChat(folder), seed: options.seed ?? run.seed },
    lora: options.lora
      ? { alpha: 2 * options.lora.rank, dropout: 0, targets: "all-linear", ...options.lora }
      : run.model.lora,
    notes: existsSync(note) ? { [SETTINGS_FILE]: readFileSync(note, "utf8") } : {},
  };
}

/** What of the choices the loop follows, and what of them must be the same when it goes on. */
function learningOf(options: LearningChoices) {
  const { epochs = 1, learningRate: lr = 1e-5, batchSize = 16, schedule = "linear" } = options;
  const { warmup, weightDecay = 0, gradientClip = 1, validateEvery } = options;
  const common = { epochs, lr, batchSize, schedule, weightDecay, gradientClip };
  return {
    loop: { ...common, warmupUpdates: warmup, validateEvery },
    identity: {
      ...common,
      warmup: warmup ?? "usual",
      validateEvery: validateEvery ?? "every epoch",
    },
  };
}

/** Everything that was given, joined. */
async function sourcesGiven(
  { data }: Pick<PreferenceOptions, "data">,
  chat: Chat,
): Promise<Sources> {
  const list = typeof data === "string" ? [data] : data;
  if (list.length === 0) throw new OptionError("data: there is nothing in it to learn from");
  const parts = list.every((one) => typeof one === "string")
    ? await Promise.all(list.map((path) => sourcesIn(path, chat)))
    : [sourcesOf(list as readonly Trajectory[], chat)];
  return {
    episodes: parts.flatMap(({ episodes }) => episodes),
    findings: parts.flatMap(({ findings }) => findings),
    rows: parts.flatMap(({ rows }) => rows),
  };
}

/** What learners from preferences differ in. */
export interface Learner<Made, Item extends { readonly task: string }> {
  readonly command: "dpo" | "reward-model";
  /** What it learns from, in words. */
  readonly what: string;
  readonly notes?: Readonly<Record<string, string>>;
  load(place: string, options: LoadModelOptions): Model;
  made(sources: Sources): readonly Made[];
  /** All rows of what was made, which must not be too long. */
  rows(made: Made): readonly Pick<TokenRow, "ids">[];
  /** What is learned from it, once the model is there. */
  ready(made: readonly Made[], model: Model, passes: PassChoices): readonly Item[];
  objective(model: Model, passes: PassChoices & { readonly seed: number }): Objective<Item>;
  fingerprint(items: readonly Item[]): string;
  /** What must be the same when it goes on. */
  readonly identity: WorkIdentity;
}

/** A model learns, from what was given and in the way that was chosen; goes on where it was stopped. */
export async function learnFrom<Made, Item extends { readonly task: string }>(
  options: PreferenceOptions,
  ranks: Ranks,
  learner: Learner<Made, Item>,
): Promise<PreferenceReport> {
  const { out, signal, tokensPerPass } = options;
  const { folder, chat, run, audience, seed, lora, notes } = await prepared(options, ranks);
  const { loop, identity } = learningOf(options);
  const passes = { tokensPerPass, checkpointing: run.model.gradientCheckpointing };
  const load = { dtype: run.play.dtype, device: run.play.device as "cpu" };
  const heard = listener(audience, learner.command.replace("-", " "));
  const result = await learnModel<Item>({
    ...{ start: folder, out, lora, seed, ranks, saveMinutes: options.saveMinutes ?? 5 },
    notes: { ...notes, ...learner.notes },
    load: (place) => learner.load(place, load),
    async prepare(model) {
      const made = ranks.isFirst ? learner.made(await sourcesGiven(options, chat)) : [];
      const all = ranks.broadcast(made);
      requireLength(learner.command, all.flatMap(learner.rows), model);
      const items = splitByTask(
        learner.ready(all, model, passes),
        options.holdout ?? "tenth",
        seed,
      );
      const { training, validation } = items;
      audience.say(`${training.length} ${learner.what} to learn, ${validation.length} held out`);
      return {
        ...items,
        identity: {
          ...{ ...identity, ...learner.identity, seed, lora: JSON.stringify(lora ?? "none") },
          ...fingerprintsOf(folder),
          ...{ items: training.length, learned: learner.fingerprint(training) },
          heldOut: learner.fingerprint(validation),
        },
      };
    },
    objective: (model) => learner.objective(model, { ...passes, seed }),
    options: { ...loop, signal, onUpdate: heard.onUpdate },
    onResume: (update) => audience.say(`going on after update ${update} (${out}.training)`),
  });
  audience.progress.clear();
  return reportOf(out, result, heard);
}

/** How an update is told, and what is remembered of it for the report. */
function listener({ say, progress }: Audience, name: string) {
  const looks = new Map<number, Record<string, number>>();
  return {
    looks,
    onUpdate({ update, updates, metrics }: LearnProgress): void {
      const held = Object.fromEntries(
        Object.entries(metrics)
          .filter(([metric]) => metric.startsWith("val/"))
          .map(([metric, value]) => [metric.slice("val/".length), value]),
      );
      if (metrics.loss !== undefined)
        progress.show(name, update, updates, `loss ${metrics.loss.toFixed(3)}`);
      if (Object.keys(held).length === 0) return;
      looks.set(update, held);
      progress.clear();
      const shown = Object.entries(held).map(([metric, value]) => `${metric} ${value.toFixed(4)}`);
      say(
        `${update === 0 ? "before" : `update ${update} of ${updates}`}: held-out ${shown.join(", ")}`,
      );
    },
  };
}

function reportOf(
  out: string,
  result: ModelLearned,
  { looks }: ReturnType<typeof listener>,
): PreferenceReport {
  const { updates, learned, heldOut, best } = result;
  if (result.isStopped)
    throw new InterruptedError(
      `interrupted after update ${updates}, and saved; the same call goes on from there (${out}.training)`,
    );
  return {
    ...{ model: out, updates, learned, heldOut, best },
    before: looks.get(0) ?? {},
    after: looks.get(best?.update ?? updates) ?? {},
  };
}
