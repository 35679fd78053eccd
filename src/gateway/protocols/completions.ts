/**
 * @file OpenAI's /v1/completions: a prompt is continued as it stands, in text or in ids, and ids come back (as vLLM's
 * `token_ids`). There is no template and no session: whoever sends ids keeps them.
 */
import { z } from "zod";
import type { GenerationRequest } from "../../generation/index.ts";
import type { GivenReply, ReplyAsk } from "../conversation/asked.ts";
import { replyText } from "../conversation/text.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { tokensOf, usageOf } from "./chat.ts";
import { type EventStream, streamed } from "./events.ts";
import { newId, readBody, samplingFields, samplingOf, tokenCount } from "./read.ts";
import { openaiError } from "./refusal.ts";

const idList = z.array(z.number().int().min(0)).min(1).max(10_000_000);

const bodySchema = z.looseObject({
  model: z.string().max(500).optional(),
  prompt: z.union([
    z.string().min(1),
    idList,
    z.array(z.string().min(1)).length(1),
    z.array(idList).length(1),
  ]),
  max_tokens: tokenCount.nullish(),
  n: z.number().int().min(1).max(64).nullish(),
  /** The number of alternatives; those are not known, the drawn tokens' are. */
  logprobs: z.number().int().min(0).max(5).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  echo: z.literal(false).nullish(),
  return_token_ids: z.boolean().nullish(),
  stop_token_ids: z.array(z.number().int().min(0)).max(256).nullish(),
  ignore_eos: z.boolean().nullish(),
  structured_outputs: z
    .looseObject({ choice: z.array(z.string().min(1)).min(1).max(10_000).nullish() })
    .nullish(),
  ...samplingFields,
});

type Body = z.output<typeof bodySchema>;

/** What OpenAI's own server continues with where nothing is said. */
const DEFAULT_TOKENS = 16;

export async function completions(gateway: Gateway, request: Request): Promise<Response> {
  const body = await readBody(request, bodySchema);
  const prompt = promptOf(gateway, body.prompt);
  const room = gateway.contextLength - prompt.length;
  if (room < 1)
    throw new GatewayError(
      "context_length",
      `the prompt has ${prompt.length} tokens; the model takes ${gateway.contextLength - 1} before a reply.`,
      { field: "prompt" },
    );
  const maximumTokens = Math.min(body.max_tokens ?? DEFAULT_TOKENS, room, gateway.replyTokens);
  const choices = body.structured_outputs?.choice;
  const sampling = {
    ...samplingOf(body, maximumTokens),
    maximumTokens,
    ...(body.stop_token_ids && { stopTokens: body.stop_token_ids }),
    ...(body.ignore_eos && !body.stop_token_ids && { stopTokens: [] }),
    ...(choices && { choices }),
  };
  const count = body.n ?? 1;
  const replies = (signal: AbortSignal, onPiece?: (choice: number) => ReplyAsk["onPiece"]) =>
    Promise.all(
      Array.from({ length: count }, (_, choice) => {
        const listening = onPiece?.(choice);
        const seed = body.seed == null ? gateway.nextSeed() : BigInt(body.seed) + BigInt(choice);
        return gateway.counted({ signal, ...(listening && { onPiece: listening }) }, (limited) =>
          drawn(gateway, { prompt, sampling, seed }, limited),
        );
      }),
    );
  const made = { id: newId("cmpl-"), created: Math.floor(Date.now() / 1000) };
  if (body.stream)
    return streamed(
      request.signal,
      (stream) => sendChunks(gateway, body, made, stream, replies),
      (error) => ({ data: openaiError(error).body }),
    );
  const given = await replies(request.signal);
  return Response.json({
    ...made,
    object: "text_completion",
    model: gateway.model,
    choices: given.map((reply, index) => ({
      index,
      text: reply.content,
      logprobs: body.logprobs == null ? null : logprobs(gateway, tokensOf(reply.completion)),
      finish_reason: finishOf(reply),
      stop_reason: reply.completion.stop,
      ...(body.return_token_ids && { token_ids: reply.completion.ids }),
    })),
    usage: usageOf(given),
    ...(body.return_token_ids && { prompt_token_ids: prompt }),
  });
}

function promptOf({ chat }: Gateway, given: Body["prompt"]): number[] {
  const [first] = given;
  if (typeof given === "string") return chat.tokenizer.encode(given);
  if (typeof first === "number") return given as number[];
  return typeof first === "string" ? chat.tokenizer.encode(first) : (first as number[]);
}

async function drawn(
  { generator, chat }: Gateway,
  request: Omit<GenerationRequest, "signal" | "onToken">,
  { signal, onPiece }: Pick<ReplyAsk, "signal" | "onPiece">,
): Promise<GivenReply> {
  const reader = replyText(chat.tokenizer, undefined, request.sampling.stopStrings ?? []);
  let content = "";
  const give = (
    text: string,
    tokens: Parameters<NonNullable<ReplyAsk["onPiece"]>>[0]["tokens"],
  ) => {
    content += text;
    onPiece?.({ text, calls: [], tokens });
  };
  const completion = await generator
    .generate({
      ...request,
      ...(signal && { signal }),
      onToken: (token) => give(reader.push(token.id).text, [token]),
    })
    .catch((error: unknown) => {
      if (error instanceof RangeError) throw new GatewayError("invalid_request", error.message);
      throw error;
    });
  if (completion.finish === "abort") throw signal?.reason ?? new Error("aborted");
  const rest = reader.finish().text;
  if (rest !== "") give(rest, []);
  return {
    ...{ content, calls: [], completion, branch: 0, promptIds: request.prompt },
    finish: completion.finish,
    stop: typeof completion.stop === "string" ? completion.stop : null,
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
    send({ data: { ...made, object: "text_completion", model: gateway.model, choices, ...rest } });
  const given = await replies(
    signal,
    (index) =>
      ({ text, tokens }) =>
        chunk([
          {
            ...{ index, text, finish_reason: null },
            logprobs: body.logprobs == null ? null : logprobs(gateway, tokens),
            ...(body.return_token_ids && { token_ids: tokens.map(({ id }) => id) }),
          },
        ]),
  );
  for (const [index, reply] of given.entries())
    chunk([
      {
        ...{ index, text: "", logprobs: null },
        ...{ finish_reason: finishOf(reply), stop_reason: reply.completion.stop },
      },
    ]);
  if (body.stream_options?.include_usage) chunk([], { usage: usageOf(given) });
  send({ data: "[DONE]" });
}

function finishOf({ finish }: GivenReply): "stop" | "length" {
  return finish === "stop" ? "stop" : "length";
}

function logprobs(
  { chat }: Gateway,
  tokens: ReturnType<typeof tokensOf> | readonly { id: number; logprob: number }[],
) {
  const texts = tokens.map(({ id }) => new TextDecoder().decode(chat.tokenizer.tokenBytes(id)));
  return {
    tokens: texts,
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: null,
    text_offset: [],
  };
}
