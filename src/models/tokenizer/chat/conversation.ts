/**
 * @file A conversation in token ids that only ever grows.
 *
 * The prompt of each turn begins with the whole prompt of the turn before and the reply exactly as it
 * was sampled. Rendering all messages anew would not give that: decoding and encoding may change the
 * tokens of a reply, and some templates (Qwen3) drop the thinking of earlier turns.
 */
import type { Chat } from "./chat.ts";
import type { ChatMessage } from "./template.ts";

/** A stretch of ids: what the model was given, or what it said. */
export interface Segment {
  kind: "prompt" | "reply";
  /** First id's place. */
  start: number;
  /** After the last id. */
  end: number;
}

export class Conversation {
  readonly chat: Chat;
  readonly #opening: readonly ChatMessage[];
  readonly #ids: number[];
  readonly #segments: Segment[];

  /** Begins with messages (system, user, also earlier examples) and the first generation prompt. */
  constructor(
    chat: Chat,
    messages: readonly ChatMessage[],
    known?: { readonly ids: number[]; readonly segments: Segment[] },
  ) {
    if (messages.length === 0)
      throw new Error("Conversation: expected at least one message to begin with, got none");
    this.chat = chat;
    this.#opening = [...messages];
    this.#ids = known?.ids ?? [];
    this.#segments = known?.segments ?? [];
    if (!known) this.#extend("prompt", chat.promptIds(messages));
  }

  /** Everything so far. Before a reply it is the prompt for it. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Prompts and replies in turn; together they cover all ids. */
  get segments(): readonly Segment[] {
    return this.#segments;
  }

  get awaitsReply(): boolean {
    return this.#segments.at(-1)!.kind === "prompt";
  }

  /** Adds a reply as it was sampled, whether it ends with the end-of-turn token or was cut off. */
  reply(ids: Iterable<number>): void {
    if (!this.awaitsReply)
      throw new Error("Conversation.reply: there is a reply already; append the next messages");
    this.#extend("reply", ids);
  }

  /** Adds a reply that was written, not sampled, with its end of turn: the only one, whatever it says. */
  replyWithText(text: string): void {
    const { tokenizer, endOfTurnId } = this.chat;
    this.reply([...tokenizer.encodePlain(text), endOfTurnId]);
  }

  /** Adds what comes after a reply: one or more messages and the next generation prompt. */
  append(messages: readonly ChatMessage[]): void {
    if (this.awaitsReply)
      throw new Error("Conversation.append: the last prompt has no reply yet; call reply first");
    const { afterCutReply, afterFinishedReply } = this.chat.continuation(this.#opening, messages);
    const { start, end } = this.#segments.at(-1)!;
    const finished = end > start && this.#ids[end - 1] === this.chat.endOfTurnId;
    this.#extend("prompt", finished ? afterFinishedReply : afterCutReply);
  }

  /** Another conversation with the same beginning, up to the end of so many replies: it goes its own way. */
  fork(replies: number): Conversation {
    const spoken = this.#segments.filter(({ kind }) => kind === "reply");
    const last = spoken[replies - 1];
    if (!last)
      throw new RangeError(
        `Conversation.fork: there are ${spoken.length} replies, expected at least ${replies} and 1 or more`,
      );
    return new Conversation(this.chat, this.#opening, {
      ids: this.#ids.slice(0, last.end),
      segments: this.#segments.slice(0, this.#segments.indexOf(last) + 1),
    });
  }

  /** All of it as text, special tokens included. */
  text(): string {
    return this.chat.tokenizer.decode(this.#ids);
  }

  #extend(kind: Segment["kind"], ids: Iterable<number>): void {
    const start = this.#ids.length;
    for (const id of ids) this.#ids.push(id);
    this.#segments.push({ kind, start, end: this.#ids.length });
  }
}
