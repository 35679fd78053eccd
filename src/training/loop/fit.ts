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
import { type KlController, klController, type Metrics } from "../../algorithms/index.ts";
import { chosenTasks, type RunWorld } from "../../assembly/index.ts";
import type { Task } from "../../environments/index.ts";
import { type AlarmEvent, NO_ALARMS, watchAlarms } from "../../evaluation/index.ts";
import type { LiveFile, MetricsLogger, TokenFolder } from "../../monitoring/index.ts";
import { rewardComposer } from "../../rewards/index.ts";
import {
  checkBatch,
  isTrainable,
  packTrajectories,
  type Trajectory,
  type TrajectoryStore,
} from "../../rollout/index.ts";
import { deviceCopies } from "../../torch/index.ts";
import { AHEAD_FILE, aheadText } from "../checkpoint/ahead-file.ts";
import { pruneCheckpoints, type RunState, saveCheckpoint } from "../checkpoint/checkpoint.ts";
import { REPLAY_FILE, replayText } from "../checkpoint/replay-file.ts";
import { openCurriculum } from "../curriculum/curriculum.ts";
import type { TrainingOptions } from "../options.ts";
import { dealtRows } from "../ranks/deal.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { openReplay, type ReplayBuffer } from "../replay/buffer.ts";
import { onlyFresh, remember, withReplays } from "../replay/replay.ts";
import { recordOf } from "../run/folder.ts";
import { actorSettings, actorSteps } from "../workers/actor.ts";
import { updateCritic } from "../workers/critic.ts";
import { updateOptions } from "../workers/optimize.ts";
import { atOnce, withPauses } from "../workers/steps.ts";
import { allRows } from "../workers/tokens.ts";
import type { Workers } from "../workers/workers.ts";
import { estimateAdvantages, meanAdvantages } from "./advantages.ts";
import { type AheadEpisodes, playAhead, stalenessMetrics } from "./ahead.ts";
import { alarmOptions, type Response, responseTo } from "./alarms.ts";
import { brokenWeights, endedDiverged } from "./ending.ts";
import { createGuards, type Stop } from "./guards.ts";
import { afterRollout, afterUpdate } from "./health.ts";
import {
  copiesSince,
  episodeMetrics,
  episodeSummaries,
  rankFigures,
  rewardMetrics,
  throughputMetrics,
} from "./metrics.ts";
import { prepare, withOldLogprobs } from "./prepare.ts";
import { stopwatch } from "./stopwatch.ts";
import { tokenRecord } from "./token-record.ts";
import { type Validation, validate } from "./validate.ts";
import { resampled, storeEpisodes, varianceProxy } from "./whole.ts";

/** What somebody may want to hear of while it runs. On rank 0; episodes: on every rank its own. */
export interface Hooks {
  /** An episode of the rollout has ended, used or not; its reward is not composed yet. */
  readonly onEpisode?: ((trajectory: Trajectory) => void) | undefined;
  /** An iteration is over, and logged. */
  readonly onIteration?: ((iteration: number, metrics: Metrics) => void) | undefined;
  readonly onValidation?: ((iteration: number, validation: Validation) => void) | undefined;
  /** An alarm begins, gets worse, or is over. */
  readonly onAlarm?: ((event: AlarmEvent) => void) | undefined;
}

export interface FitOptions extends Hooks {
  readonly options: TrainingOptions;
  readonly world: RunWorld;
  readonly workers: Workers;
  readonly ranks: Ranks;
  /** Where it stands; undefined: at the beginning. */
  readonly state?: RunState | undefined;
  /** What was played for the next iteration already. */
  readonly ahead?: AheadEpisodes | undefined;
  /** What may be learned from again; where it is asked for and not given, it is empty. */
  readonly replay?: ReplayBuffer | undefined;
  readonly logger: MetricsLogger;
  readonly store?: TrajectoryStore | undefined;
  readonly validationStore?: TrajectoryStore | undefined;
  /** Where what updates know of single tokens is kept. On rank 0. */
  readonly tokens?: TokenFolder | undefined;
  /** Where the newest episodes can be watched. On rank 0. */
  readonly live?: LiveFile | undefined;
  /** Throws where the run's folder is another process's by now. On rank 0. */
  readonly requireFolder?: (() => void) | undefined;
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
  /** It is to go back to the weights of an earlier checkpoint, and on from there. */
  readonly rollback: Extract<Response, { rollback: unknown }> | undefined;
}

export async function fit(given: FitOptions): Promise<FitResult> {
  const { options, world, workers, ranks, logger, say } = given;
  const { iterations, rollout, validation, checkpoints, actor, critic } = options;
  const parts = { ...given, composer: rewardComposer(options.rewards, options.rewardSeconds) };
  const guards = createGuards(options.guards);
  const replay = given.replay ?? (options.replay && openReplay(options.replay));
  const validationTasks = chosenTasks(await world.world.tasks(world.valSplit), validation.tasks);
  const otherTasks = new Map<string, Task[]>();
  for (const split of validation.also)
    otherTasks.set(split, chosenTasks(await world.world.tasks(split), validation.tasks));

  let state = given.state ?? newState(options);
  let controller: KlController = state.klController;
  const curriculum = await openCurriculum(world, rollout, state);
  /** Where it stands, for a checkpoint. */
  const drawn = () => ({
    drawnTasks: curriculum.drawn,
    ...(curriculum.records && { curriculum: curriculum.records }),
  });
  guards.badUpdates = state.badUpdates;
  const ahead = playAhead(parts, curriculum, given.ahead);
  const begun = performance.now();
  const earlierMinutes = state.minutes;
  const minutes = () => earlierMinutes + (performance.now() - begun) / 60_000;
  const watching = alarmOptions(options);
  const watched = (of: RunState, iteration: number, metrics: Metrics) =>
    watchAlarms(of.alarms ?? NO_ALARMS, iteration, metrics, watching, guards.details);

  if (validation.only || (state.step === 0 && validation.first)) {
    const before = await validateNow(given, validationTasks, otherTasks, state.step);
    if (ranks.isFirst && state.step === 0) logger.log(0, before.metrics);
    if (state.step === 0) state = { ...state, alarms: watched(state, 0, before.metrics).state };
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
  let rollback: FitResult["rollback"];
  // Asked once per iteration, of all ranks together: an interrupt that comes while a checkpoint is being
  // written is the next iteration's.
  let interrupted = ranks.any(given.signal?.aborted ?? false);
  /** Seconds that the last checkpoint took: shown with the iteration after it. */
  let savedIn = 0;
  let lastValidation: Validation | undefined;
  while (!validation.only && state.step < iterations && !(stopped || interrupted || rollback)) {
    const iteration = state.step + 1;
    const time = stopwatch();
    const copied = deviceCopies();

    // Play, score, filter. Every rank has its own tasks; a group is never shared between ranks.
    const isLast = iteration === iterations;
    const episodes = await ahead.take(iteration, time);
    if (!isLast) await ahead.begin(iteration + 1);
    if (options.run.keepTrajectories) storeEpisodes(episodes, ranks, given.store);
    const ended = episodes.all.filter(isTrainable);
    const [usable = 0, played = 0, won = 0] = ranks.sum([
      ...[episodes.trajectories.length, ended.length],
      ended.filter((trajectory) => trajectory.won).length,
    ]);
    guards.played(episodes.account, usable);
    let health = afterRollout(state.health, iteration, { won, episodes: played });

    // Batch.
    const learned = replay ? withReplays(episodes, replay, given, iteration) : onlyFresh(episodes);
    const { places, fresh } = learned;
    const packed = packTrajectories(learned.trajectories, {
      validity: options.play.validity,
      anchors: options.advantages.anchors,
    });
    checkBatch(packed, workers.actor.model.config.vocabularySize);

    // Log-probabilities before the update, the reference's, the critic's values.
    const replayed = new Set(allRows(packed).filter((row) => packed.trajectoryOf[row]! >= fresh));
    const dealt = dealtRows(
      Array.from(packed.trajectoryOf, (i) => places[i]!),
      ranks,
    );
    const before = prepare(given, packed, dealt, time, replayed);
    const { batch } = before;

    // Advantages.
    const estimated = time.phase("adv", () =>
      estimateAdvantages(
        batch,
        { ...before, rewards: learned.rewards, baselines: episodes.baselines?.(batch) },
        options.advantages,
        controller,
        ranks,
      ),
    );
    controller = estimated.klController;

    // Learn.
    const { advantages } = estimated;
    const prepared = withOldLogprobs(given, before, advantages, dealt, time, replayed);
    const metrics: Metrics[] = [estimated.metrics, prepared.metrics, learned.metrics];
    if (replay) remember(replay, learned, meanAdvantages(batch, estimated), ranks, iteration);
    const rows = resampled(options, estimated.scores, iteration, dealt);
    if (workers.critic) {
      const { critic: worker } = workers;
      const inputs = { returns: estimated.returns, oldValues: prepared.values! };
      const result = time.phase("update_critic", () =>
        updateCritic(worker, batch, inputs, critic, options.passes.autocast, {
          ...updateOptions(options, "critic", iteration),
          ...{ dealt, rows },
        }),
      );
      metrics.push(result.metrics);
      guards.updated("critic", result);
    }
    let actorMetrics: Metrics = {};
    const totals = learned.rewards.map(({ total }) => total);
    const record = tokenRecord(options, batch, totals, places, ranks, time);
    if (iteration > critic.warmupIterations) {
      const result = await time.asyncPhase("update_actor", async () => {
        const steps = actorSteps(
          workers.actor,
          batch,
          { ...prepared, advantages: estimated.advantages, watch: record?.watch },
          actorSettings(options),
          { ...updateOptions(options, "actor", iteration), dealt, rows },
        );
        // Servers that play ahead are listened to meanwhile.
        return rollout.oneStepOff && rollout.served ? withPauses(steps) : atOnce(steps);
      });
      actorMetrics = result.metrics;
      const checked = ranks.gather(result.check?.largest).filter((one) => one !== undefined);
      if (checked.length > 0)
        actorMetrics["training/rollout_logprob_diff_max"] = Math.max(...checked);
      actorMetrics["actor/idle_rows"] = ranks.sum([result.idleRows])[0]! / dealt.count;
      if (actor.varianceProxy)
        Object.assign(
          actorMetrics,
          varianceProxy(prepared, estimated.advantages, result.gradientNorm, ranks),
        );
      guards.updated("actor", result);
      health = afterUpdate(health, Math.abs(result.moved ?? 0) > options.guards.maxKl);
    }

    record?.store(estimated, prepared, given.tokens, iteration);

    state = {
      ...state,
      health,
      step: iteration,
      ...drawn(),
      klController: controller,
      badUpdates: guards.badUpdates,
      episodes: state.episodes + ranks.sum([episodes.all.length])[0]!,
      tokens: state.tokens + episodes.account.sampledTokens,
    };

    // Validate, decide, log, save.
    let validated: Validation | undefined;
    if (ranks.isFirst) given.requireFolder?.();
    if (validation.every > 0 && (iteration % validation.every === 0 || isLast)) {
      // The servers' weights are changed for it.
      await ahead.settled();
      const now = await time.asyncPhase("testing", () =>
        validateNow(given, validationTasks, otherTasks, iteration),
      );
      validated = now;
      const successRate = now.successRate ?? 0;
      if (successRate > (state.best?.successRate ?? -1))
        state = { ...state, best: { step: iteration, successRate } };
    }
    interrupted = ranks.any(given.signal?.aborted ?? false);
    const isDue = checkpoints.every > 0 && iteration % checkpoints.every === 0;
    state = { ...state, minutes: minutes() };
    given.store?.flush();
    const report: Metrics = {
      ...Object.assign({}, ...metrics),
      ...episodeMetrics(ranks.gather(episodeSummaries(episodes.all)).flat()),
      ...rewardMetrics(
        ranks.gather(episodes.rewards.map(({ breakdown }) => breakdown)).flat(),
        ranks.gather(episodes.failedRewards).flat(),
      ),
      ...actorMetrics,
      ...validated?.metrics,
      "training/global_step": iteration,
      "training/fallen_rollouts": health?.fallen ?? 0,
      "training/usable_episodes": usable,
      "training/bad_updates": guards.badNow,
      "training/episodes": state.episodes,
      "training/tokens": state.tokens,
      ...episodes.metrics,
      ...(rollout.oneStepOff && stalenessMetrics(episodes, iteration)),
    };
    const watch = watched(state, iteration, report);
    state = { ...state, alarms: watch.state };
    Object.assign(report, watch.metrics);
    if (ranks.isFirst) for (const event of watch.events) given.onAlarm?.(event);
    stopped = ranks
      .gather(guards.stop(iteration, validated?.successRate, minutes()))
      .find((one) => one !== undefined);
    const response = stopped ? undefined : responseTo(watch.serious, state, options, ranks);
    if (response && "stop" in response) stopped = response.stop;
    else rollback = response;
    if (options.alarms.onAlarm === "rollback")
      report["training/rollbacks"] = (rollback?.rollback ?? state).rollbacks?.length ?? 0;
    const figures = ranks.gather(
      rankFigures(episodes, batch, time.metrics(), copiesSince(options.play.device, copied)),
    );
    // Logged before it is saved: a run killed in between goes on from the checkpoint before, and logs
    // this iteration again.
    if (ranks.isFirst) {
      const logged = {
        ...report,
        ...throughputMetrics(episodes.account, figures),
        ...(savedIn > 0 && { "timing_s/save_checkpoint": savedIn }),
      };
      logger.log(iteration, logged);
      given.onIteration?.(iteration, logged);
    }
    savedIn = 0;
    lastValidation = validated;
    const isBest = state.best?.step === iteration;
    // What it goes back to is saved in its place.
    if (rollback) continue;
    if (!(isDue || isLast || stopped || interrupted || isBest)) continue;
    // Each rank looks at what it has of them.
    const broken = ranks.gather(brokenWeights(workers)).find((one) => one !== undefined);
    if (broken !== undefined) {
      stopped = {
        reason: `weights are not finite any more (${broken}), and were not saved; the checkpoint before is whole`,
        failed: true,
      };
    } else if (workers.saves) {
      const since = performance.now();
      const next = await ahead.settled();
      state = { ...state, ...drawn() };
      saveCheckpoint(options.run.folder, workers, state, {
        notes: checkpoints.notes,
        record: {
          ...recordOf(options.run),
          ...(next && { [AHEAD_FILE]: aheadText(next) }),
          ...(replay && { [REPLAY_FILE]: replayText(replay.episodes) }),
        },
        isFirst: ranks.isFirst,
        inShards: checkpoints.inShards && !(isLast || stopped || interrupted || isBest),
      });
      if (!ranks.isFirst) continue;
      pruneCheckpoints(options.run.folder, checkpoints.keep, {
        best: state.best?.step,
        healthy: state.health?.step,
      });
      savedIn = (performance.now() - since) / 1000;
    }
  }
  if (!interrupted && !rollback && !stopped?.failed)
    stopped = endedDiverged(options.run.folder, state, lastValidation) ?? stopped;
  if (stopped) say(`the run ends after iteration ${state.step}: ${stopped.reason}`);
  // One that comes in the last iteration interrupts nothing any more.
  return {
    ...{ state, stopped, rollback },
    interrupted: interrupted && state.step < iterations,
  };
}

export function newState({ advantages }: TrainingOptions): RunState {
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

async function validateNow(
  given: FitOptions,
  tasks: readonly Task[],
  others: ReadonlyMap<string, readonly Task[]>,
  iteration: number,
): Promise<Validation> {
  const { options, world, workers, ranks, signal } = given;
  const play = (some: readonly Task[]) =>
    validate(options, world, workers, some, ranks, iteration, signal);
  const chosenBy = await play(tasks);
  const metrics: Metrics = { ...chosenBy.metrics };
  for (const [split, some] of others) {
    const { metrics: own } = await play(some);
    for (const name of ["success_rate", "episodes"])
      if (own[`val/${name}`] !== undefined) metrics[`val/${split}/${name}`] = own[`val/${name}`]!;
  }
  const validation = { ...chosenBy, metrics };
  for (const trajectory of validation.trajectories)
    given.validationStore?.append({
      ...trajectory,
      step: iteration,
      id: `val-${iteration}-${trajectory.id}`,
    });
  if (ranks.isFirst) given.onValidation?.(iteration, validation);
  return validation;
}
