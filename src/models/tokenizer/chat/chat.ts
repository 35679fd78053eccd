/**
 * @file Where messages meet tokens: how a template continues after a reply, found from the template.
 *
 * A conversation grows by appending ids, so that what was sampled stays exactly as it was sampled.
 * What the template puts between a reply and the next generation prompt is not known in general; it
 * is found by rendering with a word in place of the reply and taking what follows that word.
 */
import { ModelFileError } from "../../checkpoint/errors.ts";
import type { ChatMessage, ChatTemplate, RenderOptions } from "./template.ts";
import type { Tokenizer } from "../tokenizer.ts";

export interface ChatOptions extends Omit<RenderOptions, "addGenerationPrompt"> {
  tokenizer: Tokenizer;
  template: ChatTemplate;
}

/** The ids that come after a reply. */
export interface Continuation {
  /** All of them, for a reply that was cut off: they begin with the end of the turn. */
  afterCutReply: readonly number[];
  /** For a reply that ends with the end-of-turn token. */
  afterFinishedReply: readonly number[];
}

/** A tokenizer and a template that fit together. */
export class Chat {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  /** The token that ends an assistant's turn: <|im_end|>. Replies should stop at it. */
  readonly endOfTurnId: number;
  readonly #options: RenderOptions;
  /** Roles of next messages for which the template was tried. */
  readonly #tried = new Set<string>();

  /** Throws if the template cannot be continued after a reply. */
  constructor({ tokenizer, template, ...options }: ChatOptions) {
    this.tokenizer = tokenizer;
    this.template = template;
    this.#options = { ...options, addGenerationPrompt: true };
    const question: ChatMessage = { role: "user", content: "question" };
    const end = this.#tryTemplate([question], [question]);
    this.endOfTurnId = end;
    this.#tried.add("user");
  }

  /** The same chat with other tools, or other variables of its template. */
  with(options: Pick<ChatOptions, "tools" | "variables">): Chat {
    const { addGenerationPrompt: _, ...rest } = this.#options;
    return new Chat({ ...rest, ...options, tokenizer: this.tokenizer, template: this.template });
  }

  /** The text for messages and the beginning of a reply. */
  render(messages: readonly ChatMessage[]): string {
    return this.tokenizer.controlTokens.reveal(this.#rendered(messages));
  }

  /** The same with stand-ins for the control tokens that messages and tools write. */
  #rendered(messages: readonly ChatMessage[]): string {
    const { controlTokens } = this.tokenizer;
    const { tools, ...options } = this.#options;
    const hidden = controlTokens.hide({ messages, tools });
    const text = this.template.render(hidden.messages, {
      ...options,
      ...(hidden.tools && { tools: hidden.tools }),
    });
    if (hidden.messages !== messages && controlTokens.isCutIn(text, messages))
      this.#refuse("shows only a part of a message, and cuts a special token that it writes");
    return text;
  }

  /** The ids for messages and the beginning of a reply. */
  promptIds(messages: readonly ChatMessage[]): number[] {
    return this.tokenizer.encodeRendered(this.#rendered(messages));
  }

  /** What follows a reply to `opening` when the next messages are `next`. */
  continuation(opening: readonly ChatMessage[], next: readonly ChatMessage[]): Continuation {
    if (next.length === 0)
      throw new Error("Chat: expected at least one message after a reply, got none");
    const roles = next.map(({ role }) => role).join(" ");
    if (!this.#tried.has(roles)) {
      const end = this.#tryTemplate(opening, next);
      if (end !== this.endOfTurnId) this.#refuse("ends turns with different tokens");
      this.#tried.add(roles);
    }
    const ids = this.tokenizer.encodeRendered(this.#textAfterReply(opening, next));
    const end = ids.findIndex((id) => this.tokenizer.addedIds.has(id));
    if (ids[end] !== this.endOfTurnId) this.#refuse("ends turns with different tokens");
    return { afterCutReply: ids, afterFinishedReply: ids.slice(end + 1) };
  }

  /** Renders with a word in place of the reply, and gives what comes after it. */
  #textAfterReply(opening: readonly ChatMessage[], next: readonly ChatMessage[]): string {
    const reply = unusedWord([...opening, ...next]);
    const text = this.#rendered([...opening, { role: "assistant", content: reply }, ...next]);
    const place = text.indexOf(reply);
    if (place < 0) this.#refuse("does not show what the assistant said");
    if (text.includes(reply, place + 1)) this.#refuse("shows what the assistant said twice");
    return text.slice(place + reply.length);
  }

  /** Tries messages of the same roles with words as contents; gives the end-of-turn token. */
  #tryTemplate(opening: readonly ChatMessage[], next: readonly ChatMessage[]): number {
    const words = next.map((_, i) => unusedWord(opening, `message${i}x`));
    const probes = next.map((message, i) => ({ ...message, content: words[i]! }));
    const text = this.#textAfterReply(opening, probes);
    let place = 0;
    for (const [i, word] of words.entries()) {
      place = text.indexOf(word, place);
      if (place < 0)
        this.#refuse(`does not show a ${next[i]!.role} message that comes after a reply`);
    }
    const before = this.tokenizer.encodeRendered(text.slice(0, text.indexOf(words[0]!)));
    const end = before.find((id) => this.tokenizer.addedIds.has(id));
    if (end === undefined)
      return this.#refuse(
        "marks the end of an assistant's turn with no special token of the tokenizer",
      );
    return end;
  }

  #refuse(problem: string): never {
    throw new ModelFileError(
      this.template.file,
      `the chat template ${problem}, so a conversation cannot grow by appending; use a template ` +
        "that writes each message once, in order, with a special token at the end of a turn",
    );
  }
}

/** A word of letters and digits that no message contains. */
function unusedWord(messages: readonly ChatMessage[], start = "replyx"): string {
  const used = JSON.stringify(messages);
  let word = `${start}7c1e`;
  for (let i = 0; used.includes(word); i++) word = `${start}7c1e${i}`;
  return word;
}
