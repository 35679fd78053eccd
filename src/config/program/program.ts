/**
 * @file From a program's objects and values to settings and things of one's own: the way of the command
 * line and that of a program meet here, and are one from here on.
 */
import { basename, resolve as resolvePath } from "node:path";
import type {
  AgentChoices,
  AlgorithmChoices,
  CurriculumChoices,
  PlayChoices,
  ReplayChoices,
  SearchChoices,
  TrainingChoices,
  ValidationChoices,
} from "./choices.ts";
import type { OwnNames } from "../names.ts";
import { type ResolvedRun, runOptions } from "../options/run.ts";
import type { Tree } from "../override.ts";
import type { OwnParts } from "../own-parts.ts";
import { resolveConfig } from "../resolve.ts";
import type { Config, Settings } from "../schema.ts";

export interface Resolved extends ResolvedRun {
  readonly config: Config;
  /** Settings that were given and do nothing here, with the reason. */
  readonly notes: readonly string[];
}

/** `base`: settings that everything else wins over; what a model's folder says. */
export async function resolvePlay(
  choices: PlayChoices & Pick<ValidationChoices, "temperature">,
  base: Tree = {},
): Promise<Resolved> {
  const { temperature } = choices;
  const trees = [
    playSettings(choices),
    validationSettings(temperature === undefined ? {} : { temperature }),
    choices.settings ?? {},
  ];
  return resolve(choices.preset, base, trees, ownParts(choices));
}

/** `model`, `critic`: where the models to train are, where that is known; they win over the settings. */
export async function resolveTraining(
  options: TrainingChoices,
  model?: string,
  base: Tree = {},
  critic?: string,
): Promise<Resolved> {
  const { algorithm: given, rewards, settings } = options;
  const algorithm: AlgorithmChoices =
    typeof given === "object" ? given : given ? { name: given } : {};
  const own: OwnParts = {
    ...ownParts(options),
    rewards,
    estimator: algorithm.estimator,
    loss: typeof algorithm.loss === "object" ? algorithm.loss : undefined,
  };
  const trees = [
    playSettings(options),
    algorithmSettings(algorithm),
    validationSettings(options.validation),
    runSettings(options),
    // A list of rewards is the whole reward, unless the settings say so of the world's, too.
    rewards ? { reward: { environment: 0 } } : {},
  ];
  const place = {
    ...(model !== undefined && { actor_rollout_ref: { model: { path: model } } }),
    ...(critic !== undefined && { critic: { model: { path: critic } } }),
  };
  return resolve(options.preset, base, [...trees, settings ?? {}, place], own);
}

async function resolve(
  preset: string | undefined,
  base: Tree,
  trees: readonly Settings[],
  own: OwnParts,
): Promise<Resolved> {
  const { config, notes } = resolveConfig({
    ...{ base, preset, own: namesOf(own) },
    settings: trees,
  });
  return { config, notes, ...(await runOptions(config, own)) };
}

function ownParts({ world, agent = {} }: PlayChoices): OwnParts {
  const { format, prompts, history, tools } = agent;
  return {
    world: typeof world === "object" ? world : undefined,
    format: typeof format === "object" ? format : undefined,
    prompts: typeof prompts === "object" ? prompts : undefined,
    // A summary without somebody who writes it is the policy's own: a setting.
    history:
      typeof history === "object" && history.kind === "summary" && !("summarize" in history)
        ? undefined
        : history,
    tools,
  };
}

const OWN_NAME = "own";

function namesOf({ format, prompts, history, estimator, loss, rewards }: OwnParts): OwnNames {
  return {
    ...(format && { format: format.name }),
    ...(prompts && { prompts: OWN_NAME }),
    ...(typeof history === "function" && { history: OWN_NAME }),
    ...(estimator && { estimator: estimator.name ?? OWN_NAME }),
    ...(loss && { loss: loss.name ?? OWN_NAME }),
    ...(rewards && { rewards: rewards.map(({ name }) => name) }),
  };
}

function playSettings(choices: PlayChoices): Settings {
  const { world, worldOptions, isolate, agent = {}, turns, constrain, search } = choices;
  return {
    env: {
      env_name: typeof world === "object" ? world.name : world,
      options: worldOptions,
      isolate,
      max_steps: turns,
      ...(search && { search: searchSettings(search) }),
      ...agentSettings(agent),
    },
    data: { max_response_length: agent.replyTokens, max_prompt_length: agent.promptTokens },
    actor_rollout_ref: { rollout: { constrain } },
  };
}

function searchSettings({ budget = {}, judgePath, judgeScale, ...how }: SearchChoices): object {
  const { tokens, states, seconds } = budget;
  const judge = { judge_path: judgePath, judge_scale: judgeScale };
  return {
    ...how,
    ...judge,
    budget_tokens: tokens,
    budget_states: states,
    budget_seconds: seconds,
  };
}

function agentSettings(agent: AgentChoices): NonNullable<Settings["env"]> {
  const { format, context, history, tools, prompts } = agent;
  const kind = typeof history === "function" ? OWN_NAME : history?.kind;
  const length = typeof history === "object" && "length" in history ? history.length : undefined;
  return {
    format:
      typeof format === "object" ? format.name : (format ?? (tools?.length ? "tools" : undefined)),
    context: context ?? (history ? "steps" : undefined),
    history: kind,
    history_length: length,
    prompts: typeof prompts === "object" ? OWN_NAME : prompts,
    examples: agent.examples,
    show_admissible: agent.showAdmissible,
  };
}

function algorithmSettings(choices: AlgorithmChoices): Settings {
  const { name, estimator, loss } = choices;
  return {
    algorithm: {
      adv_estimator: estimator ? (estimator.name ?? OWN_NAME) : name === "ppo" ? "gae" : name,
      gamma: choices.gamma,
      lam: choices.lambda,
    },
    actor_rollout_ref: {
      actor: {
        policy_loss: { loss_mode: typeof loss === "object" ? (loss.name ?? OWN_NAME) : loss },
        clip_ratio: choices.clipRatio,
        entropy_coeff: choices.entropy,
        use_kl_loss: choices.kl === undefined ? undefined : choices.kl > 0,
        kl_loss_coef: choices.kl,
        ppo_epochs: choices.epochs,
        ppo_mini_batch_size: choices.miniBatch,
      },
    },
  };
}

function validationSettings(validation: ValidationChoices = {}): Settings {
  const { every, tasks, split, also, heldOut, temperature } = validation;
  return {
    trainer: {
      test_freq: every === 0 ? -1 : every,
      val_before_train: every === 0 ? false : undefined,
    },
    data: { val_batch_size: tasks, held_out: heldOut },
    env: { val_split: split, also_validate: also && [...also] },
    actor_rollout_ref: {
      rollout: {
        val_kwargs: {
          temperature,
          do_sample: temperature === undefined ? undefined : temperature > 0,
        },
      },
    },
  };
}

function runSettings(options: TrainingChoices): Settings {
  const { iterations, tasks, groupSize, learningRate, seed, folder, restart } = options;
  const { warmup, schedule, weightDecay, betas } = options.optimizer ?? {};
  return {
    trainer: {
      total_epochs: iterations,
      seed,
      default_local_dir: folder,
      // What reports and servers call it.
      experiment_name: folder === undefined ? undefined : basename(resolvePath(folder)),
      resume_mode: restart ? "disable" : undefined,
    },
    data: { train_batch_size: tasks, ...curriculumSettings(options.curriculum) },
    algorithm: replaySettings(options.replay),
    env: { rollout: { n: groupSize } },
    actor_rollout_ref: {
      actor: {
        optim: {
          lr: learningRate,
          lr_warmup_steps: warmup,
          warmup_style: schedule,
          weight_decay: weightDecay,
          betas,
        },
      },
    },
  };
}

/** An object switches it on: who says how it is to be done wants it. */
function replaySettings(choices: boolean | ReplayChoices | undefined): Settings["algorithm"] {
  if (typeof choices !== "object")
    return choices === undefined ? {} : { replay: { enable: choices } };
  const { perTask, minimumScore, maximumAge, halfLife, ...rest } = choices;
  return {
    replay: {
      ...{ enable: true, ...rest, per_task: perTask, min_score: minimumScore },
      ...{ max_age: maximumAge, half_life: halfLife },
    },
  };
}

function curriculumSettings(
  choices: CurriculumChoices["by"] | CurriculumChoices | undefined,
): Pick<NonNullable<Settings["data"]>, "curriculum"> {
  if (choices === undefined) return {};
  if (typeof choices !== "object") return { curriculum: { by: choices } };
  if (choices.by !== "horizon") return { curriculum: choices };
  const { by, stages } = choices;
  return { curriculum: { by, stages: stages?.map(([from, turns]) => [from, turns]) } };
}
