/**
 * @file Sessions of a policy for episodes that are programs. They ask at this process's door (door.ts), at which only those may
 * ask who were given a session.
 */
import { type AgentProgram, seededRandom, type Task } from "../../environments/index.ts";
import type { TextGenerator } from "../../generation/index.ts";
import type { Chat } from "../../models/index.ts";
import type { Policy, PolicySession, SessionRequest } from "../../rollout/index.ts";
import type { ReplySampling } from "../conversation/asked.ts";
import { Gateway, type OpenSessionOptions } from "../gateway.ts";
import { type Door, openDoor } from "./door.ts";

export interface ProgramSessions {
  /** A session whose replies are drawn so, whatever its program asks for. */
  open(
    request: SessionRequest,
    sampling: ReplySampling & { readonly maximumTokens: number },
  ): Promise<PolicySession>;
  /** How often branches were begun, and why. */
  readonly forks: Readonly<Record<string, number>>;
  close(): Promise<void>;
}

export interface ProgramSessionOptions {
  readonly generator: TextGenerator;
  readonly chat: Chat;
  readonly contextLength: number;
  /** Answers in the model's place, for an episode's task. */
  readonly expert?: AgentProgram["expert"];
}

/** An expert's answers in one episode. */
function scriptOf(
  expert: NonNullable<AgentProgram["expert"]>,
  task: Task,
  seed: bigint,
): NonNullable<OpenSessionOptions["script"]> {
  const random = seededRandom("expert", String(seed));
  return async ({ messages, tools }) =>
    expert({ task, messages, tools, random: () => random.unit() });
}

/** A policy for episodes that are programs: their expert answers what they ask. */
export function programExpertPolicy(
  expert: NonNullable<AgentProgram["expert"]>,
  chat: Chat,
  contextLength: number,
): Policy & { close(): Promise<void> } {
  const nobody = () => Promise.reject(new Error("an expert answers in the model's place"));
  const generator: TextGenerator = { generate: nobody, release() {}, close: async () => {} };
  const sessions = programSessions({ generator, chat, contextLength, expert });
  return {
    ...{ chat, contextLength, replyTokens: contextLength, source: "scripted" },
    session: (request) => sessions.open(request, { maximumTokens: contextLength }),
    reply: nobody,
    end() {},
    close: () => sessions.close(),
  };
}

/** Hundreds of programs, each with some calls at once. */
const MOST_REPLIES = 4096;

export function programSessions(options: ProgramSessionOptions): ProgramSessions {
  const gateway = new Gateway({
    ...options,
    model: "policy",
    maximumReplies: MOST_REPLIES,
    seed: 0,
  });
  let door: Promise<Door> | undefined;
  return {
    get forks() {
      return gateway.metrics.forks;
    },
    async open({ task, seed, limits }, sampling) {
      door ??= openDoor(gateway);
      const { url } = await door;
      const { maximumTokens: replyTokens, ...drawn } = sampling;
      const session = gateway.open({
        ...{ task: task.id, seed, sampling: drawn },
        ...(options.expert && { script: scriptOf(options.expert, task, seed) }),
        limits: { ...limits, replyTokens },
      });
      return {
        baseUrl: `${url}/s/${session.id}/v1`,
        apiKey: session.id,
        turns: () => session.turns(),
        get told() {
          return session.told;
        },
        get limit() {
          return session.limit;
        },
        get failure() {
          return session.failure;
        },
        async close() {
          gateway.closeOpened(session);
        },
      };
    },
    async close() {
      gateway.close();
      (await door)?.close();
    },
  };
}
