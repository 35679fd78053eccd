/**
 * @file What the tests of the gateway share: a gateway over a tiny model of this process, and one whose model says
 * what a test wants to be said (for the forms of protocols: a random model calls no functions by itself).
 */
import { afterAll } from "vitest";
import { Gateway, type GatewayOptions, serveGateway } from "../../src/gateway/index.ts";
import {
  type Completion,
  createEngine,
  type Engine,
  type GenerationRequest,
  type TextGenerator,
} from "../../src/generation/index.ts";
import type { Chat } from "../../src/models/index.ts";
import {
  newModelFolder,
  openTinyModel,
  type TinyModel,
  temporaryFolder,
} from "../rollout/support.ts";

export interface TinyGateway {
  readonly tiny: TinyModel;
  readonly engine: Engine;
  newGateway(options?: Partial<GatewayOptions>): Gateway;
}

/** To be called once, in a test file's body. */
export function tinyGateway(): TinyGateway {
  const folder = temporaryFolder();
  const tiny = openTinyModel(newModelFolder(folder));
  const engine = createEngine(tiny.model, {
    ...{ cacheBytes: 400 * 8192, tokensPerStep: 512, tokenizer: tiny.chat.tokenizer },
  });
  afterAll(async () => {
    await engine.close();
    tiny.model.dispose();
  });
  return {
    tiny,
    engine,
    newGateway: (options = {}) =>
      new Gateway({
        ...{ generator: engine, chat: tiny.chat, contextLength: 2048, model: "tiny", seed: 1 },
        ...options,
      }),
  };
}

/** A server that is closed after the tests. */
export async function served(
  gateway: Gateway,
  options: Parameters<typeof serveGateway>[1] = {},
): Promise<string> {
  const server = await serveGateway(gateway, options);
  afterAll(() => server.close());
  return server.url;
}

/** Says the texts one after the other, token by token, then the last again and again. */
export function saying(chat: Chat, texts: readonly string[]): TextGenerator {
  let next = 0;
  return {
    async generate(request: GenerationRequest): Promise<Completion> {
      const text = texts[Math.min(next++, texts.length - 1)]!;
      const whole = [...chat.tokenizer.encodePlain(text), chat.endOfTurnId];
      const ids = whole.slice(0, request.sampling.maximumTokens);
      for (const id of ids) {
        await new Promise((resolve) => setImmediate(resolve));
        if (request.signal?.aborted) break;
        request.onToken?.({ id, logprob: -0.5, sampledLogprob: -0.5 });
      }
      const logprobs = ids.map(() => -0.5);
      return {
        ...{ ids, logprobs, sampledLogprobs: logprobs, cachedTokens: 0, weightsVersion: 0 },
        finish: request.signal?.aborted ? "abort" : ids.length < whole.length ? "length" : "stop",
        stop: null,
        retokenized: false,
      };
    },
    release() {},
    close: async () => {},
  };
}

export const WEATHER = {
  name: "weather",
  description: "The weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
} as const;

export const CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Bern"}}</tool_call>';
