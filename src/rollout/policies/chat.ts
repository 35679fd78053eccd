/**
 * @file A policy behind a server that takes messages and gives text (OpenAI's own, and others that keep
 * their tokens to themselves). Its replies are marked `retokenized`: they can be scored, not trained on.
 */
import type { AgentContext } from "../../agents/index.ts";
import type { ChatClient, SamplingOptions } from "../../generation/index.ts";
import type { Chat, ChatMessage } from "../../models/index.ts";
import type { Policy } from "./policy.ts";

export interface ChatPolicyOptions {
  readonly client: ChatClient;
  /** Only to have ids for trajectories; the server has its own. */
  readonly chat: Chat;
  /** That of the agent: in a conversation the policy remembers what was said. */
  readonly context: AgentContext;
  readonly sampling: Pick<SamplingOptions, "maximumTokens" | "temperature" | "topP">;
}

export function chatPolicy({ client, chat, context, sampling }: ChatPolicyOptions): Policy {
  const conversations = new Map<string, ChatMessage[]>();
  const { maximumTokens, temperature, topP } = sampling;
  return {
    chat,
    // What fits is the server's affair; it says so when it is too much.
    contextLength: Number.MAX_SAFE_INTEGER,
    // In tokens of `chat`, which may be bytes: it must not cut off what the server sent.
    replyTokens: Number.MAX_SAFE_INTEGER,
    source: "policy",
    async reply({ episode, turn, messages, seed, signal }) {
      const earlier = turn === 0 || context === "steps" ? [] : (conversations.get(episode) ?? []);
      const all = [...earlier, ...messages];
      const { text, finish } = await client({
        messages: all,
        ...{ maximumTokens, seed, signal },
        ...(temperature !== undefined && { temperature }),
        ...(topP !== undefined && topP < 1 && { topP }),
      });
      conversations.set(episode, [...all, { role: "assistant", content: text }]);
      const ids = [
        ...chat.tokenizer.encodePlain(text),
        ...(finish === "stop" ? [chat.endOfTurnId] : []),
      ];
      const unknown = ids.map(() => Number.NaN);
      return {
        ids,
        logprobs: unknown,
        sampledLogprobs: unknown,
        finish,
        stop: null,
        cachedTokens: 0,
        weightsVersion: 0,
        retokenized: true,
      };
    },
    end: (episode) => void conversations.delete(episode),
  };
}
