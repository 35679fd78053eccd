/**
 * @file A process that only plays: our engine over a copy of the weights, behind those of vLLM's endpoints that a
 * training asks (src/generation/vllm). bin/player.mjs starts it.
 *
 * Requests say more than vLLM is told: the whole seed, the conversation and the task. So it draws what the engine in the
 * training's own process would draw, bit for bit.
 */
import { z } from "zod";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type GenerationRequest,
} from "../../generation/index.ts";
import { loadChat, loadModel, type Model } from "../../models/index.ts";
import { openServer } from "../../network/index.ts";
import { noGrad, setThreads, tidy } from "../../torch/index.ts";
import { textLogprobs } from "./probe.ts";

/** What a player is started with; it must go through JSON. */
export interface PlayerSettings {
  /** The model folder of the first weights. */
  readonly folder: string;
  readonly port: number;
  readonly threads: number;
  readonly dtype: "float32" | "bfloat16" | "float16";
  readonly engine: Pick<
    EngineOptions,
    "cacheBytes" | "tokensPerStep" | "speculation" | "quantization"
  >;
}

/** Whoever asks must bring what this variable says. */
export const PLAYER_KEY = "OPENMANUS_PLAYER_KEY";

const ids = z.array(z.number().int().min(0)).min(1);
const completionBody = z.looseObject({
  prompt: ids,
  max_tokens: z.number().int().min(1),
  temperature: z.number().min(0),
  top_p: z.number().gt(0).max(1).default(1),
  top_k: z.number().int().min(-1).default(-1),
  min_p: z.number().min(0).max(1).default(0),
  repetition_penalty: z.number().gt(0).default(1),
  min_tokens: z.number().int().min(0).default(0),
  logit_bias: z.record(z.string().regex(/^\d+$/), z.number()).default({}),
  stop: z.array(z.string().min(1)).default([]),
  stop_token_ids: z.array(z.number().int().min(0)).optional(),
  seed: z.union([z.number().int(), z.string().regex(/^-?\d{1,20}$/)]).default(0),
  conversation: z.string().optional(),
  task: z.string().optional(),
  prompt_logprobs: z.number().optional(),
});
type CompletionBody = z.output<typeof completionBody>;

const reloadBody = z.looseObject({
  method: z.literal("reload_weights"),
  kwargs: z.looseObject({ weights_path: z.string() }),
});
const versionBody = z.looseObject({ new_version: z.string() });

/** Bytes of a request: a long text in ids. */
const LARGEST_BODY = 2 ** 24;

export async function servePlayer(settings: PlayerSettings): Promise<void> {
  setThreads(settings.threads);
  const { tokenizer } = loadChat(settings.folder);
  const model = loadModel(settings.folder, { dtype: settings.dtype });
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  const engine = createEngine(model, { ...settings.engine, tokenizer });
  const answer = player(model, engine, settings.dtype);
  await openServer({
    ...{ port: settings.port, apiKey: process.env[PLAYER_KEY], largestBody: LARGEST_BODY },
    ...{ largestBodies: 16 * LARGEST_BODY, handler: answer },
    refusalBody: (_, sentence) => ({ error: { message: sentence } }),
  });
}

function player(
  model: Model,
  engine: Engine,
  dtype: PlayerSettings["dtype"],
): (request: Request) => Promise<Response> {
  let version = "default";
  let paused = false;
  /** Ends what is being drawn. */
  let stopping = new AbortController();
  const busy = new Set<string>();
  /** Asked for since weights were changed. */
  const conversations = new Set<string>();

  /** Over the weights that there are: the engine, and what it has learned about guessing, stay. */
  function reload(folder: string): void {
    const next = loadModel(folder, { dtype });
    try {
      const own = model.weights();
      tidy(() =>
        noGrad(() => {
          for (const [name, tensor] of next.weights()) own.get(name)!.copy_(tensor);
        }),
      );
    } finally {
      next.dispose();
    }
  }

  async function completion(body: CompletionBody, signal: AbortSignal): Promise<Response> {
    if (paused) return refused(503, "no reply is drawn while weights are changed");
    const request = requestOf(body, AbortSignal.any([signal, stopping.signal]));
    const name = request.conversation;
    // A request that was given up may still be on its way out: its cache is not worth waiting for.
    const isAlone = name === undefined || !busy.has(name);
    if (name !== undefined && isAlone) {
      busy.add(name);
      conversations.add(name);
    }
    const { conversation: _, ...nameless } = request;
    try {
      const drawn = await engine.generate(isAlone ? request : nameless);
      if (drawn.finish === "abort") return refused(503, "the request was given up");
      const known =
        body.prompt_logprobs === undefined ? undefined : textLogprobs(model, body.prompt);
      return Response.json(answerOf(body.prompt, drawn, known));
    } catch (error) {
      return refused(error instanceof RangeError ? 400 : 500, (error as Error).message);
    } finally {
      if (name !== undefined && isAlone) busy.delete(name);
    }
  }

  const endpoints: Record<string, (body: unknown, signal: AbortSignal) => unknown> = {
    "/health": () => ({}),
    "/weight_info": () => ({ weight_version: version }),
    "/v1/completions": (body, signal) => completion(completionBody.parse(body), signal),
    "/pause": () => {
      paused = true;
      stopping.abort();
      stopping = new AbortController();
    },
    "/resume": () => {
      paused = false;
    },
    "/collective_rpc": (body) => reload(reloadBody.parse(body).kwargs.weights_path),
    "/reset_prefix_cache": () => {
      engine.weightsChanged();
      // Their episodes are over, or begin anew.
      for (const name of conversations) engine.release(name);
      conversations.clear();
      return { success: true };
    },
    "/update_weight_version": (body) => {
      version = versionBody.parse(body).new_version;
    },
  };
  return async (request) => {
    const endpoint = endpoints[new URL(request.url).pathname];
    if (!endpoint) return refused(404, "there is nothing at this path");
    try {
      const body = request.method === "POST" ? await request.json() : undefined;
      const answer = await endpoint(body, request.signal);
      return answer instanceof Response ? answer : Response.json(answer ?? {});
    } catch (error) {
      const isTheirs = error instanceof z.ZodError || error instanceof SyntaxError;
      return refused(isTheirs ? 400 : 500, (error as Error).message);
    }
  };
}

function requestOf(body: CompletionBody, signal: AbortSignal): GenerationRequest {
  const bias = new Map(Object.entries(body.logit_bias).map(([id, value]) => [Number(id), value]));
  return {
    prompt: body.prompt,
    seed: BigInt(body.seed),
    signal,
    ...(body.conversation !== undefined && { conversation: body.conversation }),
    ...(body.task !== undefined && { task: body.task }),
    sampling: {
      ...{ maximumTokens: body.max_tokens, minimumTokens: body.min_tokens },
      ...{ temperature: body.temperature, topP: body.top_p, topK: Math.max(0, body.top_k) },
      ...{ minP: body.min_p, repetitionPenalty: body.repetition_penalty },
      ...(bias.size > 0 && { bias }),
      ...(body.stop.length > 0 && { stopStrings: body.stop }),
      ...(body.stop_token_ids && { stopTokens: body.stop_token_ids }),
    },
  };
}

/** In vLLM's form. */
function answerOf(
  prompt: readonly number[],
  { ids: drawn, logprobs, finish, stop, cachedTokens }: Awaited<ReturnType<Engine["generate"]>>,
  known: readonly number[] | undefined,
): unknown {
  return {
    choices: [
      {
        ...{ text: "", token_ids: drawn, logprobs: { token_logprobs: logprobs } },
        finish_reason: finish === "stop" ? "stop" : "length",
        stop_reason: stop,
        ...(known && {
          prompt_logprobs: prompt.map((id, i) =>
            i === 0 ? null : { [id]: { logprob: known[i - 1] } },
          ),
        }),
      },
    ],
    usage: {
      completion_tokens: drawn.length,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    },
  };
}

function refused(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status });
}
