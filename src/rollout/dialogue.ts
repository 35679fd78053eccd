/**
 * @file Where messages become tokens, for both contexts. The only place of an episode that encodes;
 * what the policy drew is kept as it was drawn.
 */
import type { AgentContext } from "../agents/index.ts";
import { type Chat, type ChatMessage, Conversation, type Tokenizer } from "../models/index.ts";

export interface Dialogue {
  /**
   * Takes the agent's next messages. `prompt` is the whole context for the reply, `added` what of it is
   * new since the last reply (in steps: all of it). Undefined: the prompt is too long.
   */
  ask(
    messages: readonly ChatMessage[],
  ): { prompt: readonly number[]; added: readonly number[] } | undefined;
  /** Takes the reply as it was sampled. */
  answer(ids: readonly number[]): void;
  /** Another with the same past. Not between a question and its answer. */
  fork(): Dialogue;
}

/** `longest`: tokens of a whole prompt at most. */
export function createDialogue(context: AgentContext, chat: Chat, longest: number): Dialogue {
  return context === "steps" ? stepsDialogue(chat, longest) : conversationDialogue(chat, longest);
}

function stepsDialogue(chat: Chat, longest: number): Dialogue {
  return {
    ask(messages) {
      if (isFarTooLong(chat.tokenizer, messages, longest)) return undefined;
      const prompt = chat.promptIds(messages);
      return prompt.length > longest ? undefined : { prompt, added: prompt };
    },
    answer() {},
    fork: () => stepsDialogue(chat, longest),
  };
}

function conversationDialogue(
  chat: Chat,
  longest: number,
  begun?: { readonly conversation: Conversation; readonly replies: number },
): Dialogue {
  let conversation = begun?.conversation;
  let replies = begun?.replies ?? 0;
  return {
    ask(messages) {
      if (isFarTooLong(chat.tokenizer, messages, longest - (conversation?.ids.length ?? 0)))
        return undefined;
      if (conversation) conversation.append(messages);
      else conversation = new Conversation(chat, messages);
      if (conversation.ids.length > longest) return undefined;
      const { start, end } = conversation.segments.at(-1)!;
      return { prompt: conversation.ids, added: conversation.ids.slice(start, end) };
    },
    answer(ids) {
      conversation!.reply(ids);
      replies++;
    },
    fork: () =>
      conversationDialogue(
        chat,
        longest,
        conversation && { conversation: conversation.fork(replies), replies },
      ),
  };
}

/** Messages of so many characters are encoded as they are: it takes no time worth saving. */
const SHORT = 20_000;
const PIECE = 4_000;

/**
 * Whether messages cannot fit into so many tokens, found without encoding all of them: a text of megabytes
 * would hold every other episode up. They are encoded piece by piece, cut where words end, and no further
 * than to the limit. Where pieces meet, a few tokens may be more than in the whole; hence the tenth.
 */
export function isFarTooLong(
  tokenizer: Tokenizer,
  messages: readonly ChatMessage[],
  longest: number,
): boolean {
  // Prompts of one's own may be anything; what is no text is refused where it is rendered.
  const texts = messages.map(({ content }) => (typeof content === "string" ? content : ""));
  if (texts.reduce((sum, { length }) => sum + length, 0) <= SHORT) return false;
  const enough = Math.max(0, longest) * 1.1 + 100;
  let tokens = 0;
  for (const text of texts)
    for (let start = 0; start < text.length; ) {
      const end = endOfPiece(text, start);
      tokens += tokenizer.encodePlain(text.slice(start, end)).length;
      if (tokens > enough) return true;
      start = end;
    }
  return false;
}

/** Before a space, which belongs to the word that follows it; anywhere in a word without end. */
function endOfPiece(text: string, start: number): number {
  const latest = start + PIECE;
  if (latest >= text.length) return text.length;
  for (let end = latest; end > start + PIECE / 2; end--)
    if (/\s/.test(text[end]!) && !/\s/.test(text[end - 1]!)) return end;
  return latest;
}
