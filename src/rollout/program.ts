/**
 * @file One episode that is a program: it asks the policy by itself, over a session of the policy's, as often and
 * in whatever order it likes. What it asked and was answered is the trajectory; what it is worth, it says at its
 * end, or somebody else does.
 *
 * Like any episode it never throws, and like any world the program is not trusted: it has its time, and whatever
 * it does costs this episode alone.
 */
import {
  type AgentProgram,
  EnvironmentError,
  LARGEST_REWARD,
  messageOf,
  type ProgramResult,
  within,
} from "../environments/index.ts";
import type { EpisodeOptions } from "./episode.ts";
import { checkLimits, deadline } from "./limits.ts";
import type { PolicySession, SessionReward } from "./policies/policy.ts";
import type { EpisodeStatus, Trajectory, Turn } from "./trajectory.ts";
import { tellTurns } from "./watch.ts";
import { worldCalls } from "./world-calls.ts";

/** Seconds that a program has to end when it was told to. */
const LEAVING = { seconds: 2 };

interface End {
  readonly status: EpisodeStatus;
  readonly error?: string;
  readonly reward?: SessionReward;
  readonly output?: string;
}

export async function runProgram(
  program: AgentProgram,
  options: EpisodeOptions,
): Promise<Trajectory> {
  const { id, task, seed, policy, limits } = options;
  checkLimits(limits);
  const begun = performance.now();
  const time = deadline(Math.min(limits.seconds ?? Infinity, program.seconds), options.signal);
  const { name } = options.about;
  let isOver = false;
  const calls = worldCalls(name, { seconds: Infinity }, time.signal, {
    fault(sentence, cause) {
      if (isOver) options.onLateFault?.(`${id}: ${name}: ${sentence}`);
      else time.fail(new EnvironmentError(name, sentence, { cause }));
    },
  });
  let session: PolicySession | undefined;
  let turns: readonly Turn[] = [];
  let end: End;
  try {
    if (time.signal.aborted) throw time.signal.reason;
    session = await openSession(options);
    end = await ended(program, options, session, calls.owned.bind(calls), time.signal);
  } catch (error) {
    end = failureOf(error, session, time);
    options.onError?.(error);
  } finally {
    isOver = true;
    turns = session?.turns() ?? [];
    await session?.close();
    time.clear();
  }
  const { reward, output = "", ...rest } = end;
  const outcome = reward?.reward ?? 0;
  const score = reward?.score ?? Math.min(1, Math.max(0, outcome));
  const trajectory: Trajectory = {
    id,
    step: options.step,
    group: options.group,
    member: options.member,
    task,
    seed,
    tokenizer: policy.chat.tokenizer.fingerprint,
    format: "program",
    context: "conversation",
    ...rest,
    won: rest.status === "won",
    score,
    reward: turns.reduce((sum, turn) => sum + turn.reward, outcome),
    outcome,
    turns,
    lastObservation: output,
    attempts: (options.attempt ?? 0) + 1,
    seconds: (performance.now() - begun) / 1000,
  };
  // What it asks and when is its own affair: it is shown when it is over.
  if (options.watch) tellTurns(options.watch, turns);
  options.watch?.ended(trajectory);
  return trajectory;
}

function openSession({ id, task, seed, policy, limits }: EpisodeOptions): Promise<PolicySession> {
  if (!policy.session)
    throw new EnvironmentError(
      task.environment,
      "its episodes are programs that ask a model; neither an expert nor a server of chats can play them. " +
        "Name a model (--model FOLDER).",
    );
  return policy.session({ episode: id, task, seed, limits });
}

async function ended(
  program: AgentProgram,
  { task, seed, about }: EpisodeOptions,
  session: PolicySession,
  owned: <Value>(run: () => Value) => Value,
  signal: AbortSignal,
): Promise<End> {
  const running = owned(() =>
    program.run({
      task,
      baseUrl: session.baseUrl,
      apiKey: session.apiKey,
      seed: Number(seed % 2n ** 31n),
      signal,
    }),
  );
  let result: ProgramResult;
  try {
    result = await within(undefined, "the program", running, signal);
  } catch (error) {
    // It was told to stop; until it has, its session stays open and its name taken.
    if (signal.aborted) await within(LEAVING, "the program", running).catch(() => {});
    // A program that gives up because nothing is answered any more is at its limit, not broken.
    if (session.limit && !signal.aborted)
      return { status: session.limit, ...(session.told && { reward: session.told }) };
    throw error instanceof EnvironmentError
      ? error
      : new EnvironmentError(about.name, messageOf(error), { cause: error });
  }
  if (session.failure) throw session.failure;
  const reward = rewardOf(result, session.told);
  const output = result.output;
  if (!reward) {
    if (session.limit) return { status: session.limit, output };
    if (!program.rewarded) return { status: "lost", output };
    throw new EnvironmentError(
      about.name,
      'the program ended without a reward; give agentProgram a `reward`, print {"reward": 1} as the last line, ' +
        'post it to /v1/sessions/SESSION/reward, or say reward: "components".',
    );
  }
  const wrong = [reward.reward, reward.score ?? 0].find(
    (value) => !(Number.isFinite(value) && Math.abs(value) <= LARGEST_REWARD),
  );
  if (wrong !== undefined)
    throw new EnvironmentError(about.name, `the program's reward is ${wrong}, expected a number.`);
  const won = reward.won ?? (reward.score ?? reward.reward) >= 1;
  return { status: won ? "won" : (session.limit ?? "lost"), reward, output };
}

function rewardOf(
  { reward, score, won }: ProgramResult,
  told: SessionReward | undefined,
): SessionReward | undefined {
  if (reward === undefined && score === undefined && won === undefined) return told;
  return { reward: reward ?? told?.reward ?? score ?? Number(won), score, won };
}

function failureOf(
  error: unknown,
  session: PolicySession | undefined,
  time: ReturnType<typeof deadline>,
): End {
  const message = messageOf(error);
  if (time.fault) return { status: "environment error", error: time.fault.message };
  if (time.expired) return { status: "timeout", error: message };
  if (time.signal.aborted) return { status: "aborted", error: message };
  if (session?.failure) return { status: "policy error", error: session.failure.message };
  return {
    status: error instanceof EnvironmentError ? "environment error" : "policy error",
    error: message,
  };
}
