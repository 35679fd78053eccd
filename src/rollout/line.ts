/**
 * @file An episode as far as it has been played: the unit that episodes and searches are made of.
 *
 *   observe → prompt ids → policy.reply → parse → step → record
 *
 * is one turn. A line can be forked: what follows is another episode with the same beginning, and the engine's
 * prefix cache makes it cost only its new tokens. A world that can be cloned is branched in memory; in any other
 * the same actions are done again, and must have the same effects.
 */
import type { Agent, AgentEpisode } from "../agents/index.ts";
import {
  checkedObservation,
  checkedResult,
  type Environment,
  EnvironmentError,
  messageOf,
  type Observation,
  type Task,
  type ToolDefinition,
  within,
} from "../environments/index.ts";
import type { ChatMessage } from "../models/index.ts";
import { act } from "./acting.ts";
import { createDialogue, type Dialogue } from "./dialogue.ts";
import type { EpisodeLimits } from "./limits.ts";
import type { Policy, ReplyRequest } from "./policies/policy.ts";
import { type EpisodeStatus, type SampledReply, sampledTokens, type Turn } from "./trajectory.ts";
import type { EpisodeWatch } from "./watch.ts";
import type { WorldCalls } from "./world-calls.ts";

export interface LineOptions {
  /** Unique among the lines that the policy plays. */
  readonly id: string;
  readonly task: Task;
  /** Its own, as long as it is played. */
  readonly environment: Environment;
  /** What the prompt says of the world. */
  readonly about: WorldFacts;
  readonly agent: Agent;
  readonly policy: Policy;
  readonly limits: EpisodeLimits;
  readonly calls: WorldCalls;
  /** Watches it grow. Not what is forked from it. */
  readonly watch?: EpisodeWatch | undefined;
}

export interface WorldFacts {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** The functions that the world offers, if it is one of tools. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** Turns of other episodes, which every prompt begins with. */
  readonly examples?: readonly ChatMessage[] | undefined;
}

export interface Line {
  readonly id: string;
  readonly turns: readonly Turn[];
  /** What the world shows now. Not before `begin`. */
  readonly observation: Observation;
  /** What the agent saw last; empty before `begin`. */
  readonly lastText: string;
  /** The world's last score, 0 to 1. */
  readonly score: number;
  /** How it ended; undefined: it goes on. */
  readonly status: EpisodeStatus | undefined;
  /** Resets the world. */
  begin(): Promise<void>;
  /** One more turn, whose randomness is `seed`; gives the status. Rejects where the world or the policy fails. */
  play(seed: bigint): Promise<EpisodeStatus | undefined>;
  /**
   * The same up to here, with an environment of its own: a clone, or `fresh`, in which the actions are done again.
   */
  fork(id: string, fresh: () => Environment): Promise<Line>;
  /** The environment that it holds, to be given back. */
  readonly environment: Environment;
  /** Gives back what the policy kept for it. */
  end(): void;
}

/** What a line is, beside its turns. A fork begins with a copy. */
interface State {
  readonly turns: Turn[];
  /** What the agent saw after each turn. */
  readonly seen: Observation[];
  readonly dialogue: Dialogue;
  readonly agent: AgentEpisode;
  readonly first: Observation;
  observation: Observation;
  lastText: string;
  score: number;
  /** Replies in a row that could not be read. */
  failures: number;
  status: EpisodeStatus | undefined;
}

export function createLine(options: LineOptions): Line {
  return lineOf(options, undefined);
}

function lineOf(options: LineOptions, given: State | undefined): Line {
  const { id, task, environment, about, agent, policy, limits, calls } = options;
  let state = given;
  const begun = (): State => {
    if (!state) throw new Error(`the line ${id} has not begun`);
    return state;
  };
  return {
    id,
    environment,
    get turns() {
      return state?.turns ?? [];
    },
    get observation() {
      return begun().observation;
    },
    get lastText() {
      return state?.lastText ?? "";
    },
    get score() {
      return state?.score ?? 0;
    },
    get status() {
      return state?.status;
    },
    async begin() {
      if (calls.signal.aborted) throw calls.signal.reason;
      const longest = Math.min(limits.promptTokens ?? Infinity, policy.contextLength - 1);
      const dialogue = createDialogue(agent.context, policy.chat, longest);
      const first = await resetWorld(options);
      state = {
        ...{ turns: [], seen: [], dialogue, first, agent: beginAgent(options, first) },
        ...{ observation: first, lastText: first.text, score: 0, failures: 0, status: undefined },
      };
    },
    async play(seed) {
      const now = begun();
      if (now.status) return now.status;
      now.status = await playTurn(options, now, seed);
      if (!now.status && now.turns.length >= limits.turns) now.status = "turn limit";
      return now.status;
    },
    async fork(name, fresh) {
      const now = begun();
      if (now.status) throw new Error(`the line ${id} has ended: it cannot be forked`);
      const copy = { ...options, id: name, watch: undefined };
      const world = environment.clone
        ? calls.owned(() => environment.clone!())
        : await replayed({ ...copy, environment: fresh() }, now);
      return lineOf(
        { ...copy, environment: world },
        {
          ...now,
          turns: [...now.turns],
          seen: [...now.seen],
          dialogue: now.dialogue.fork(),
          agent: agentAgain(copy, now),
        },
      );
    },
    end: () => policy.end(id),
  };

  async function resetWorld({ environment: world }: LineOptions): Promise<Observation> {
    const first = await calls.wait("reset()", () => world.reset(task));
    return calls.owned(() =>
      checkedObservation(about.name, first, "reset()", limits.observationCharacters),
    );
  }

  /** The world in the state of the line, by the same actions. */
  async function replayed(copy: LineOptions, { first, turns }: State): Promise<Environment> {
    const { environment: world } = copy;
    let shown = await resetWorld(copy);
    const same = (expected: string) => {
      if (shown.text !== expected)
        throw new EnvironmentError(
          about.name,
          "the same actions did not lead to the same observations, so an episode cannot be gone on with from its " +
            "middle: search needs a world that is deterministic, or one whose environments have clone()",
        );
    };
    same(first.text);
    for (const [i, { action, tool }] of turns.entries()) {
      if (action === null || tool) continue;
      const given = await calls.wait("step()", () => world.step(action));
      shown = calls.owned(
        () => checkedResult(about.name, given, limits.observationCharacters).observation,
      );
      same(turns[i + 1]?.observation ?? begun().lastText);
    }
    return world;
  }
}

function beginAgent({ id, about, agent, limits }: LineOptions, first: Observation): AgentEpisode {
  return agent.begin({
    episode: id,
    world: about.summary,
    turns: limits.turns,
    observation: first,
    worldTools: about.tools,
    examples: about.examples,
  });
}

/** An agent that has lived through the same turns. */
function agentAgain(options: LineOptions, { first, turns, seen }: State): AgentEpisode {
  const episode = beginAgent(options, first);
  for (const [i, { reply }] of turns.entries())
    episode.advance(episode.read(reply.text), reply.text, seen[i]!);
  return episode;
}

async function playTurn(
  options: LineOptions,
  state: State,
  seed: bigint,
): Promise<EpisodeStatus | undefined> {
  const { id, task, policy, limits, calls, watch } = options;
  const { turns, agent, dialogue, observation } = state;
  const { signal } = calls;
  if (signal.aborted) throw signal.reason;
  const asked = performance.now();
  // The list of actions is made now, if it is made when first asked for: its errors are the world's.
  await calls.wait("the list of admissible actions", () => void observation.admissible);
  const messages = await inPolicy(() =>
    within(undefined, "the agent's history", agent.messages(signal), signal),
  );
  const told = dialogue.ask(messages);
  if (!told) return "context full";
  const { prompt, added } = told;
  const left = Math.min(
    policy.replyTokens,
    (limits.tokens ?? Infinity) - sampledTokens({ turns }),
    policy.contextLength - prompt.length,
  );
  if (left < 1) return "token limit";
  const turn = turns.length;
  watch?.told(turn, state.lastText, observation.admissible);
  const request = {
    episode: id,
    task: task.id,
    turn,
    messages,
    prompt,
    observation,
    maximumTokens: left,
    seed,
    signal,
    ...(watch?.token && { onToken: watch.token.bind(watch, turn) }),
  };
  const reply = await replyOf(policy, request, calls);
  if (signal.aborted || reply.finish === "abort") throw signal.reason ?? new Error("aborted");
  dialogue.answer(reply.ids);
  watch?.replied(turn, reply);
  const answered = performance.now();

  const read = agent.read(reply.text);
  const outcome = await act(options, agent.unreadable.bind(agent), read, observation, calls);
  const { seen } = outcome;
  const done: Turn = {
    observation: state.lastText,
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
    score: outcome.score ?? state.score,
    info: outcome.observation.info,
    seconds: {
      generate: (answered - asked) / 1000,
      step: (performance.now() - answered) / 1000,
    },
  };
  turns.push(done);
  watch?.acted(turn, done);
  state.seen.push(seen);
  if (outcome.score !== undefined) state.score = outcome.score;
  state.lastText = seen.text;
  if (outcome.won) return "won";
  if (outcome.done) return "lost";
  state.failures = read.action === undefined ? state.failures + 1 : 0;
  if (state.failures >= (limits.parseFailures ?? Infinity)) return "parse failures";
  agent.advance(read, reply.text, seen);
  state.observation = outcome.observation;
  return undefined;
}

/** How long a policy that was told to stop is waited for. */
const LEAVING = { seconds: 30 };

/** Something that the model or its server did wrong. */
class PolicyError extends Error {}

async function replyOf(
  policy: Policy,
  request: ReplyRequest,
  calls: WorldCalls,
): Promise<SampledReply> {
  // An expert is the world's, which is waited for no longer than for the world; the model's own faults are
  // ours, and it takes as long as it takes.
  let asked: Promise<unknown> | undefined;
  const ask = () => {
    const reply = policy.reply(request);
    asked = reply;
    return reply;
  };
  const completion = await inPolicy(() =>
    policy.source === "scripted"
      ? within(calls.limit, "the expert", calls.owned(ask), request.signal)
      : within(undefined, "the policy", ask(), request.signal),
  ).catch(async (error) => {
    // An episode that its world ended may be begun again, under the same name: the policy has to have left
    // this one by then.
    if (request.signal.reason instanceof EnvironmentError && asked)
      await within(LEAVING, "the policy", asked).catch(() => {});
    throw error;
  });
  const { ids, logprobs, sampledLogprobs, allowed, finish, weightsVersion, retokenized } =
    completion;
  if (logprobs.length !== ids.length || sampledLogprobs.length !== ids.length)
    throw new PolicyError(`the policy gave ${ids.length} ids and ${logprobs.length} logprobs`);
  const text = policy.chat.tokenizer.decode(ids, { skipSpecialTokens: true });
  const source = retokenized ? "retokenized" : (completion.source ?? policy.source);
  return {
    ...{ ids, logprobs, sampledLogprobs, text, finish, weightsVersion, source },
    ...(allowed && { allowed }),
  };
}

async function inPolicy<Value>(run: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    throw new PolicyError(messageOf(error), { cause: error });
  }
}
