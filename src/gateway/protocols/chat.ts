/**
 * @file OpenAI's /v1/chat/completions: a request into the gateway's form, and a reply out of it, whole or as events.
 */
import { z } from "zod";
import type { SampledToken } from "../../generation/index.ts";
import type { GivenReply, ReplyAsk } from "../conversation/asked.ts";
import type { GatewayMessage } from "../conversation/messages.ts";
import type { Session } from "../conversation/session.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { type EventStream, streamed } from "./events.ts";
import {
  formatSchema,
  formatWish,
  functionSchema,
  MOST_TOOLS,
  nameSchema,
  newId,
  readBody,
  samplingFields,
  samplingOf,
  textIn,
  textParts,
  tokenCount,
  toolOf,
  toolWish,
} from "./read.ts";
import { openaiError } from "./refusal.ts";

const callSchema = z.looseObject({
  id: z.string().max(200).optional(),
  function: z.object({ name: z.string().max(200), arguments: z.string() }),
});

const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: textParts.nullish(),
  tool_calls: z.array(callSchema).max(256).nullish(),
  tool_call_id: z.string().max(200).nullish(),
});

export const bodySchema = z.looseObject({
  model: z.string().max(500).optional(),
  messages: z.array(messageSchema).min(1).max(10_000),
  tools: z
    .array(z.looseObject({ type: z.literal("function"), function: functionSchema }))
    .max(MOST_TOOLS)
    .nullish(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.looseObject({ type: z.literal("function"), function: z.object({ name: nameSchema }) }),
    ])
    .nullish(),
  n: z.number().int().min(1).max(64).nullish(),
  max_tokens: tokenCount.nullish(),
  max_completion_tokens: tokenCount.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().int().min(0).max(20).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  return_token_ids: z.boolean().nullish(),
  response_format: formatSchema.nullish(),
  ...samplingFields,
});

type Body = z.output<typeof bodySchema>;

export function messagesOf(messages: Body["messages"]): GatewayMessage[] {
  return messages.map(({ role, content, tool_calls, tool_call_id }, i) => ({
    role: role === "developer" ? "system" : role === "function" ? "tool" : role,
    content: textIn(content, `messages.${i}.content`),
    ...(tool_calls?.length && {
      calls: tool_calls.map(({ id = "", function: { name, arguments: given } }) => ({
        ...{ id, name, arguments: given },
      })),
    }),
    ...(tool_call_id != null && { callId: tool_call_id }),
  }));
}

export async function chatCompletions(
  gateway: Gateway,
  session: Session | undefined,
  request: Request,
): Promise<Response> {
  const body = await readBody(request, bodySchema);
  if (body.top_logprobs)
    throw new GatewayError(
      "invalid_request",
      "top_logprobs: only the log-probabilities of the tokens that were drawn are known; leave it out.",
      { field: "top_logprobs" },
    );
  const messages = messagesOf(body.messages);
  if (messages.at(-1)!.role === "assistant")
    throw new GatewayError(
      "invalid_request",
      "messages: the last one is the assistant's; a reply answers somebody else.",
      { field: "messages" },
    );
  const tools = (body.tools ?? []).map((tool) => toolOf(tool.function));
  const choice = body.tool_choice ?? "auto";
  const wish = toolWish(gateway, tools, typeof choice === "string" ? choice : choice.function);
  const ask: Omit<ReplyAsk, "signal"> = {
    messages,
    tools,
    readsCalls: wish.readsCalls,
    sampling: {
      ...samplingOf(body, body.max_completion_tokens ?? body.max_tokens),
      ...formatWish(gateway, body.response_format, "response_format"),
      ...wish.sampling,
    },
  };
  const count = body.n ?? 1;
  const made = { id: newId("chatcmpl-"), created: Math.floor(Date.now() / 1000) };
  const replies = (signal: AbortSignal, onPiece?: (choice: number) => ReplyAsk["onPiece"]) =>
    Promise.all(
      Array.from({ length: count }, (_, choice) => {
        const listening = onPiece?.(choice);
        return gateway.reply(session, {
          ...{ ...ask, signal },
          ...(body.seed != null && { seed: BigInt(body.seed) + BigInt(choice) }),
          ...(listening && { onPiece: listening }),
        });
      }),
    );
  if (body.stream)
    return streamed(
      request.signal,
      (stream) => sendChunks(gateway, body, made, stream, replies),
      (error) => ({ data: openaiError(error).body }),
    );
  const given = await replies(request.signal);
  return Response.json({
    ...made,
    object: "chat.completion",
    model: gateway.model,
    choices: given.map((reply, index) => choiceOf(gateway, body, reply, index)),
    usage: usageOf(given),
    ...(body.return_token_ids && { prompt_token_ids: given[0]!.promptIds }),
  });
}

function choiceOf(gateway: Gateway, body: Body, reply: GivenReply, index: number) {
  const { content, calls, completion } = reply;
  return {
    index,
    message: {
      role: "assistant",
      content: content === "" && calls.length > 0 ? null : content,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
    },
    logprobs: body.logprobs
      ? { content: logprobsOf(gateway, tokensOf(completion)), refusal: null }
      : null,
    finish_reason: finishOf(reply),
    ...(body.return_token_ids && { token_ids: completion.ids }),
  };
}

type Replies = (
  signal: AbortSignal,
  onPiece?: (choice: number) => ReplyAsk["onPiece"],
) => Promise<GivenReply[]>;

async function sendChunks(
  gateway: Gateway,
  body: Body,
  made: { id: string; created: number },
  { signal, send }: EventStream,
  replies: Replies,
): Promise<void> {
  const chunk = (choices: unknown[], rest: object = {}) =>
    send({
      data: { ...made, object: "chat.completion.chunk", model: gateway.model, choices, ...rest },
    });
  const begun = new Set<number>();
  const calls = new Map<number, number>();
  const given = await replies(signal, (index) => (piece) => {
    const delta: Record<string, unknown> = {};
    if (!begun.has(index)) {
      delta.role = "assistant";
      // OpenAI's own begins with an empty text; some clients wait for it.
      delta.content = "";
      begun.add(index);
    }
    if (piece.text !== "") delta.content = piece.text;
    if (piece.calls.length > 0) {
      const first = calls.get(index) ?? 0;
      calls.set(index, first + piece.calls.length);
      delta.tool_calls = piece.calls.map((call, i) => ({ index: first + i, ...callOf(call) }));
    }
    chunk([
      {
        ...{ index, delta, finish_reason: null },
        logprobs: body.logprobs
          ? { content: logprobsOf(gateway, piece.tokens), refusal: null }
          : null,
        ...(body.return_token_ids && { token_ids: piece.tokens.map(({ id }) => id) }),
      },
    ]);
  });
  for (const [index, reply] of given.entries())
    chunk([{ index, delta: {}, logprobs: null, finish_reason: finishOf(reply) }]);
  if (body.stream_options?.include_usage) chunk([], { usage: usageOf(given) });
  send({ data: "[DONE]" });
}

function callOf({ id, name, arguments: given }: { id: string; name: string; arguments: string }) {
  return { id, type: "function", function: { name, arguments: given } };
}

export function finishOf({ calls, finish }: GivenReply): "tool_calls" | "stop" | "length" {
  if (calls.length > 0) return "tool_calls";
  return finish === "stop" ? "stop" : "length";
}

export function tokensOf({
  ids,
  logprobs,
  sampledLogprobs,
}: GivenReply["completion"]): SampledToken[] {
  return ids.map((id, i) => ({
    ...{ id, logprob: logprobs[i]!, sampledLogprob: sampledLogprobs[i]! },
  }));
}

export function logprobsOf({ chat }: Gateway, tokens: readonly SampledToken[]) {
  return tokens.map(({ id, logprob }) => {
    const bytes = chat.tokenizer.tokenBytes(id);
    return {
      ...{
        token: new TextDecoder().decode(bytes),
        logprob,
        bytes: [...bytes],
        top_logprobs: [],
        id,
      },
    };
  });
}

export function usageOf(replies: readonly GivenReply[]) {
  const sum = (of: (reply: GivenReply) => number) =>
    replies.reduce((total, reply) => total + of(reply), 0);
  // Several choices have one prompt.
  const prompt = replies[0]?.promptIds.length ?? 0;
  const drawn = sum(({ completion }) => completion.ids.length);
  return {
    prompt_tokens: prompt,
    completion_tokens: drawn,
    total_tokens: prompt + drawn,
    prompt_tokens_details: { cached_tokens: replies[0]?.completion.cachedTokens ?? 0 },
  };
}
