/**
 * @file What a vLLM server is asked besides completions: whether it lives, and the endpoints for reinforcement learning
 * (VLLM_SERVER_DEV_MODE=1).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ExchangeError, exchange, shown } from "../../network/index.ts";
import { connectionError, ServerError, statusError } from "../server/errors.ts";
import { requireObject, unexpected } from "../server/protocol.ts";
import { MODEL_NAME } from "./options.ts";

export interface Endpoints {
  /** Without /v1. */
  readonly url: string;
  isHealthy(): Promise<boolean>;
  /** The name that the weights were given; "default", or null, before that. */
  weightVersion(): Promise<string | null>;
  /** Names the weights that are there. */
  nameWeights(version: string): Promise<void>;
  /** Reads the weights of a model folder, forgets what was computed with others, and names them. */
  loadWeights(folder: string, version: string): Promise<void>;
  /** Nothing is computed until `resume`; what still runs was given up. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Forgets what was computed with other weights than those that are there now, and names these. */
  renew(version: string): Promise<void>;
  /** How many processes compute in it, each with its part of the weights. */
  worldSize(): Promise<number>;
  /** One step of a transfer of weights (transfer.ts). Asked once: its second answer would be another. */
  transferStep(step: TransferStep, body: unknown, options: StepOptions): Promise<void>;
  /** Reads an adapter, to be called by a name; forgets another. */
  loadAdapter(name: string, folder: string, instead: string | undefined): Promise<void>;
  /** [ids - 1] log p of every token but the first, by the model of that name as it is. */
  textLogprobs(ids: readonly number[], model?: string): Promise<number[]>;
}

export type TransferStep =
  | "init_weight_transfer_engine"
  | "start_weight_update"
  | "update_weights"
  | "finish_weight_update"
  | "shutdown_weight_transfer_engine";

export interface StepOptions {
  /** Milliseconds. */
  readonly time: number;
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds: for what should come at once; for what reads a whole model (fetch waits 300 s for a header). */
const SOON = 30_000;
const RELOAD = 290_000;
const LARGEST = 2 ** 24;

export function endpointsOf(url: string, apiKey: string | undefined): Endpoints {
  const base = url.replace(/\/+$/, "").replace(/\/v1$/, "");

  /**
   * While this process learns it hears nothing: connections that the server has closed meanwhile are found closed when
   * they are used. Everything that is asked so may be asked twice.
   */
  async function ask(path: string, body?: unknown, time = SOON): Promise<unknown> {
    for (let attempt = 1; ; attempt++)
      try {
        return await askOnce(path, body, time);
      } catch (error) {
        const mayPass = error instanceof ServerError && error.retryable && error.status === null;
        if (!mayPass || attempt >= CONNECTIONS) throw error;
        await sleep(BETWEEN);
      }
  }

  async function askOnce(
    path: string,
    body: unknown,
    time: number,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const address = `${base}${path}`;
    try {
      return await exchange(
        {
          url: address,
          ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
          headers: {
            "content-type": "application/json",
            ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          },
          limits: { time, size: LARGEST },
          ...(signal && { signal }),
        },
        async (answer) => {
          const text = answer.ok ? await answer.text() : undefined;
          if (text === undefined) {
            const said = (await answer.beginning(LARGEST_ERROR)).bytes.toString();
            throw answer.status === 404 && path !== "/v1/completions"
              ? withoutEndpoints(address)
              : statusError(address, answer, said);
          }
          return text.trim() === "" || SAYS_SO.test(text) ? {} : parsed(address, text);
        },
      );
    } catch (error) {
      if (error instanceof ExchangeError)
        throw connectionError(address, error, error.begun ? "reading the answer" : "connecting");
      throw error;
    }
  }

  // Nobody waits for an answer now: what still runs was given up.
  async function pause(): Promise<void> {
    await ask("/pause?mode=abort&clear_cache=true", {}, RELOAD);
  }

  async function resume(): Promise<void> {
    await ask("/resume", {});
  }

  async function renew(version: string): Promise<void> {
    await forget(ask, base);
    await ask("/update_weight_version", { new_version: version });
  }

  return {
    url: base,
    ...{ pause, resume, renew },
    async worldSize() {
      const { world_size: size } = requireObject(await ask("/get_world_size"), "it");
      if (!Number.isInteger(size) || (size as number) < 1)
        throw unexpected("world_size must be a number of processes", size);
      return size as number;
    },
    async transferStep(step, body, { time, signal }) {
      await askOnce(`/${step}`, body, time, signal);
    },
    async isHealthy() {
      try {
        await ask("/health");
        return true;
      } catch {
        return false;
      }
    },
    async weightVersion() {
      const { weight_version: version } = requireObject(await ask("/weight_info"), "it");
      return typeof version === "string" ? version : null;
    },
    async nameWeights(version) {
      await ask("/update_weight_version", { new_version: version });
    },
    async loadWeights(folder, version) {
      await pause();
      try {
        await ask(
          "/collective_rpc",
          { method: "reload_weights", kwargs: { weights_path: folder } },
          RELOAD,
        );
        await renew(version);
      } finally {
        await resume();
      }
    },
    async loadAdapter(name, folder, instead) {
      const wanted = { lora_name: name, lora_path: folder, load_inplace: true };
      await ask("/v1/load_lora_adapter", wanted, RELOAD);
      if (instead === undefined) return;
      // What is not there any more need not be forgotten.
      await ask("/v1/unload_lora_adapter", { lora_name: instead }).catch((error: unknown) => {
        if (!(error instanceof ServerError)) throw error;
      });
    },
    async textLogprobs(ids, model = MODEL_NAME) {
      const answer = requireObject(
        await ask(
          "/v1/completions",
          {
            ...{ model, prompt: ids, max_tokens: 1, temperature: 0 },
            ...{ prompt_logprobs: 0, detokenize: false },
          },
          RELOAD,
        ),
        "it",
      );
      if (!Array.isArray(answer.choices) || answer.choices.length !== 1)
        throw unexpected("choices must have one entry", answer.choices);
      const choice = requireObject(answer.choices[0], "choices[0]");
      return promptLogprobs(choice.prompt_logprobs, ids);
    },
  };
}

/** What adapters' endpoints answer: a sentence. */
const SAYS_SO = /^Success\b/;
const LARGEST_ERROR = 64 * 1024;
/** How often the cache is asked to forget, a connection is tried; milliseconds between two. */
const ATTEMPTS = 20;
const CONNECTIONS = 4;
const BETWEEN = 100;

/** What was computed with other weights must not be found again. Blocks may be held for some moments. */
async function forget(
  ask: (path: string, body?: unknown) => Promise<unknown>,
  url: string,
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { success } = requireObject(await ask("/reset_prefix_cache", {}), "it");
    if (success !== false) return;
    await sleep(BETWEEN);
  }
  throw new ServerError(
    `${url}: the server's cache could not be emptied: what was computed with older weights would be used`,
  );
}

function withoutEndpoints(address: string): ServerError {
  return new ServerError(
    `${address} does not exist: a vLLM server whose weights are to be changed must be started with ` +
      "VLLM_SERVER_DEV_MODE=1 (vLLM 0.30 or newer)",
  );
}

function parsed(address: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ServerError(`${address}: expected JSON, got ${shown(text)}`, { cause: error });
  }
}

/** vLLM's form: null for the first token, then { "ID": { logprob, … } }, which may have others beside. */
function promptLogprobs(value: unknown, ids: readonly number[]): number[] {
  if (!Array.isArray(value) || value.length !== ids.length)
    throw unexpected(`prompt_logprobs must be a list of ${ids.length}`, value);
  return ids.slice(1).map((id, i) => {
    const entry = requireObject(value[i + 1], `prompt_logprobs[${i + 1}]`);
    const { logprob } = requireObject(entry[String(id)], `prompt_logprobs[${i + 1}] of ${id}`);
    if (typeof logprob !== "number" || !Number.isFinite(logprob))
      throw unexpected(`prompt_logprobs[${i + 1}] must have a number`, logprob);
    return logprob;
  });
}
