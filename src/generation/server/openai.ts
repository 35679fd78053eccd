/**
 * @file OpenAI's /v1/completions with the extensions that carry token ids: they go in as the prompt, and
 * come out as `token_ids` (vLLM, SGLang), as "token_id:N" among the logprobs (older vLLM), or beside
 * each log-probability (llama.cpp).
 */
import { shown } from "../../network/index.ts";
import { reported, ServerError } from "./errors.ts";
import {
  type BodyOptions,
  optionalCount,
  type Piece,
  type Protocol,
  requireIds,
  requireLogprobs,
  requireObject,
  unexpected,
} from "./protocol.ts";

/** Exact ids: what is sampled is what is returned. */
export const openai: Protocol = {
  path: "completions",
  body: (options) => ({
    ...commonBody(options),
    logprobs: 1,
    // Two spellings of the same wish: newer servers know the first, older ones the second.
    return_token_ids: true,
    return_tokens_as_token_ids: true,
  }),
  piece: (json) => readPiece(json, true),
};

/** Text in, text out: for servers without ids. */
export const openaiText: Protocol = {
  path: "completions",
  body: commonBody,
  piece: (json) => readPiece(json, false),
};

function commonBody(options: BodyOptions): Record<string, unknown> {
  const { sampling, stream } = options;
  return {
    model: options.model,
    prompt: options.prompt,
    max_tokens: sampling.maximumTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    seed: options.seed,
    // Said even where they change nothing: servers have defaults of their own (llama.cpp: top_k 40,
    // min_p 0.05; vLLM: those of the model's generation_config.json). All of them know -1 as "all".
    top_k: sampling.topK === 0 ? -1 : sampling.topK,
    min_p: sampling.minP,
    repetition_penalty: sampling.repetitionPenalty,
    ...(sampling.minimumTokens > 0 && { min_tokens: sampling.minimumTokens }),
    ...(sampling.bias && { logit_bias: Object.fromEntries(sampling.bias) }),
    ...(sampling.stopStrings.length > 0 && { stop: sampling.stopStrings }),
    // Ours replace the model's own; servers add them to the model's own unless told.
    ...(options.ownStopTokens && { stop_token_ids: sampling.stopTokens }),
    // llama.cpp takes it for a ban of that token: said only where it is not among ours anyway.
    ...(options.ownStopTokens && options.ignoresEnd && { ignore_eos: true }),
    ...(sampling.choices && { structured_outputs: { choice: sampling.choices } }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

function readPiece(json: unknown, withIds: boolean): Piece {
  const answer = requireObject(json, "it");
  if (answer.error) throw reported(answer.error);
  const usage = answer.usage ? requireObject(answer.usage, "usage") : {};
  const details = usage.prompt_tokens_details as { cached_tokens?: unknown } | null | undefined;
  const counts = {
    cachedTokens: optionalCount(details?.cached_tokens),
    completionTokens: optionalCount(usage.completion_tokens),
  };
  if (!Array.isArray(answer.choices)) throw unexpected("choices must be a list", answer.choices);
  // The last event of a stream tells the usage and no choice.
  if (answer.choices.length === 0 && answer.usage)
    return { ids: [], logprobs: [], text: "", finish: null, stop: null, ...counts };
  if (answer.choices.length !== 1) throw unexpected("choices must have one entry", answer.choices);
  const choice = requireObject(answer.choices[0], "choices[0]");
  const text = choice.text ?? "";
  if (typeof text !== "string") throw unexpected("choices[0].text must be a string", text);
  const tokens = withIds ? tokensOf(choice, text) : { ids: [], logprobs: [] };
  const stop = choice.stop_reason;
  return {
    ...tokens,
    text,
    finish: finishOf(choice.finish_reason),
    stop: typeof stop === "string" ? stop : optionalCount(stop),
    ...counts,
  };
}

function tokensOf(
  choice: Record<string, unknown>,
  text: string,
): { ids: number[]; logprobs: number[] } {
  const given =
    choice.token_ids === undefined || choice.token_ids === null
      ? null
      : requireIds(choice.token_ids, "choices[0].token_ids");
  if (!choice.logprobs) {
    // An event that only tells the end.
    if ((given === null || given.length === 0) && text === "") return { ids: [], logprobs: [] };
    throw new ServerError(
      "the server's answer has no logprobs: training needs them. Does it support logprobs in /v1/completions, and are they allowed (vLLM: --max-logprobs at least 1)?",
    );
  }
  const found = requireObject(choice.logprobs, "choices[0].logprobs");
  if (Array.isArray(found.content)) return tokensOfContent(found.content);
  const logprobs = requireLogprobs(found.token_logprobs, "choices[0].logprobs.token_logprobs");
  const spelled = idsFromNames(found.tokens);
  const ids = given ?? spelled;
  if (!ids)
    throw new ServerError(
      'the server\'s answer has text but no token ids: expected choices[0].token_ids, or logprobs.tokens as "token_id:N" (vLLM does both, newer SGLang the first). Text that is tokenised again is not what was sampled; for evaluation only, viaText: true allows it',
    );
  if (given && spelled && String(given) !== String(spelled))
    throw new ServerError("the server's answer: token_ids and logprobs.tokens differ");
  if (ids.length !== logprobs.length)
    throw new ServerError(
      `the server's answer has ${ids.length} token ids and ${logprobs.length} log-probabilities; expected one each`,
    );
  return { ids, logprobs };
}

/** llama.cpp's form: [{ id, logprob, … }, …]. */
function tokensOfContent(content: unknown[]): { ids: number[]; logprobs: number[] } {
  const tokens = content.map((token) => requireObject(token, "choices[0].logprobs.content[]"));
  const pick = (name: string) => tokens.map((token) => token[name]);
  return {
    ids: requireIds(pick("id"), "the ids in choices[0].logprobs.content"),
    logprobs: requireLogprobs(pick("logprob"), "the logprobs in choices[0].logprobs.content"),
  };
}

/** The ids of ["token_id:5", …]; null if they are not spelled so. */
function idsFromNames(names: unknown): number[] | null {
  if (!Array.isArray(names)) return null;
  const spelled = names.map((name) =>
    typeof name === "string" ? /^token_id:(\d+)$/.exec(name)?.[1] : undefined,
  );
  if (spelled.some((id) => id === undefined)) return null;
  return requireIds(spelled.map(Number), "the ids in choices[0].logprobs.tokens");
}

function finishOf(reason: unknown): "stop" | "length" | null {
  if (reason === undefined || reason === null) return null;
  if (reason === "stop" || reason === "length") return reason;
  throw new ServerError(
    `the server ended the answer with finish_reason ${shown(reason)}; expected "stop" or "length"`,
    // The server gave up, for reasons of its own.
    { retryable: reason === "abort" },
  );
}
