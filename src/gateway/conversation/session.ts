/**
 * @file A session: everything that one program asks, as the conversations that it makes of it. What goes on with a
 * conversation is appended to it in ids, and what was drawn stays as it was drawn; anything else begins a branch.
 */
import { createHash } from "node:crypto";
import type { ToolDefinition } from "../../environments/index.ts";
import { type ChatMessage, Conversation } from "../../models/index.ts";
import {
  isFarTooLong,
  type PolicySession,
  type SessionReward,
  type Turn,
} from "../../rollout/index.ts";
import { deriveSeed } from "../../torch/index.ts";
import { GatewayError } from "../errors.ts";
import type { ToolTemplate } from "../tools/template.ts";
import type { GivenReply, ReplyAsk, SessionParts } from "./asked.ts";
import { type Branch, type ForkReason, placeOf } from "./branches.ts";
import { drawReply } from "./draw.ts";
import { type GatewayMessage, joined, signatureOf } from "./messages.ts";

/** Conversations of one session at most, and ids that it holds: in memory they are its largest part. */
const MOST_BRANCHES = 4096;
const MOST_IDS = 8_000_000;

export class Session {
  readonly id: string;
  /** In milliseconds since 1970, for people. */
  readonly begun = Date.now();
  /** When it was made and last asked, by a clock that nobody sets: a session must not end because the date changes. */
  readonly made = performance.now();
  asked = this.made;
  readonly #parts: SessionParts;
  readonly #branches: Branch[] = [];
  readonly #prompts = new Map<string, number>();
  readonly #running = new Set<AbortController>();
  readonly #branchRewards = new Map<number, number>();
  #made = 0;
  #held = 0;
  #asks = 0;
  #tokens = 0;
  #closed = false;
  told: SessionReward | undefined;
  limit: PolicySession["limit"];
  failure: Error | undefined;

  constructor(parts: SessionParts) {
    this.id = parts.id;
    this.#parts = parts;
  }

  get seed(): bigint {
    return this.#parts.seed;
  }

  /** Ids that it keeps: of prompts, of replies, and of its conversations. */
  get held(): number {
    return this.#held;
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  get branches(): readonly Branch[] {
    return this.#branches;
  }

  /** Answers a request. Whatever goes wrong, its conversation is as it was before. */
  async ask(given: ReplyAsk): Promise<GivenReply> {
    const ask = { ...given, messages: joined(given.messages) };
    this.asked = performance.now();
    this.#requireOpen();
    const asked = performance.now();
    const { branch, added, isNew } = this.#prompt(ask);
    const asking = { branch, messages: added, promptIds: promptOf(branch, isNew) };
    const prompt = [...branch.conversation.ids];
    const stopping = new AbortController();
    const stop = () => stopping.abort(ask.signal?.reason);
    if (ask.signal?.aborted) stop();
    ask.signal?.addEventListener("abort", stop, { once: true });
    this.#running.add(stopping);
    branch.busy = true;
    this.#asks++;
    try {
      const reply = await drawReply(this.#parts, ask, {
        prompt,
        branch: branch.number,
        drawn: this.#tokens,
        seed: ask.seed ?? this.#seedFor(prompt),
        signal: stopping.signal,
        onFailure: (error) => {
          this.failure = error;
        },
      });
      this.#record(asking, ask, reply, (performance.now() - asked) / 1000);
      return reply;
    } catch (error) {
      this.#undo(branch);
      throw error;
    } finally {
      branch.busy = false;
      this.#running.delete(stopping);
      ask.signal?.removeEventListener("abort", stop);
    }
  }

  #requireOpen(): void {
    const { turns = Infinity, tokens = Infinity } = this.#parts.limits ?? {};
    if (this.#closed) throw new GatewayError("not_found", "the session is over.");
    if (this.limit === undefined && this.#asks >= turns) this.limit = "turn limit";
    if (this.limit === undefined && this.#tokens >= tokens) this.limit = "token limit";
    if (this.limit !== undefined)
      throw new GatewayError("limit", `the session is at its end: ${this.limit}.`);
    if (this.#branches.length >= MOST_BRANCHES)
      throw new GatewayError("limit", `a session has ${MOST_BRANCHES} branches at most.`);
    if (this.#held >= MOST_IDS)
      throw new GatewayError("limit", `a session holds ${MOST_IDS} tokens at most; begin another.`);
  }

  /** Finds the branch, and puts the new messages into it. */
  #prompt(ask: ReplyAsk): { branch: Branch; added: ChatMessage[]; isNew: boolean } {
    const { templates } = this.#parts;
    const { messages, tools } = ask;
    const place = placeOf(this.#branches, messages, JSON.stringify(tools));
    const entriesOf = (some: readonly GatewayMessage[]) =>
      some.map((message) => ({ signature: signatureOf(message), message }));
    if (place.from) {
      const { branch: old, replies, entries } = place.from;
      const added = templates.messagesFor(place.rest, []);
      const conversation = this.#grown(old.conversation.fork(replies), added);
      if (conversation && place.kind === "extend") {
        old.conversation = conversation;
        old.entries.push(...entriesOf(place.rest));
        return { branch: old, added, isNew: false };
      }
      if (conversation && place.kind === "fork") {
        const all = [...old.entries.slice(0, entries), ...entriesOf(place.rest)];
        const branch = this.#begin(place.reason, tools, conversation, all);
        return { branch, added: templates.messagesFor(messages, tools), isNew: true };
      }
    }
    const added = templates.messagesFor(messages, tools);
    this.#requireRoom(added, this.#longestPrompt());
    const conversation = rendered(templates.chatFor(tools), added);
    this.#requireLength(conversation.ids.length);
    const reason = place.kind === "extend" || place.from ? "template" : place.reason;
    const branch = this.#begin(reason, tools, conversation, entriesOf(messages));
    return { branch, added, isNew: true };
  }

  /** The conversation with messages behind its last reply; undefined: its template takes no such messages there. */
  #grown(conversation: Conversation, added: readonly ChatMessage[]): Conversation | undefined {
    this.#requireRoom(added, this.#longestPrompt() - conversation.ids.length);
    try {
      conversation.append(added);
    } catch {
      return undefined;
    }
    this.#requireLength(conversation.ids.length);
    return conversation;
  }

  #begin(
    reason: ForkReason,
    tools: readonly ToolDefinition[],
    conversation: Conversation,
    entries: Branch["entries"],
  ): Branch {
    const branch: Branch = {
      number: this.#made++,
      reason,
      tools: JSON.stringify(tools),
      conversation,
      entries,
      turns: [],
      busy: false,
    };
    this.#branches.push(branch);
    if (this.#parts.keeps) this.#parts.onFork?.(reason);
    return branch;
  }

  #longestPrompt(): number {
    const { contextLength, limits } = this.#parts;
    return Math.min(limits?.promptTokens ?? Infinity, contextLength - 1);
  }

  #requireRoom(messages: readonly ChatMessage[], longest: number): void {
    const { tokenizer } = this.#parts.templates.chatFor([]);
    if (isFarTooLong(tokenizer, messages, longest)) this.#tooLong(undefined);
  }

  #requireLength(length: number): void {
    if (length > this.#longestPrompt()) this.#tooLong(length);
  }

  #tooLong(length: number | undefined): never {
    if (this.#parts.limits?.turns !== undefined) this.limit = "context full";
    throw new GatewayError(
      "context_length",
      `the messages have ${length ?? "too many"} tokens; the model takes ${this.#longestPrompt()} ` +
        "before its reply. Send fewer, or shorter ones.",
      { field: "messages" },
    );
  }

  /** The same for the same prompt, however requests cross each other; another one when it is asked again. */
  #seedFor(prompt: readonly number[]): bigint {
    const key = createHash("sha256").update(Int32Array.from(prompt)).digest("base64");
    const before = this.#prompts.get(key) ?? 0;
    this.#prompts.set(key, before + 1);
    return deriveSeed(this.#parts.seed, key, before);
  }

  #record(
    { branch, messages, promptIds }: Given,
    { readsCalls }: ReplyAsk,
    reply: GivenReply,
    seconds: number,
  ): void {
    const { completion, content, calls } = reply;
    const { ids, logprobs, sampledLogprobs, allowed, finish, weightsVersion } = completion;
    this.#tokens += ids.length;
    this.#held += 2 * (promptIds.length + ids.length);
    branch.conversation.reply(ids);
    const message: GatewayMessage = { role: "assistant", content, calls };
    const number = repliesIn(branch);
    branch.entries.push({ signature: signatureOf(message), message, reply: number });
    const last = messages.at(-1)?.content ?? "";
    const { style, chatFor } = this.#parts.templates;
    const text = chatFor([]).tokenizer.decode(ids, { skipSpecialTokens: true });
    const broken = readsCalls && calls.length === 0 && text.includes(style.opening);
    branch.turns.push({
      observation: last,
      anchor: last,
      messages,
      promptIds,
      reply: {
        ...{ ids, logprobs, sampledLogprobs, text, finish, weightsVersion },
        ...(allowed && { allowed }),
        source: this.#parts.script ? "scripted" : completion.retokenized ? "retokenized" : "policy",
      },
      action:
        calls.length > 0
          ? JSON.stringify(calls.map(({ name, arguments: given }) => ({ name, arguments: given })))
          : content,
      parts: {},
      problems: broken
        ? [{ kind: "not a call", field: "tool_call", message: "what stands in it cannot be read" }]
        : [],
      admissible: null,
      reward: 0,
      score: 0,
      info: {},
      branch: branch.number,
      seconds: { generate: seconds, step: 0 },
    });
  }

  /** A reply did not come: the branch is as it was before it was asked, or was never there. */
  #undo(branch: Branch): void {
    const replies = repliesIn(branch);
    if (branch.turns.length === 0) {
      this.#branches.splice(this.#branches.indexOf(branch), 1);
      if (this.#parts.keeps) this.#parts.generator.release(`${this.id}/${branch.number}`);
      return;
    }
    branch.conversation = branch.conversation.fork(replies);
    const end = branch.entries.findIndex(({ reply }) => reply === replies);
    branch.entries.splice(end + 1);
  }

  /** What the episode is worth, or one of its branches. */
  reward(told: SessionReward, branch?: number): void {
    if (branch === undefined) {
      this.told = told;
      return;
    }
    if (!this.#branches.some(({ number }) => number === branch))
      throw new GatewayError("invalid_request", `the session has no branch ${branch}.`, {
        field: "branch",
      });
    this.#branchRewards.set(branch, told.reward);
  }

  /** Everything that was recorded, branch after branch. */
  turns(): Turn[] {
    return this.#branches.flatMap(({ number, turns }) => {
      const own = this.#branchRewards.get(number) ?? 0;
      return turns.map((turn, i) => (i === turns.length - 1 ? { ...turn, reward: own } : turn));
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const running of this.#running) running.abort(new Error("the session is over"));
    if (this.#parts.keeps)
      for (const { number } of this.#branches)
        this.#parts.generator.release(`${this.id}/${number}`);
  }
}

interface Given {
  readonly branch: Branch;
  readonly messages: readonly ChatMessage[];
  readonly promptIds: readonly number[];
}

function promptOf({ conversation }: Branch, isNew: boolean): number[] {
  if (isNew) return [...conversation.ids];
  const { start, end } = conversation.segments.at(-1)!;
  return conversation.ids.slice(start, end);
}

function repliesIn({ conversation }: Branch): number {
  return conversation.segments.filter(({ kind }) => kind === "reply").length;
}

/** Messages as the template takes them, or a refusal that says what it said. */
function rendered(
  chat: ReturnType<ToolTemplate["chatFor"]>,
  messages: ChatMessage[],
): Conversation {
  try {
    return new Conversation(chat, messages);
  } catch (error) {
    throw new GatewayError("invalid_request", (error as Error).message, { field: "messages" });
  }
}
