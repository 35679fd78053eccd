/**
 * @file The generator behind HTTP: what is sent, what is understood, how it streams and stops.
 */
import { describe, expect, it } from "vitest";
import {
  createServerGenerator,
  type GenerationRequest,
  type LogprobKind,
  type SamplingOptions,
  type ServerOptions,
  stream,
} from "../../../src/generation/index.ts";
import { testTokenizer } from "../support.ts";
import { answerOf, beginStream, choice, fakeServer, sendJson } from "./fake-server.ts";

const request: GenerationRequest = {
  prompt: [5, 6, 7],
  sampling: { maximumTokens: 4 },
  seed: 11,
};
const tokens = { ids: [40, 41, 2], logprobs: [-0.5, -1.25, -2] };

function connect(baseUrl: string, options: Partial<ServerOptions> = {}) {
  return createServerGenerator({
    baseUrl,
    model: "policy",
    retries: 2,
    firstWait: 1,
    timeout: 5000,
    ...options,
  });
}

describe("a request", () => {
  it("goes out as ids and comes back as the sampled ids", async () => {
    const server = await fakeServer((response) => sendJson(response, answerOf(tokens)));
    const generator = connect(server.baseUrl, { apiKey: "secret" });
    generator.weightsVersion = 7;
    expect(await generator.generate(request)).toEqual({
      ids: tokens.ids,
      logprobs: tokens.logprobs,
      sampledLogprobs: tokens.logprobs,
      finish: "stop",
      stop: 2,
      cachedTokens: 2,
      weightsVersion: 7,
      retokenized: false,
    });
    const [{ path, headers, body }] = server.received as [(typeof server.received)[0]];
    expect(path).toBe("/v1/completions");
    expect(headers.authorization).toBe("Bearer secret");
    expect(body).toEqual({
      model: "policy",
      prompt: [5, 6, 7],
      max_tokens: 4,
      temperature: 1,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
      seed: 11,
      logprobs: 1,
      return_token_ids: true,
      return_tokens_as_token_ids: true,
    });
  });

  it("carries every sampling option", async () => {
    const server = await fakeServer((response) => sendJson(response, answerOf(tokens)));
    await connect(server.baseUrl, { extraBody: { priority: 3 } }).generate({
      ...request,
      seed: 2n ** 64n + 3n,
      sampling: {
        maximumTokens: 9,
        minimumTokens: 2,
        temperature: 0.5,
        topK: 10,
        topP: 0.9,
        minP: 0.1,
        repetitionPenalty: 1.1,
        bias: new Map([[5, -3]]),
        stopTokens: [2],
        stopStrings: ["\n"],
      },
    });
    expect(server.received[0]!.body).toMatchObject({
      max_tokens: 9,
      min_tokens: 2,
      temperature: 0.5,
      top_k: 10,
      top_p: 0.9,
      min_p: 0.1,
      repetition_penalty: 1.1,
      logit_bias: { 5: -3 },
      stop_token_ids: [2],
      ignore_eos: true,
      stop: ["\n"],
      seed: 3,
      priority: 3,
    });
  });

  it("does not ask to go past the model's end where that is among its stop tokens", async () => {
    const server = await fakeServer((response) => sendJson(response, answerOf(tokens)));
    const tokenizer = testTokenizer();
    const stopTokens = [tokenizer.eosTokenId!];
    const sampling = { maximumTokens: 4, temperature: 0, stopTokens };
    await connect(server.baseUrl, { tokenizer })
      .generate({ ...request, sampling })
      .catch(() => {});
    expect(server.received[0]!.body).toMatchObject({ stop_token_ids: stopTokens });
    expect(server.received[0]!.body).not.toHaveProperty("ignore_eos");
  });

  it("that takes the most likely token draws it with certainty", async () => {
    const server = await fakeServer((response) => sendJson(response, answerOf(tokens)));
    const greedy = { ...request, sampling: { maximumTokens: 4, temperature: 0 } };
    expect((await connect(server.baseUrl).generate(greedy)).sampledLogprobs).toEqual([0, 0, 0]);
  });

  it("tells the ways to end apart", async () => {
    const endings = [
      { ...tokens, finish: "stop", stop: "\n" },
      { ids: [1, 2, 3, 4], logprobs: [-1, -1, -1, -1], finish: "length" },
      { ids: [1, 2], logprobs: [-1, -1], finish: "length" },
    ];
    const server = await fakeServer((response, _, n) => sendJson(response, answerOf(endings[n]!)));
    const generator = connect(server.baseUrl);
    const finishes = [];
    for (const _ of endings) finishes.push(await generator.generate(request));
    expect(finishes.map(({ finish, stop }) => [finish, stop])).toEqual([
      ["stop", "\n"],
      ["length", null],
      ["context", null],
    ]);
  });

  it.each<[LogprobKind, Partial<SamplingOptions>, boolean, boolean]>([
    ["model", {}, true, true],
    ["model", { temperature: 0.5 }, true, false],
    ["model", { topP: 0.5 }, true, false],
    ["tempered", {}, true, true],
    ["tempered", { temperature: 0.5 }, false, true],
    ["tempered", { topK: 5 }, true, false],
    ["tempered", { topK: 5, temperature: 0.5 }, false, false],
    ["sampled", {}, true, true],
    ["sampled", { repetitionPenalty: 1.1 }, false, true],
    ["sampled", { minP: 0.1 }, false, true],
  ])(
    "knows from %s log-probabilities with %o: the model's %s, the sampled %s",
    async (kind, options, model, sampled) => {
      const server = await fakeServer((response) => sendJson(response, answerOf(tokens)));
      const generator = connect(server.baseUrl, { logprobs: kind });
      const sampling = { maximumTokens: 4, ...options };
      const completion = await generator.generate({ ...request, sampling });
      const unknown = tokens.ids.map(() => Number.NaN);
      expect(completion.logprobs).toEqual(model ? tokens.logprobs : unknown);
      expect(completion.sampledLogprobs).toEqual(sampled ? tokens.logprobs : unknown);
    },
  );

  it("understands llama.cpp, which has ids beside the log-probabilities", async () => {
    const server = await fakeServer((response) => {
      const content = tokens.ids.map((id, i) => ({
        ...{ id, token: "?", bytes: [63], logprob: tokens.logprobs[i], top_logprobs: [] },
      }));
      const usage = { completion_tokens: 3 };
      sendJson(response, {
        choices: [{ text: "???", index: 0, logprobs: { content }, finish_reason: "stop" }],
        usage,
      });
    });
    expect(await connect(server.baseUrl).generate(request)).toMatchObject(tokens);
  });

  it("understands servers that spell ids only among the logprobs", async () => {
    const server = await fakeServer((response) => {
      const answer = answerOf(tokens);
      sendJson(response, { ...answer, choices: [{ ...answer.choices[0], token_ids: undefined }] });
    });
    expect((await connect(server.baseUrl).generate(request)).ids).toEqual(tokens.ids);
  });

  it("checks that a choice was constrained", async () => {
    const tokenizer = testTokenizer();
    const says = (text: string) => {
      const ids = tokenizer.encode(text);
      return answerOf({ ids, logprobs: ids.map(() => -1) });
    };
    const server = await fakeServer((response, _, n) =>
      sendJson(response, says(n === 0 ? "go north" : "sing")),
    );
    const generator = connect(server.baseUrl, { tokenizer });
    const choosing = { maximumTokens: 20, choices: ["go", "go north"] };
    const completion = await generator.generate({ ...request, sampling: choosing });
    expect(completion.stop).toBe("go north");
    expect(server.received[0]!.body.structured_outputs).toEqual({ choice: choosing.choices });
    await expect(generator.generate({ ...request, sampling: choosing })).rejects.toThrow(
      /answered "sing", which is not one of the 2 choices/,
    );
    await expect(
      connect(server.baseUrl).generate({ ...request, sampling: choosing }),
    ).rejects.toThrow(/choices need the generator's tokenizer/);
  });

  it("is tokenised again only when told, and says so", async () => {
    const tokenizer = testTokenizer();
    const server = await fakeServer((response) =>
      sendJson(response, { choices: [{ text: "go north", finish_reason: "stop" }] }),
    );
    await expect(connect(server.baseUrl).generate(request)).rejects.toThrow(/no logprobs/);
    const prompt = tokenizer.encode("look around");
    const seen: number[] = [];
    const completion = await connect(server.baseUrl, { tokenizer, viaText: true }).generate({
      ...request,
      prompt,
      onToken: ({ id }) => seen.push(id),
    });
    expect(completion).toMatchObject({ ids: tokenizer.encode("go north"), retokenized: true });
    expect(completion.logprobs.every(Number.isNaN)).toBe(true);
    expect(seen).toEqual(completion.ids);
    expect(server.received[1]!.body).toMatchObject({ prompt: "look around" });
    expect(server.received[1]!.body).not.toHaveProperty("logprobs");
    expect(() => connect(server.baseUrl, { viaText: true })).toThrow(/needs a tokenizer/);
  });

  it("waits for a place", async () => {
    let [now, most] = [0, 0];
    const server = await fakeServer(async (response) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now--;
      sendJson(response, answerOf(tokens));
    });
    const generator = connect(server.baseUrl, { concurrency: 3 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, seed) => generator.generate({ ...request, seed })),
    );
    expect(answers).toHaveLength(20);
    expect(most).toBe(3);
  });

  it.each<[string, Partial<GenerationRequest>, RegExp]>([
    ["an empty prompt", { prompt: [] }, /the prompt is empty/],
    ["an id that is none", { prompt: [1, -2] }, /the prompt has id -2/],
    ["a bad option", { sampling: { maximumTokens: 0 } }, /maximumTokens must be/],
    [
      "a bias too large",
      { sampling: { maximumTokens: 1, bias: new Map([[1, -500]]) } },
      /servers take -100 to 100/,
    ],
  ])("with %s is refused before it is sent", async (_, change, problem) => {
    const server = await fakeServer(() => {});
    await expect(connect(server.baseUrl).generate({ ...request, ...change })).rejects.toThrow(
      problem,
    );
    expect(server.received).toHaveLength(0);
  });
});

describe("a stream", () => {
  it("hands tokens out as they come, wherever the pieces of the body end", async () => {
    const server = await fakeServer(async (response) => {
      const event = (json: unknown) => `data: ${JSON.stringify(json)}\r\n\r\n`;
      const text = Buffer.from(
        `: hello\r\n\r\n${event({ choices: [{ ...choice({ ids: [40], logprobs: [-0.5] }), text: "é€😀" }] })}` +
          event({ choices: [choice({ ids: [41, 2], logprobs: [-1.25, -2] })] }) +
          event({ choices: [choice({ ids: [], logprobs: [], finish: "stop" })] }) +
          event({ choices: [], usage: { completion_tokens: 3 } }) +
          "data: [DONE]\r\n\r\n",
      );
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let at = 0; at < text.length; at += 3) {
        response.write(text.subarray(at, at + 3));
        if (at % 30 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const seen: number[] = [];
    const completion = await connect(server.baseUrl).generate({
      ...request,
      onToken: ({ id }) => seen.push(id),
    });
    expect(server.received[0]!.body.stream).toBe(true);
    expect(seen).toEqual(tokens.ids);
    expect(completion).toMatchObject({ ...tokens, finish: "stop", stop: 2 });
  });

  it("is an iterable that ends with the completion", async () => {
    const server = await fakeServer((response) => {
      const send = beginStream(response);
      for (const id of tokens.ids) send({ choices: [choice({ ids: [id], logprobs: [-1] })] });
      send({ choices: [choice({ ids: [], logprobs: [], finish: "stop" })] });
      response.end("data: [DONE]\n\n");
    });
    const answer = stream(connect(server.baseUrl), request);
    const seen: number[] = [];
    for await (const { id } of answer) seen.push(id);
    expect(seen).toEqual(tokens.ids);
    expect((await answer.completion).finish).toBe("stop");
  });

  it("ends at the server when the consumer breaks off", async () => {
    const server = await fakeServer(async (response, { closed }) => {
      const send = beginStream(response);
      send({ choices: [choice({ ids: [40], logprobs: [-1] })] });
      await closed;
    });
    const answer = stream(connect(server.baseUrl), request);
    for await (const { id } of answer) {
      expect(id).toBe(40);
      break;
    }
    expect(await answer.completion).toMatchObject({ ids: [40], finish: "abort" });
    await server.received[0]!.closed;
  });

  it("that breaks after tokens were handed out is not asked again", async () => {
    let breakOff = () => {};
    const server = await fakeServer((response) => {
      breakOff = () => response.destroy();
      beginStream(response)({ choices: [choice({ ids: [40], logprobs: [-1] })] });
    });
    const onToken = () => breakOff();
    await expect(connect(server.baseUrl).generate({ ...request, onToken })).rejects.toThrow(
      /connection failed while reading the answer.*after 1 tokens were handed/,
    );
    expect(server.received).toHaveLength(1);
  });

  it("that breaks before is asked again", async () => {
    const server = await fakeServer((response, _, n) => {
      const send = beginStream(response);
      if (n === 0) return setTimeout(() => response.destroy(), 5);
      send({ choices: [choice({ ...tokens, finish: "stop" })] });
      return response.end();
    });
    const generator = connect(server.baseUrl, { streaming: "always" });
    expect((await generator.generate(request)).ids).toEqual(tokens.ids);
    expect(server.received).toHaveLength(2);
  });

  it("without an end was cut off", async () => {
    const server = await fakeServer((response) => {
      beginStream(response)({ choices: [choice(tokens)] });
      response.end();
    });
    const generator = connect(server.baseUrl, { streaming: "always", retries: 0 });
    await expect(generator.generate(request)).rejects.toThrow(/broke off after 3 tokens/);
  });

  it("may report an error", async () => {
    const server = await fakeServer((response) => {
      beginStream(response)({ error: { message: "out of memory", code: 500 } });
      response.end();
    });
    await expect(
      connect(server.baseUrl, { streaming: "always" }).generate(request),
    ).rejects.toThrow(/the server reports: out of memory/);
  });

  it("whose onToken throws fails with that error, and ends at the server", async () => {
    const server = await fakeServer(async (response, { closed }) => {
      beginStream(response)({ choices: [choice({ ids: [40], logprobs: [-1] })] });
      await closed;
    });
    const onToken = () => {
      throw new Error("from the caller");
    };
    await expect(connect(server.baseUrl).generate({ ...request, onToken })).rejects.toThrow(
      "from the caller",
    );
    await server.received[0]!.closed;
    expect(server.received).toHaveLength(1);
  });
});

describe("an end before the end", () => {
  it("by the signal is an answer: what was drawn until then", async () => {
    const abort = new AbortController();
    const server = await fakeServer(() => abort.abort());
    const generator = connect(server.baseUrl, { concurrency: 1 });
    const first = generator.generate({ ...request, signal: abort.signal });
    const waiting = generator.generate({ ...request, signal: abort.signal });
    expect(await first).toMatchObject({ ids: [], finish: "abort" });
    expect(await waiting).toMatchObject({ ids: [], finish: "abort" });
    await server.received[0]!.closed;
    const late = await generator.generate({ ...request, signal: abort.signal });
    expect(late.finish).toBe("abort");
    expect(server.received).toHaveLength(1);
  });

  it("by the signal while waiting for a retry comes at once", async () => {
    const server = await fakeServer((response) => sendJson(response, {}, 503));
    const signal = AbortSignal.timeout(30);
    const generator = connect(server.baseUrl, { firstWait: 50_000 });
    expect(await generator.generate({ ...request, signal })).toMatchObject({ finish: "abort" });
  });

  it("by close is an error, and nothing is answered afterwards", async () => {
    let arrived = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const server = await fakeServer(() => arrived());
    const generator = connect(server.baseUrl, { concurrency: 1 });
    const results = Promise.allSettled([generator.generate(request), generator.generate(request)]);
    await arrival;
    await generator.close();
    for (const result of await results)
      expect(String((result as PromiseRejectedResult).reason)).toMatch(/was closed/);
    await expect(generator.generate(request)).rejects.toThrow(/was closed/);
    await generator.close();
  });

  it("two requests for one conversation at once are refused", async () => {
    const server = await fakeServer((response) => sendJson(response, answerOf(tokens)));
    const generator = connect(server.baseUrl);
    const named = { ...request, conversation: "a" };
    const first = generator.generate(named);
    await expect(generator.generate(named)).rejects.toThrow(/conversation a has a request/);
    await first;
    await generator.generate(named);
  });
});
