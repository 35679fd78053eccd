/**
 * @file The training loop, top to bottom:
 *
 *   Task ─► play ─► score ─► filter ─► batch ─► log-probabilities, reference, values ─► advantages
 *            ▲                                                                              │
 *            └── engine ◄── weights ◄── update the actor ◄── update the critic ◄────────────┘
 *                                             │
 *                                             └─► validate ─► decide ─► log ─► save
 *
 * Every rank goes through it with its own groups of episodes (ranks.ts). Everything random follows from
 * (run seed, iteration), so a run that goes on from a checkpoint is bitwise the run that was never stopped.
 */
import {
  type KlController,
  klController,
  type Metrics,
  reduceMetrics,
  resampleRows,
  resampleWeights,
  varianceProxyMetrics,
} from "../../algorithms/index.ts";
import { chosenTasks, type RunWorld } from "../../assembly/index.ts";
import type { Task } from "../../environments/index.ts";
import type { MetricsLogger } from "../../monitoring/index.ts";
import { rewardComposer } from "../../rewards/index.ts";
import {
  checkBatch,
  packTrajectories,
  type Trajectory,
  type TrajectoryStore,
} from "../../rollout/index.ts";
import { derivedGenerator } from "../../torch/index.ts";
import { pruneCheckpoints, type RunState, saveCheckpoint } from "../checkpoint/checkpoint.ts";
import type { TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { actorSettings, updateActor } from "../workers/actor.ts";
import { updateCritic } from "../workers/critic.ts";
import { updateOptions } from "../workers/optimize.ts";
import type { Workers } from "../workers/workers.ts";
import { estimateAdvantages } from "./advantages.ts";
import { collectEpisodes } from "./collect.ts";
import { createGuards, type Stop } from "./guards.ts";
import { episodeMetrics, rewardMetrics, throughputMetrics } from "./metrics.ts";
import { prepare } from "./prepare.ts";
import { stopwatch } from "./stopwatch.ts";
import { taskOrder } from "./task-order.ts";
import { type Validation, validate } from "./validate.ts";

/** What somebody may want to hear of while it runs. On rank 0; episodes: on every rank its own. */
export interface Hooks {
  /** An episode of the rollout has ended, used or not; its reward is not composed yet. */
  readonly onEpisode?: ((trajectory: Trajectory) => void) | undefined;
  /** An iteration is over, and logged. */
  readonly onIteration?: ((iteration: number, metrics: Metrics) => void) | undefined;
  readonly onValidation?: ((iteration: number, validation: Validation) => void) | undefined;
}

export interface FitOptions extends Hooks {
  readonly options: TrainingOptions;
  readonly world: RunWorld;
  readonly workers: Workers;
  readonly ranks: Ranks;
  /** Where it stands; undefined: at the beginning. */
  readonly state?: RunState | undefined;
  readonly logger: MetricsLogger;
  readonly store?: TrajectoryStore | undefined;
  readonly validationStore?: TrajectoryStore | undefined;
  /** A sentence for whoever watches. */
  readonly say: (text: string) => void;
  /** Aborted: the iteration is finished and saved, then the run ends. */
  readonly signal?: AbortSignal | undefined;
}

export interface FitResult {
  readonly state: RunState;
  /** Why it ended before its last iteration. */
  readonly stopped: Stop | undefined;
  /** Aborted before its last iteration. */
  readonly interrupted: boolean;
}

export async function fit(given: FitOptions): Promise<FitResult> {
  const { options, world, workers, ranks, logger, say } = given;
  const { iterations, rollout, validation, checkpoints, actor, critic } = options;
  const parts = { ...given, composer: rewardComposer(options.rewards) };
  const guards = createGuards(options.guards);
  const train = taskOrder(
    await world.world.tasks(world.trainSplit),
    rollout.shuffleSeed,
    rollout.shuffle,
  );
  const validationTasks = chosenTasks(await world.world.tasks(world.valSplit), validation.tasks);

  let state = given.state ?? newState(options);
  let controller: KlController = state.klController;
  train.drawn = state.drawnTasks;
  guards.badUpdates = state.badUpdates;
  const begun = performance.now();
  const earlierMinutes = state.minutes;
  const minutes = () => earlierMinutes + (performance.now() - begun) / 60_000;

  if (validation.only || (state.step === 0 && validation.first)) {
    const before = await validateNow(given, validationTasks, state.step);
    if (ranks.isFirst && state.step === 0) logger.log(0, before.metrics);
    // What it begins with may stay the best that there is.
    if (state.step === 0 && before.successRate !== undefined)
      state = { ...state, best: { step: 0, successRate: before.successRate } };
    if (validation.only)
      say(
        `validation after iteration ${state.step}: ` +
          `${(100 * (before.successRate ?? 0)).toFixed(1)} % of ${validationTasks.length} tasks`,
      );
  }
  let stopped: Stop | undefined;
  // Asked once per iteration, of all ranks together: an interrupt that comes while a checkpoint is being
  // written is the next iteration's.
  let interrupted = ranks.broadcast(given.signal?.aborted ?? false);
  /** Seconds that the last checkpoint took: shown with the iteration after it. */
  let savedIn = 0;
  while (!validation.only && state.step < iterations && !stopped && !interrupted) {
    const iteration = state.step + 1;
    const time = stopwatch();
    const alarm = (texts: readonly string[]) => {
      for (const text of texts) say(`iteration ${iteration}: ${text}`);
    };

    // Play, score, filter. Every rank has its own tasks; a group is never shared between ranks.
    const episodes = await collectEpisodes(parts, train, iteration, time);
    for (const trajectory of episodes.all) given.store?.append(trajectory);
    const [usable = 0] = ranks.sum([episodes.trajectories.length]);
    alarm(guards.played(episodes.account, usable));

    // Batch.
    const packed = packTrajectories(episodes.trajectories, {
      validity: options.play.validity,
      anchors: options.advantages.anchors,
    });
    checkBatch(packed, workers.actor.model.config.vocabularySize);

    // Log-probabilities before the update, the reference's, the critic's values.
    const prepared = prepare(given, packed, time);
    const { batch } = prepared;

    // Advantages.
    const estimated = time.phase("adv", () =>
      estimateAdvantages(
        batch,
        { ...prepared, rewards: episodes.rewards, baselines: episodes.baselines?.(batch) },
        options.advantages,
        controller,
        ranks,
      ),
    );
    controller = estimated.klController;

    // Learn.
    const metrics: Metrics[] = [estimated.metrics, prepared.metrics];
    const rows = resampled(options, estimated.scores, iteration, ranks);
    if (workers.critic) {
      const { critic: worker } = workers;
      const inputs = { returns: estimated.returns, oldValues: prepared.values! };
      const result = time.phase("update_critic", () =>
        updateCritic(worker, batch, inputs, critic, options.passes.autocast, {
          ...updateOptions(options, "critic", iteration),
          rows,
        }),
      );
      metrics.push(result.metrics);
      alarm(guards.alarms("critic", result));
    }
    let actorMetrics: Metrics = {};
    if (iteration > critic.warmupIterations) {
      const result = time.phase("update_actor", () =>
        updateActor(
          workers.actor,
          batch,
          { ...prepared, advantages: estimated.advantages },
          actorSettings(options),
          { ...updateOptions(options, "actor", iteration), rows },
        ),
      );
      actorMetrics = result.metrics;
      if (result.check) actorMetrics["training/rollout_logprob_diff_max"] = result.check.largest;
      if (actor.varianceProxy)
        Object.assign(
          actorMetrics,
          varianceProxyMetrics({
            rows: batch.rows,
            advantages: estimated.advantages,
            oldLogprobs: prepared.oldLogprobs!,
            squaredProbabilities: prepared.squaredProbabilities!,
            importanceWeights: prepared.importanceWeights,
            gradientNorm: result.gradientNorm,
          }),
        );
      alarm(guards.alarms("actor", result));
    }

    state = {
      ...state,
      step: iteration,
      drawnTasks: train.drawn,
      klController: controller,
      badUpdates: guards.badUpdates,
      episodes: state.episodes + ranks.sum([episodes.all.length])[0]!,
      tokens: state.tokens + ranks.sum([episodes.account.sampledTokens])[0]!,
    };

    // Validate, decide, log, save.
    const isLast = iteration === iterations;
    let validated: Validation | undefined;
    if (validation.every > 0 && (iteration % validation.every === 0 || isLast)) {
      const now = await time.asyncPhase("testing", () =>
        validateNow(given, validationTasks, iteration),
      );
      validated = now;
      const successRate = now.successRate ?? 0;
      if (successRate > (state.best?.successRate ?? -1))
        state = { ...state, best: { step: iteration, successRate } };
    }
    stopped = ranks
      .gather(guards.stop(iteration, validated?.successRate, minutes()))
      .find((one) => one !== undefined);
    interrupted = ranks.broadcast(given.signal?.aborted ?? false);
    const isDue = checkpoints.every > 0 && iteration % checkpoints.every === 0;
    state = { ...state, minutes: minutes() };
    given.store?.flush();
    const report: Metrics = {
      ...reduceMetrics(
        ranks.gather({
          ...Object.assign({}, ...metrics),
          ...episodeMetrics(episodes.all),
          ...rewardMetrics(episodes.rewards),
        }),
      ),
      ...actorMetrics,
      ...validated?.metrics,
      "training/global_step": iteration,
      "training/episodes": state.episodes,
      "training/tokens": state.tokens,
      ...ranks.addMetrics(episodes.metrics),
    };
    // Logged before it is saved: a run killed in between goes on from the checkpoint before, and logs
    // this iteration again.
    if (ranks.isFirst) {
      const logged = {
        ...report,
        ...time.metrics(),
        ...throughputMetrics(episodes, batch, time.metrics()),
        ...(savedIn > 0 && { "timing_s/save_checkpoint": savedIn }),
      };
      logger.log(iteration, logged);
      given.onIteration?.(iteration, logged);
    }
    savedIn = 0;
    const isBest = state.best?.step === iteration;
    if (ranks.isFirst && (isDue || isLast || stopped || interrupted || isBest)) {
      const since = performance.now();
      saveCheckpoint(options.run.folder, workers, state, checkpoints.notes);
      pruneCheckpoints(options.run.folder, checkpoints.keep, state.best?.step);
      savedIn = (performance.now() - since) / 1000;
    }
  }
  if (stopped) say(`the run ends after iteration ${state.step}: ${stopped.reason}`);
  // One that comes in the last iteration interrupts nothing any more.
  return { state, stopped, interrupted: interrupted && state.step < iterations };
}

function newState({ advantages }: TrainingOptions): RunState {
  return {
    version: 1,
    step: 0,
    drawnTasks: 0,
    klController: klController(advantages.klInReward),
    badUpdates: { actor: 0, critic: 0, rollout: 0 },
    best: null,
    episodes: 0,
    tokens: 0,
    minutes: 0,
  };
}

/** PF-PPO: rows drawn again by their scores. Undefined: each row once. */
function resampled(
  { advantages: { resampling }, seed }: TrainingOptions,
  scores: Float64Array,
  iteration: number,
  { rank }: Ranks,
): readonly number[] | undefined {
  if (!resampling) return undefined;
  const generator = derivedGenerator(seed, "resampling", iteration, rank);
  try {
    const weights = resampleWeights(scores, resampling.method, resampling.power);
    return [...resampleRows(weights, generator)];
  } finally {
    generator.dispose();
  }
}

async function validateNow(
  given: FitOptions,
  tasks: readonly Task[],
  iteration: number,
): Promise<Validation> {
  const { options, world, workers, ranks } = given;
  const validation = await validate(options, world, workers, tasks, ranks, iteration);
  for (const trajectory of validation.collection.all)
    given.validationStore?.append({
      ...trajectory,
      step: iteration,
      id: `val-${iteration}-${trajectory.id}`,
    });
  if (ranks.isFirst) given.onValidation?.(iteration, validation);
  return validation;
}
