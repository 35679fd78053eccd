/**
 * @file Options that nobody knows. Types see them, but programs run without being checked (tsx), and an
 * option that is silently ignored costs a whole run.
 */
import { OptionError } from "../assembly/index.ts";
import type {
  AgentChoices,
  AlgorithmChoices,
  CurriculumChoices,
  DifficultyCurriculum,
  HorizonCurriculum,
  KindCurriculum,
  OptimizerChoices,
  ReplayChoices,
  SuccessCurriculum,
  ValidationChoices,
} from "../config/index.ts";
import { presets } from "../models/index.ts";
import { nearest } from "../spelling/index.ts";
import type { NewModel, TrainCall, TrainOptions, WarmStart } from "./options.ts";

/** Every name there is; the compiler says which is missing. */
type Names<Options> = Readonly<Record<keyof Options, true>>;

const TRAIN: Names<TrainOptions> = {
  ...{ world: true, worldOptions: true, agent: true, turns: true, constrain: true, isolate: true },
  ...{ settings: true, preset: true, algorithm: true, rewards: true, iterations: true },
  ...{ tasks: true, groupSize: true, learningRate: true, optimizer: true, seed: true },
  ...{ validation: true, folder: true, restart: true, model: true, warmStart: true },
  ...{ loggers: true, progress: true, say: true, signal: true, search: true },
  ...{ replay: true, curriculum: true },
  ...{ onPrepared: true, onEpisode: true, onIteration: true, onValidation: true, onAlarm: true },
};
const AGENT: Names<AgentChoices> = {
  ...{ format: true, context: true, history: true, tools: true, prompts: true },
  ...{ examples: true, showAdmissible: true, replyTokens: true, promptTokens: true },
};
const ALGORITHM: Names<AlgorithmChoices> = {
  ...{ name: true, estimator: true, loss: true, gamma: true, lambda: true, clipRatio: true },
  ...{ entropy: true, kl: true, epochs: true, miniBatch: true },
};
const OPTIMIZER: Names<OptimizerChoices> = {
  ...{ warmup: true, schedule: true, weightDecay: true, betas: true },
};
const VALIDATION: Names<ValidationChoices> = {
  ...{ every: true, tasks: true, split: true, also: true, heldOut: true, temperature: true },
};
const REPLAY: Names<ReplayChoices> = {
  ...{ rescue: true, share: true, capacity: true, perTask: true, minimumScore: true },
  ...{ maximumAge: true, priority: true, halfLife: true, correction: true, threshold: true },
};
const SUCCESS: Names<SuccessCurriculum> = { by: true, floor: true, unseen: true, memory: true };
const KIND: Names<KindCurriculum> = { by: true, floor: true, memory: true };
const DIFFICULTY: Names<DifficultyCurriculum> = { by: true, easiest: true, iterations: true };
const HORIZON: Names<HorizonCurriculum> = { by: true, stages: true };
/** Each way has options of its own: those of another one would do nothing. */
const CURRICULA: Record<CurriculumChoices["by"], Names<object>> = {
  ...{ success_rate: SUCCESS, kind: KIND, difficulty: DIFFICULTY, horizon: HORIZON },
};
const NEW_MODEL: Names<NewModel> = {
  ...{ preset: true, family: true, vocabulary: true, tasks: true, numbers: true },
  ...{ matching: true, seed: true },
};
const WARM_START: Names<WarmStart> = {
  ...{
    episodes: true,
    data: true,
    keep: true,
    mistakes: true,
    repeatMistakes: true,
    randomActions: true,
  },
  ...{ randomPattern: true, dagger: true, allTokens: true, epochs: true, learningRate: true },
  ...{ batchSize: true, weightDecay: true, holdout: true, seed: true, saveMinutes: true },
};

/** Throws OptionError for a name that is none of train's. */
export function checkOptions(options: TrainCall): void {
  const { agent, algorithm, optimizer, validation, model, warmStart, replay, curriculum } = options;
  const sections = [
    ["", options, TRAIN],
    ["agent.", agent, AGENT],
    ["algorithm.", algorithm, ALGORITHM],
    ["optimizer.", optimizer, OPTIMIZER],
    ["validation.", validation, VALIDATION],
    ["model.", model, NEW_MODEL],
    ["warmStart.", warmStart, WARM_START],
    ["replay.", replay, REPLAY],
    ["curriculum.", curriculum, waysOf(curriculum)],
  ] as const;
  for (const [path, given, names] of sections)
    if (typeof given === "object") checkSection(path, given, Object.keys(names));
  if (typeof model === "object") checkPreset(model.preset);
}

/** What a way that there is not has for options cannot be said: it is refused by its name. */
function waysOf(curriculum: TrainCall["curriculum"]): Names<object> {
  const by = typeof curriculum === "object" ? curriculum.by : curriculum;
  if (by === undefined && typeof curriculum === "object")
    throw new OptionError(
      `curriculum.by is missing, expected ${Object.keys(CURRICULA).join(" · ")}`,
    );
  const known = by !== undefined && Object.hasOwn(CURRICULA, by);
  return known ? CURRICULA[by] : { ...SUCCESS, ...DIFFICULTY, ...HORIZON };
}

function checkSection(path: string, given: object, names: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const guess = nearest(unknown, names);
  throw new OptionError(
    `there is no option ${path}${unknown}` +
      (guess ? `; did you mean ${path}${guess}?` : `. There are ${names.join(", ")}.`),
  );
}

function checkPreset(name: string): void {
  const names = presets.map((preset) => preset.name);
  if ((names as string[]).includes(name)) return;
  throw new OptionError(`model.preset is ${JSON.stringify(name)}, expected ${names.join(" · ")}`);
}
