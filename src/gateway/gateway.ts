/**
 * @file The gateway itself, without HTTP: sessions by their names, how much is answered at once, and what is counted.
 * It stands on `TextGenerator` alone: the engine of this process, or a server elsewhere.
 */
import { randomBytes } from "node:crypto";
import type { TextGenerator } from "../generation/index.ts";
import type { Chat } from "../models/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { Wishes } from "./constrain/wishes.ts";
import type { GivenReply, ReplyAsk, SessionParts } from "./conversation/asked.ts";
import { Session } from "./conversation/session.ts";
import { GatewayError } from "./errors.ts";
import { GatewayMetrics } from "./metrics.ts";
import { type ToolTemplate, toolTemplate } from "./tools/template.ts";

export interface GatewayOptions {
  readonly generator: TextGenerator;
  readonly chat: Chat;
  /** Tokens that fit into the model, prompt and reply together. */
  readonly contextLength: number;
  /** By which clients name it. */
  readonly model: string;
  /** How calls of functions are written, where the template does not tell: hermes, llama, smollm2. */
  readonly toolStyle?: string | undefined;
  /** Tokens of a reply at most. Default: what the model has room for. */
  readonly replyTokens?: number | undefined;
  /** Seconds for a reply. Default 600. */
  readonly replySeconds?: number | undefined;
  /** Replies that are drawn or wait at once; others are refused. Default 512. */
  readonly maximumReplies?: number | undefined;
  /** Sessions that clients name: so many are kept, the least recently asked is forgotten. Default 1024. */
  readonly maximumSessions?: number | undefined;
  /** Seconds after which a session that nobody asks is forgotten. Default 3600. */
  readonly idleSeconds?: number | undefined;
  /** Everything random follows from it. Default: another one each time. */
  readonly seed?: number | bigint | undefined;
  /** Is given every session that was named by a client, when it ends. */
  readonly onSessionEnd?: ((session: Session) => void) | undefined;
}

/** What a session of a program's is opened with; see src/rollout/policies/policy.ts. */
export type OpenSessionOptions = Pick<
  SessionParts,
  "seed" | "task" | "sampling" | "limits" | "script"
>;

/** Ids that all sessions together hold, before the least recently asked are ended. */
const MOST_IDS = 50_000_000;

export class Gateway {
  readonly model: string;
  readonly chat: Chat;
  readonly templates: ToolTemplate;
  readonly contextLength: number;
  readonly metrics = new GatewayMetrics();
  readonly wishes: Wishes;
  readonly #options: GatewayOptions;
  /** Named by clients, least recently asked first. */
  readonly #named = new Map<string, Session>();
  /** Opened for programs, by the secret that is their key. */
  readonly #opened = new Map<string, Session>();
  readonly #seed: bigint;
  #requests = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.model = options.model;
    this.chat = options.chat;
    this.contextLength = options.contextLength;
    this.wishes = new Wishes(options.chat.tokenizer);
    this.templates = toolTemplate(options.chat, options.toolStyle);
    this.#seed = BigInt(options.seed ?? BigInt(`0x${randomBytes(8).toString("hex")}`));
  }

  get generator(): TextGenerator {
    return this.#options.generator;
  }

  /** Tokens of a reply at most. */
  get replyTokens(): number {
    return this.#options.replyTokens ?? Infinity;
  }

  /** Of a request that brings none and belongs to no session. */
  nextSeed(): bigint {
    return deriveSeed(this.#seed, "request", this.#requests++);
  }

  get sessions(): number {
    return this.#named.size + this.#opened.size;
  }

  /** A session for a program. Its id is a secret that nobody can guess, and its key. */
  open(options: OpenSessionOptions): Session {
    const session = this.#newSession(randomBytes(18).toString("base64url"), options);
    this.#opened.set(session.id, session);
    return session;
  }

  /** The session that was opened under this secret. */
  opened(id: string): Session | undefined {
    return this.#opened.get(id);
  }

  closeOpened(session: Session): void {
    this.#opened.delete(session.id);
    session.close();
  }

  /** The session of that name; `owner` keeps those of one key apart from those of another. */
  named(owner: string, name: string): Session {
    this.#forgetIdle();
    const key = `${owner}\n${name}`;
    const known = this.#named.get(key);
    if (known) {
      this.#named.delete(key);
      this.#named.set(key, known);
      return known;
    }
    const session = this.#newSession(randomBytes(12).toString("base64url"), {
      seed: deriveSeed(this.#seed, name),
    });
    this.#named.set(key, session);
    return session;
  }

  /** The same, but none is made. */
  find(owner: string, name: string): Session | undefined {
    return this.#named.get(`${owner}\n${name}`);
  }

  /** Ends a session that a client named. */
  end(owner: string, name: string): Session | undefined {
    const key = `${owner}\n${name}`;
    const session = this.#named.get(key);
    if (session) this.#forget(key, session);
    return session;
  }

  #forgetIdle(): void {
    const { maximumSessions = 1024, idleSeconds = 3600 } = this.#options;
    const oldest = performance.now() - idleSeconds * 1000;
    let held = 0;
    for (const session of this.#named.values()) held += session.held;
    for (const [key, session] of this.#named) {
      if (session.isBusy) continue;
      const isFull = this.#named.size >= maximumSessions || held > MOST_IDS;
      if (session.asked > oldest && !isFull) break;
      held -= session.held;
      this.#forget(key, session);
    }
  }

  #forget(key: string, session: Session): void {
    this.#named.delete(key);
    session.close();
    this.#options.onSessionEnd?.(session);
  }

  #newSession(id: string, options: OpenSessionOptions): Session {
    const { generator, contextLength, replyTokens } = this.#options;
    return new Session({
      ...{ id, generator, contextLength, templates: this.templates, keeps: true },
      ...options,
      limits: { replyTokens, ...options.limits },
      onFork: (reason) => this.metrics.fork(reason),
    });
  }

  /** Answers. Without a session the request is the only one of its conversation. */
  reply(session: Session | undefined, ask: ReplyAsk): Promise<GivenReply> {
    const { generator, contextLength, replyTokens } = this.#options;
    const one =
      session ??
      new Session({
        ...{ id: "", generator, contextLength, templates: this.templates, keeps: false },
        seed: this.nextSeed(),
        limits: { replyTokens },
      });
    return this.counted(ask, (limited) => one.ask({ ...ask, ...limited }));
  }

  /** Draws with a place among those that are answered at once, the reply's time, and an account of it. */
  async counted(
    { signal, onPiece }: Pick<ReplyAsk, "signal" | "onPiece">,
    draw: (limited: Pick<ReplyAsk, "signal" | "onPiece">) => Promise<GivenReply>,
  ): Promise<GivenReply> {
    const { maximumReplies = 512, replySeconds = 600 } = this.#options;
    const { metrics } = this;
    if (metrics.running >= maximumReplies)
      throw new GatewayError("busy", "too many replies are wanted at once; come back later.");
    const begun = performance.now();
    const stopping = new AbortController();
    const stop = () => stopping.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      stopping.abort(new Error("late"));
    }, replySeconds * 1000);
    let first = true;
    metrics.running++;
    try {
      const reply = await draw({
        signal: stopping.signal,
        onPiece(piece) {
          if (first) metrics.firstToken.add((performance.now() - begun) / 1000);
          first = false;
          onPiece?.(piece);
        },
      });
      metrics.reply.add((performance.now() - begun) / 1000);
      metrics.promptTokens += reply.promptIds.length;
      metrics.cachedTokens += reply.completion.cachedTokens;
      metrics.generatedTokens += reply.completion.ids.length;
      return reply;
    } catch (error) {
      if (signal?.aborted) metrics.aborted++;
      else if (late)
        throw new GatewayError("late", `the reply was not ready within ${replySeconds} s.`);
      throw error;
    } finally {
      metrics.running--;
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  close(): void {
    for (const session of this.#opened.values()) session.close();
    this.#opened.clear();
    for (const [key, session] of this.#named) this.#forget(key, session);
  }
}
