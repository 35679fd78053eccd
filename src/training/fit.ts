/**
 * @file The training loop, top to bottom:
 *
 *   collect → compose the reward → log-probabilities, reference, values → advantages
 *           → update the critic → update the actor → validate → save
 *
 * Every process of a run goes through it with its own groups of episodes (ranks.ts). Everything random
 * follows from (run seed, iteration), so a run that goes on from a checkpoint is bitwise the run that
 * was never stopped.
 */
import {
  type KlController,
  klController,
  type Metrics,
  reduceMetrics,
} from "../algorithms/index.ts";
import { type Config, totalIterations } from "../config/index.ts";
import type { Task } from "../environments/index.ts";
import {
  type ConfiguredWorld,
  chosenTasks,
  judgeOf,
  SETTINGS_FILE,
  settingsNote,
} from "../evaluation/index.ts";
import type { MetricsLogger } from "../monitoring/index.ts";
import type { RewardComponent } from "../rewards/index.ts";
import { checkBatch, packTrajectories, type TrajectoryStore } from "../rollout/index.ts";
import { updateActor } from "./actor.ts";
import { estimateAdvantages } from "./advantages.ts";
import { pruneCheckpoints, type RunState, saveCheckpoint } from "./checkpoint/checkpoint.ts";
import { collectGroups } from "./collect.ts";
import { updateCritic } from "./critic.ts";
import { createGuards, type Stop } from "./guards.ts";
import { prepare } from "./prepare.ts";
import type { Ranks } from "./ranks.ts";
import { composerOf, rewardGroups } from "./reward.ts";
import { episodeMetrics, throughputMetrics } from "./run-metrics.ts";
import { stopwatch } from "./stopwatch.ts";
import { taskOrder } from "./task-order.ts";
import { actorUpdateOptions, criticUpdateOptions } from "./update-options.ts";
import { type Validation, validate } from "./validate.ts";
import type { Workers } from "./workers.ts";

export interface FitOptions {
  readonly config: Config;
  readonly world: ConfiguredWorld;
  readonly workers: Workers;
  readonly ranks: Ranks;
  /** The run's folder: checkpoints go there. */
  readonly folder: string;
  /** Where it stands; undefined: at the beginning. */
  readonly state?: RunState | undefined;
  readonly logger: MetricsLogger;
  readonly store?: TrajectoryStore | undefined;
  readonly validationStore?: TrajectoryStore | undefined;
  /** Reward components of one's own. */
  readonly rewards?: readonly RewardComponent[];
  /** A sentence for whoever watches. */
  readonly say: (text: string) => void;
  /** Aborted: the iteration is finished and saved, then the run ends. */
  readonly signal?: AbortSignal | undefined;
  readonly onValidation?: (step: number, validation: Validation) => void;
}

export interface FitResult {
  readonly state: RunState;
  /** Why it ended before its last iteration. */
  readonly stopped: Stop | undefined;
  readonly interrupted: boolean;
}

export async function fit(options: FitOptions): Promise<FitResult> {
  const { config, world, workers, ranks, logger, say } = options;
  const { trainer, data } = config;
  const composer = composerOf(config, options.rewards, judgeOf(config));
  const guards = createGuards(config);
  const total = totalIterations(config);
  const train = taskOrder(
    await world.world.tasks(world.trainSplit),
    data.seed ?? trainer.seed,
    data.shuffle,
  );
  const validationTasks = chosenTasks(await world.world.tasks(world.valSplit), data.val_batch_size);

  let state = options.state ?? newState(config);
  let controller: KlController = state.klController;
  train.drawn = state.drawnTasks;
  guards.badUpdates = state.badUpdates;
  const begun = performance.now();
  const earlierMinutes = state.minutes;
  const minutes = () => earlierMinutes + (performance.now() - begun) / 60_000;

  if (trainer.val_only || (state.step === 0 && trainer.val_before_train)) {
    const before = await validateNow(options, validationTasks, state.step);
    if (ranks.leads && state.step === 0) logger.log(0, before);
    if (trainer.val_only)
      say(
        `validation after iteration ${state.step}: ` +
          `${(100 * (before["val/success_rate"] ?? 0)).toFixed(1)} % of ${validationTasks.length} tasks`,
      );
  }
  let stopped: Stop | undefined;
  // Asked once per iteration, of all processes together: an interrupt that comes while a checkpoint is
  // being written is the next iteration's.
  let interrupted = ranks.agree(options.signal?.aborted ?? false);
  /** Seconds that the last checkpoint took: shown with the iteration after it. */
  let savedIn = 0;
  while (!trainer.val_only && state.step < total && !stopped && !interrupted) {
    const step = state.step + 1;
    const time = stopwatch();

    // Play. Every process has its own tasks; a group is never shared between processes.
    const collection = await time.asyncPhase("gen", () =>
      collectGroups(options, composer, train, step),
    );

    // Score. What is composed here is what is trained on.
    const episodes = await time.asyncPhase("reward", () =>
      rewardGroups(composer, collection.groups, world.turns, collection.kl),
    );
    for (const error of episodes.errors) say(error.message);
    for (const trajectory of episodes.trajectories) options.store?.append(trajectory);
    const [usable = 0] = ranks.sum([episodes.trajectories.length]);
    for (const alarm of guards.played(collection.account, usable))
      say(`iteration ${step}: ${alarm}`);
    const batch = packTrajectories(episodes.trajectories, {
      validity: config.env.validity,
      anchors: config.algorithm.gigpo.anchors,
    });
    checkBatch(batch, workers.actor.model.config.vocabularySize);

    // Log-probabilities before the update, the reference's, the critic's values.
    const prepared = prepare(options, batch, step, time);

    // Advantages.
    const estimated = time.phase("adv", () =>
      estimateAdvantages(
        batch,
        { ...prepared, rewards: episodes.rewards, baselines: collection.baselines?.(batch) },
        config,
        controller,
        ranks,
      ),
    );
    controller = estimated.klController;

    // Learn.
    const metrics: Metrics[] = [estimated.metrics, prepared.metrics];
    if (workers.critic) {
      const { critic } = workers;
      const inputs = { returns: estimated.returns, oldValues: prepared.values! };
      const result = time.phase("update_critic", () =>
        updateCritic(critic, batch, inputs, config, criticUpdateOptions(config, step)),
      );
      metrics.push(result.metrics);
      for (const alarm of guards.alarms("critic", result)) say(`iteration ${step}: ${alarm}`);
    }
    let actorMetrics: Metrics = {};
    if (step > trainer.critic_warmup) {
      const result = time.phase("update_actor", () =>
        updateActor(
          workers.actor,
          batch,
          { ...prepared, advantages: estimated.advantages },
          config,
          actorUpdateOptions(config, step),
        ),
      );
      actorMetrics = result.metrics;
      if (result.check) actorMetrics["training/rollout_logprob_diff_max"] = result.check.largest;
      for (const alarm of guards.alarms("actor", result)) say(`iteration ${step}: ${alarm}`);
    }
    workers.engine.weightsChanged(step);

    state = {
      ...state,
      step,
      drawnTasks: train.drawn,
      klController: controller,
      badUpdates: guards.badUpdates,
      episodes: state.episodes + ranks.sum([collection.all.length])[0]!,
      tokens: state.tokens + ranks.sum([collection.account.sampledTokens])[0]!,
    };

    // Validate, decide, save, log.
    const isLast = step === total;
    let validated: Metrics = {};
    if (trainer.test_freq > 0 && (step % trainer.test_freq === 0 || isLast)) {
      validated = await time.asyncPhase("testing", () =>
        validateNow(options, validationTasks, step),
      );
      const successRate = validated["val/success_rate"] ?? 0;
      if (successRate > (state.best?.successRate ?? -1))
        state = { ...state, best: { step, successRate } };
    }
    stopped = ranks
      .gather(guards.stop(step, validated, minutes()))
      .find((one) => one !== undefined);
    interrupted = ranks.agree(options.signal?.aborted ?? false);
    const isDue = trainer.save_freq > 0 && step % trainer.save_freq === 0;
    state = { ...state, minutes: minutes() };
    options.store?.flush();
    const report: Metrics = {
      ...reduceMetrics(
        ranks.gather({
          ...Object.assign({}, ...metrics),
          ...episodeMetrics(collection.all, config),
        }),
      ),
      ...actorMetrics,
      ...validated,
      "training/global_step": step,
      "training/episodes": state.episodes,
      "training/tokens": state.tokens,
      ...ranks.addMetrics(collection.metrics),
    };
    // Logged before it is saved: a run killed in between goes on from the checkpoint before, and logs
    // this iteration again.
    if (ranks.leads)
      logger.log(step, {
        ...report,
        ...time.metrics(),
        ...throughputMetrics(collection, batch, time.metrics()),
        ...(savedIn > 0 && { "timing_s/save_checkpoint": savedIn }),
      });
    savedIn = 0;
    if (ranks.leads && (isDue || isLast || stopped || interrupted || state.best?.step === step)) {
      const since = performance.now();
      saveCheckpoint(options.folder, workers, state, { [SETTINGS_FILE]: settingsNote(config) });
      pruneCheckpoints(options.folder, trainer.max_actor_ckpt_to_keep, state.best?.step);
      savedIn = (performance.now() - since) / 1000;
    }
  }
  if (stopped) say(`the run ends after iteration ${state.step}: ${stopped.reason}`);
  return { state, stopped, interrupted };
}

function newState({ algorithm }: Config): RunState {
  const { type, kl_coef, target_kl, horizon } = algorithm.kl_ctrl;
  return {
    version: 1,
    step: 0,
    drawnTasks: 0,
    klController: klController({ type, coefficient: kl_coef, target: target_kl, horizon }),
    badUpdates: { actor: 0, critic: 0, rollout: 0 },
    best: null,
    episodes: 0,
    tokens: 0,
    minutes: 0,
  };
}

async function validateNow(
  options: FitOptions,
  tasks: readonly Task[],
  step: number,
): Promise<Metrics> {
  const { config, world, workers, ranks } = options;
  // Nothing cached may carry over: a run that is resumed here has nothing cached.
  workers.engine.weightsChanged(step);
  workers.lora?.merge();
  try {
    const validation = await validate(config, world, workers, tasks, ranks);
    for (const trajectory of validation.collection.all)
      options.validationStore?.append({ ...trajectory, step, id: `val-${step}-${trajectory.id}` });
    options.onValidation?.(step, validation);
    return validation.metrics;
  } finally {
    workers.lora?.unmerge();
    workers.engine.weightsChanged(step);
  }
}
