/**
 * @file Where messages become tokens, for both contexts. The only place of an episode that encodes;
 * what the policy drew is kept as it was drawn.
 */
import type { AgentContext } from "../agents/index.ts";
import { type Chat, type ChatMessage, Conversation } from "../models/index.ts";

export interface Dialogue {
  /**
   * Takes the agent's next messages. `prompt` is the whole context for the reply, `added` what of it is
   * new since the last reply (in steps: all of it).
   */
  ask(messages: readonly ChatMessage[]): { prompt: readonly number[]; added: readonly number[] };
  /** Takes the reply as it was sampled. */
  answer(ids: readonly number[]): void;
}

export function createDialogue(context: AgentContext, chat: Chat): Dialogue {
  return context === "steps" ? stepsDialogue(chat) : conversationDialogue(chat);
}

function stepsDialogue(chat: Chat): Dialogue {
  return {
    ask(messages) {
      const prompt = chat.promptIds(messages);
      return { prompt, added: prompt };
    },
    answer() {},
  };
}

function conversationDialogue(chat: Chat): Dialogue {
  let conversation: Conversation | undefined;
  return {
    ask(messages) {
      if (conversation) conversation.append(messages);
      else conversation = new Conversation(chat, messages);
      const { start, end } = conversation.segments.at(-1)!;
      return { prompt: conversation.ids, added: conversation.ids.slice(start, end) };
    },
    answer: (ids) => conversation!.reply(ids),
  };
}
