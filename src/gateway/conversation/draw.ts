/**
 * @file A reply, drawn by the model or said by a script in its place, and told in pieces while it is written.
 */
import { randomUUID } from "node:crypto";
import type { Completion, GenerationRequest, SampledToken } from "../../generation/index.ts";
import { expertReply } from "../../rollout/index.ts";
import { GatewayError } from "../errors.ts";
import type { ReplyPiece } from "../tools/reader.ts";
import { writeCalls } from "../tools/style.ts";
import type { GivenPiece, GivenReply, ReplyAsk, SessionParts } from "./asked.ts";
import type { ToolCall } from "./messages.ts";
import { replyText } from "./text.ts";

/** Where in its session a reply is drawn. */
export interface ReplyPlace {
  readonly prompt: readonly number[];
  readonly branch: number;
  /** Tokens that the session has drawn before. */
  readonly drawn: number;
  readonly seed: number | bigint;
  readonly signal: AbortSignal;
  /** Hears that the model failed, and not who asked it. */
  readonly onFailure: (error: Error) => void;
}

export async function drawReply(
  parts: SessionParts,
  ask: ReplyAsk,
  { prompt, branch, drawn, seed, signal, onFailure }: ReplyPlace,
): Promise<GivenReply> {
  const { id, templates, contextLength, sampling: own, limits, keeps, task } = parts;
  const chat = templates.chatFor([]);
  const asked = { ...ask.sampling, ...own };
  const left = Math.min(
    asked.maximumTokens ?? Infinity,
    limits?.replyTokens ?? Infinity,
    (limits?.tokens ?? Infinity) - drawn,
    contextLength - prompt.length,
  );
  const style = ask.readsCalls ? templates.style : undefined;
  const reader = replyText(chat.tokenizer, style, asked.stopStrings ?? []);
  const pieces: GivenPiece[] = [];
  let unseen: SampledToken[] = [];
  const give = (piece: ReplyPiece, isEnd = false) => {
    if (piece.text === "" && piece.calls.length === 0 && !isEnd) return;
    const named = { ...piece, calls: piece.calls.map(withId), tokens: unseen };
    unseen = [];
    pieces.push(named);
    ask.onPiece?.(named);
  };
  let completion: Completion;
  try {
    const onToken = (token: SampledToken) => {
      unseen.push(token);
      give(reader.push(token.id));
    };
    completion = await complete(parts, ask, left, {
      prompt,
      sampling: { ...asked, maximumTokens: Math.max(1, left), stopTokens: [chat.endOfTurnId] },
      seed,
      ...(keeps && { conversation: `${id}/${branch}` }),
      ...(task !== undefined && { task }),
      signal,
      onToken,
    });
  } catch (error) {
    if (error instanceof RangeError) throw new GatewayError("invalid_request", error.message);
    if (signal.aborted) throw signal.reason ?? error;
    onFailure(error as Error);
    throw error;
  }
  if (completion.finish === "abort") throw signal.reason ?? new Error("aborted");
  give(reader.finish(), true);
  return {
    content: pieces.map(({ text }) => text).join(""),
    calls: pieces.flatMap(({ calls }) => calls),
    finish: completion.finish,
    stop: typeof completion.stop === "string" ? completion.stop : null,
    promptIds: prompt,
    completion,
    branch,
  };
}

type Request = GenerationRequest & Required<Pick<GenerationRequest, "signal" | "onToken">>;

/** What the model draws, or what is said in its place. */
async function complete(
  { generator, script, templates }: SessionParts,
  ask: ReplyAsk,
  left: number,
  request: Request,
): Promise<Completion> {
  if (!script) return generator.generate(request);
  const reply = await unlessAborted(request.signal, script(ask));
  const { content = "", calls } = typeof reply === "string" ? { content: reply, calls: [] } : reply;
  const written = calls.map(({ name, arguments: given }) => ({
    ...{ name, arguments: JSON.stringify(given) },
  }));
  const text = written.length > 0 ? writeCalls(templates.style, written) : "";
  const whole = content && text ? `${content}\n${text}` : content + text;
  const completion = expertReply(templates.chatFor([]), whole, left, request.signal);
  for (const id of completion.ids)
    request.onToken({ id, logprob: Number.NaN, sampledLogprob: Number.NaN });
  return completion;
}

function withId(call: Omit<ToolCall, "id">): ToolCall {
  return { id: `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`, ...call };
}

/** What is given, or the signal's reason: somebody else's code may never answer. */
async function unlessAborted<Value>(signal: AbortSignal, given: Promise<Value>): Promise<Value> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([given, aborted]);
  } finally {
    signal.removeEventListener("abort", stop!);
  }
}
