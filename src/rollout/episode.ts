/**
 * @file One episode, from the first observation to the trajectory: turn after turn of a line (line.ts), until
 * something ends it.
 *
 * It is a plain async function. Hundreds run at once; whatever they ask of the policy at the same time
 * is one batch there. It never throws: every way to end is a status.
 */
import type { Agent } from "../agents/index.ts";
import { type Environment, EnvironmentError, messageOf, type Task } from "../environments/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { checkLimits, type Deadline, deadline, type EpisodeLimits, stepLimit } from "./limits.ts";
import { createLine, type Line, type WorldFacts } from "./line.ts";
import type { Policy } from "./policies/policy.ts";
import type { EpisodeStatus, Trajectory } from "./trajectory.ts";
import { type EpisodeWatch, tellTurns } from "./watch.ts";
import { worldCalls } from "./world-calls.ts";

export interface EpisodeOptions {
  readonly id: string;
  readonly step: number;
  readonly group: string;
  readonly member: number;
  readonly task: Task;
  readonly seed: bigint;
  readonly environment: Environment;
  /** What the prompt says of the world. */
  readonly about: WorldFacts;
  readonly agent: Agent;
  readonly policy: Policy;
  readonly limits: EpisodeLimits;
  readonly signal?: AbortSignal | undefined;
  /** How often it was begun before. */
  readonly attempt?: number;
  /** Hears of a fault of the world that came when the episode was over. */
  readonly onLateFault?: ((sentence: string) => void) | undefined;
  /** Hears what ended the episode, where an error did. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Watches it grow. */
  readonly watch?: EpisodeWatch | undefined;
}

export function runEpisode(options: EpisodeOptions): Promise<Trajectory> {
  return inEpisode(options, async (line) => {
    while (!line.status) await line.play(deriveSeed(options.seed, line.turns.length));
    return line;
  });
}

/**
 * Begins a line, has it played in whatever way, and gives the line that came out as an episode. Time limits and faults
 * of the world are watched meanwhile; what fails is the episode's status.
 */
export async function inEpisode(
  options: EpisodeOptions,
  play: (line: Line, signal: AbortSignal) => Promise<Line>,
): Promise<Trajectory> {
  const { id, limits } = options;
  checkLimits(limits);
  const begun = performance.now();
  const time = deadline(limits.seconds, options.signal);
  const { name } = options.about;
  let isOver = false;
  const limit = options.environment.timed ? { seconds: Infinity } : stepLimit(limits);
  const calls = worldCalls(name, limit, time.signal, {
    fault(sentence, cause) {
      if (isOver) options.onLateFault?.(`${id}: ${name}: ${sentence}`);
      else time.fail(new EnvironmentError(name, sentence, { cause }));
    },
  });
  const root = createLine({ ...options, calls });
  let line = root;
  let end: { status: EpisodeStatus; error?: string };
  try {
    await root.begin();
    line = await play(root, time.signal);
    end = { status: line.status! };
  } catch (error) {
    end = failure(error, time);
    options.onError?.(error);
  } finally {
    isOver = true;
    time.clear();
    root.end();
  }
  const trajectory = trajectoryOf(options, line, end, (performance.now() - begun) / 1000);
  // What was searched for is shown when it was found.
  if (options.watch && line !== root) tellTurns(options.watch, trajectory.turns);
  options.watch?.ended(trajectory);
  return trajectory;
}

/** A line as an episode that ended so. */
export function trajectoryOf(
  { id, step, group, member, task, seed, policy, agent, attempt = 0 }: EpisodeOptions,
  { turns, score, lastText }: Line,
  end: { readonly status: EpisodeStatus; readonly error?: string },
  seconds: number,
): Trajectory {
  return {
    ...{ id, step, group, member, task, seed },
    tokenizer: policy.chat.tokenizer.fingerprint,
    format: agent.format.name,
    context: agent.context,
    ...end,
    won: end.status === "won",
    score,
    reward: turns.reduce((sum, { reward }) => sum + reward, 0),
    turns,
    lastObservation: lastText,
    attempts: attempt + 1,
    seconds,
  };
}

function failure(error: unknown, time: Deadline): { status: EpisodeStatus; error: string } {
  const message = messageOf(error);
  if (time.fault) return { status: "environment error", error: time.fault.message };
  if (time.expired) return { status: "timeout", error: message };
  if (time.signal.aborted) return { status: "aborted", error: message };
  const status = error instanceof EnvironmentError ? "environment error" : "policy error";
  return { status, error: message };
}
