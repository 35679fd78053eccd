/**
 * @file One episode, from the first observation to the trajectory:
 *
 *   observe → prompt ids → policy.reply → parse → step → record, until something ends it
 *
 * It is a plain async function. Hundreds run at once; whatever they ask of the policy at the same time
 * is one batch there. It never throws: every way to end is a status.
 */
import type { Agent } from "../agents/index.ts";
import {
  type Environment,
  EnvironmentError,
  type Task,
  type ToolDefinition,
} from "../environments/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { act, inWorld, messageOf } from "./acting.ts";
import { checkAdmissible, checkedObservation } from "./checked.ts";
import { createDialogue } from "./dialogue.ts";
import { checkLimits, deadline, type EpisodeLimits, orAborted } from "./limits.ts";
import type { Policy, ReplyRequest } from "./policies/policy.ts";
import type { EpisodeStatus, SampledReply, Trajectory, Turn } from "./trajectory.ts";

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
}

export interface WorldFacts {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** The functions that the world offers, if it is one of tools. */
  readonly tools?: readonly ToolDefinition[] | undefined;
}

export async function runEpisode(options: EpisodeOptions): Promise<Trajectory> {
  const { id, task, seed, agent, policy, limits } = options;
  checkLimits(limits);
  const begun = performance.now();
  const turns: Turn[] = [];
  const time = deadline(limits.seconds, options.signal);
  const last = { text: "", score: 0 };
  let end: { status: EpisodeStatus; error?: string };
  try {
    end = { status: await play(options, turns, last, time.signal) };
  } catch (error) {
    end = failure(error, time.signal.aborted, time.expired);
  } finally {
    time.clear();
    policy.end(id);
  }
  return {
    id,
    step: options.step,
    group: options.group,
    member: options.member,
    task,
    seed,
    format: agent.format.name,
    context: agent.context,
    ...end,
    won: end.status === "won",
    score: last.score,
    reward: turns.reduce((sum, { reward }) => sum + reward, 0),
    turns,
    lastObservation: last.text,
    attempts: (options.attempt ?? 0) + 1,
    seconds: (performance.now() - begun) / 1000,
  };
}

/** The loop. Fills `turns` and `last` as it goes, so that they are there whatever happens. */
async function play(
  options: EpisodeOptions,
  turns: Turn[],
  last: { text: string; score: number },
  signal: AbortSignal,
): Promise<EpisodeStatus> {
  const { id, task, seed, environment, about, agent, policy, limits } = options;
  if (signal.aborted) throw signal.reason;
  const dialogue = createDialogue(agent.context, policy.chat);
  const longestPrompt = Math.min(limits.promptTokens ?? Infinity, policy.contextLength - 1);
  /** What the world shows; what the agent sees may have a remark on its last reply besides. */
  let observation = checkedObservation(
    about.name,
    await inWorld(about.name, () => orAborted(environment.reset(task), signal)),
    "reset()",
  );
  let seen = observation;
  last.text = seen.text;
  const episode = agent.begin({
    episode: id,
    world: about.summary,
    turns: limits.turns,
    observation,
    worldTools: about.tools,
  });
  let tokens = 0;
  let failures = 0;

  for (let turn = 0; turn < limits.turns; turn++) {
    if (signal.aborted) throw signal.reason;
    const asked = performance.now();
    await inWorld(about.name, () => checkAdmissible(about.name, observation));
    const messages = await inPolicy(() => orAborted(episode.messages(signal), signal));
    const { prompt, added } = dialogue.ask(messages);
    if (prompt.length > longestPrompt) return "context full";
    const left = Math.min(
      policy.replyTokens,
      (limits.tokens ?? Infinity) - tokens,
      policy.contextLength - prompt.length,
    );
    if (left < 1) return "token limit";
    const request = {
      episode: id,
      turn,
      messages,
      prompt,
      observation,
      maximumTokens: left,
      seed: deriveSeed(seed, turn),
      signal,
    };
    const reply = await replyOf(policy, request);
    if (signal.aborted || reply.finish === "abort") throw signal.reason ?? new Error("aborted");
    dialogue.answer(reply.ids);
    tokens += reply.ids.length;
    const answered = performance.now();

    const read = episode.read(reply.text);
    const outcome = await act(options, episode.unreadable.bind(episode), read, observation, signal);
    turns.push({
      observation: seen.text,
      anchor: observation.anchor,
      messages,
      promptIds: added,
      reply,
      action: read.action ?? null,
      parts: read.parts,
      problems: read.problems,
      admissible: outcome.admissible,
      ...(outcome.tool && { tool: outcome.tool }),
      reward: outcome.reward,
      score: outcome.score ?? last.score,
      info: outcome.observation.info ?? {},
      seconds: {
        generate: (answered - asked) / 1000,
        step: (performance.now() - answered) / 1000,
      },
    });
    if (outcome.score !== undefined) last.score = outcome.score;
    last.text = outcome.seen.text;
    if (outcome.won) return "won";
    if (outcome.done) return "lost";
    failures = read.action === undefined ? failures + 1 : 0;
    if (failures >= (limits.parseFailures ?? Infinity)) return "parse failures";
    episode.advance(read, reply.text, outcome.seen);
    ({ observation, seen } = outcome);
  }
  return "turn limit";
}

/** Something that the model or its server did wrong. */
class PolicyError extends Error {}

async function replyOf(policy: Policy, request: ReplyRequest): Promise<SampledReply> {
  const completion = await inPolicy(() => orAborted(policy.reply(request), request.signal));
  const { ids, logprobs, sampledLogprobs, finish, weightsVersion, retokenized } = completion;
  if (logprobs.length !== ids.length || sampledLogprobs.length !== ids.length)
    throw new PolicyError(`the policy gave ${ids.length} ids and ${logprobs.length} logprobs`);
  const text = policy.chat.tokenizer.decode(ids, { skipSpecialTokens: true });
  const source = retokenized ? "retokenized" : (completion.source ?? policy.source);
  return { ids, logprobs, sampledLogprobs, text, finish, weightsVersion, source };
}

async function inPolicy<Value>(run: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    throw new PolicyError(messageOf(error), { cause: error });
  }
}

function failure(
  error: unknown,
  aborted: boolean,
  expired: boolean,
): { status: EpisodeStatus; error: string } {
  const message = messageOf(error);
  if (expired) return { status: "timeout", error: message };
  if (aborted) return { status: "aborted", error: message };
  const status = error instanceof EnvironmentError ? "environment error" : "policy error";
  return { status, error: message };
}
