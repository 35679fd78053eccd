/**
 * @file Requests that are wrong, end early or fail, and that nobody else notices; what is left after
 * an engine is closed.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createEngine,
  type Engine,
  type GenerationRequest,
  stream,
} from "../../src/generation/index.ts";
import type { Model } from "../../src/models/index.ts";
import { memory, noGrad, tidy } from "../../src/torch/index.ts";
import { random, testModel } from "./support.ts";

let before: number;
let model: Model;
let engine: Engine;

beforeEach(() => {
  before = memory().tensors;
  model = testModel({ eosTokenIds: [] });
  engine = createEngine(model, { cacheBytes: 2 ** 20 });
});
afterEach(async () => {
  await engine.close();
  model.dispose();
  expect(memory().tensors).toBe(before);
});

const prompt = random(1).ids(20);
const request: GenerationRequest = { prompt, sampling: { maximumTokens: 8 }, seed: 1 };

describe("a request that is wrong", () => {
  it.each<[string, Partial<GenerationRequest>, RegExp]>([
    ["an empty prompt", { prompt: [] }, /the prompt is empty/],
    [
      "a prompt that is too long",
      { prompt: random(1).ids(2048) },
      /has 2048 tokens; .* allow 2047/,
    ],
    ["an id outside the vocabulary", { prompt: [1, 512] }, /has id 512; the vocabulary has 512/],
    ["a negative id", { prompt: [-1] }, /has id -1/],
    ["half an id", { prompt: [1.5] }, /has id 1.5/],
    ["a bad option", { sampling: { maximumTokens: 4, topP: 7 } }, /topP must be/],
    ["half a seed", { seed: 0.5 }, /0.5/],
  ])("by %s is refused, and nobody else", async (_, change, message) => {
    const other = engine.generate(request);
    await expect(engine.generate({ ...request, ...change })).rejects.toThrow(message);
    expect((await other).ids).toHaveLength(8);
  });

  it("does not harm the conversation that it names", async () => {
    const named = { ...request, conversation: "one" };
    await engine.generate(named);
    await expect(engine.generate({ ...named, prompt: [] })).rejects.toThrow(/empty/);
    expect((await engine.generate(named)).cachedTokens).toBe(19);
  });

  it("by a second request for a conversation is refused", async () => {
    const named = { ...request, conversation: "one" };
    const first = engine.generate(named);
    await expect(engine.generate(named)).rejects.toThrow(/one has a request that is not answered/);
    await first;
    await engine.generate(named);
  });

  it("whose onToken throws fails alone", async () => {
    const other = engine.generate(request);
    const failing = engine.generate({
      ...request,
      seed: 2,
      onToken: () => {
        throw new Error("from the caller");
      },
    });
    await expect(failing).rejects.toThrow("from the caller");
    expect((await other).ids).toHaveLength(8);
  });
});

describe("an abort", () => {
  it("in the middle ends the answer with what was drawn", async () => {
    const abort = new AbortController();
    const whole = await engine.generate(request);
    let drawn = 0;
    const [cut, other] = await Promise.all([
      engine.generate({
        ...request,
        signal: abort.signal,
        conversation: "one",
        onToken: () => {
          if (++drawn === 3) abort.abort();
        },
      }),
      engine.generate(request),
    ]);
    expect(cut).toMatchObject({ ids: whole.ids.slice(0, 3), finish: "abort", stop: null });
    expect(other.ids).toEqual(whole.ids);
    // The conversation goes on from there.
    const next = await engine.generate({
      ...request,
      prompt: [...prompt, ...cut.ids],
      conversation: "one",
    });
    expect(next.cachedTokens).toBe(prompt.length + 2);
  });

  it("before anything gives nothing", async () => {
    const signal = AbortSignal.abort();
    expect(await engine.generate({ ...request, signal })).toMatchObject({
      ids: [],
      finish: "abort",
    });
  });
});

describe("a stream", () => {
  it("gives each token, then the completion", async () => {
    const tokens = stream(engine, request);
    const seen = [];
    for await (const token of tokens) seen.push(token);
    const { ids, logprobs, finish } = await tokens.completion;
    expect(seen.map(({ id }) => id)).toEqual(ids);
    expect(seen.map(({ logprob }) => logprob)).toEqual(logprobs);
    expect(finish).toBe("length");
    expect((await engine.generate(request)).ids).toEqual(ids);
  });

  it("stops the generation when the consumer breaks off", async () => {
    const long = { ...request, sampling: { maximumTokens: 1000 } };
    const tokens = stream(engine, long);
    let seen = 0;
    for await (const _ of tokens) if (++seen === 3) break;
    const { ids, finish } = await tokens.completion;
    expect(finish).toBe("abort");
    expect(ids.length).toBeGreaterThanOrEqual(3);
    expect(ids.length).toBeLessThan(10);
    const unread = stream(engine, long);
    await unread.return!();
    expect((await unread.completion).finish).toBe("abort");
  });

  it("follows the request's own signal and onToken", async () => {
    const abort = new AbortController();
    const heard: number[] = [];
    const tokens = stream(engine, {
      ...request,
      signal: abort.signal,
      onToken: ({ id }) => heard.push(id),
    });
    const seen: number[] = [];
    for await (const { id } of tokens) {
      seen.push(id);
      abort.abort();
    }
    expect(seen).toEqual(heard);
    expect((await tokens.completion).finish).toBe("abort");
  });

  it("throws what went wrong", async () => {
    const tokens = stream(engine, { ...request, prompt: [] });
    await expect(tokens.next()).rejects.toThrow(/empty/);
    await expect(tokens.completion).rejects.toThrow(/empty/);
  });
});

describe("weights that are NaN", () => {
  it("are a clear error, and the engine goes on when they are mended", async () => {
    const expected = await engine.generate(request);
    const norm = model.parameters.get("model.norm.weight")!;
    const kept = noGrad(() => norm.clone());
    noGrad(() => tidy(() => norm.fill_(Number.NaN)));
    engine.weightsChanged();
    const failed = await Promise.allSettled([
      engine.generate(request),
      engine.generate({ ...request, sampling: { maximumTokens: 2, temperature: 0 } }),
    ]);
    for (const result of failed)
      expect(String((result as PromiseRejectedResult).reason)).toMatch(/NaN or infinite weights/);
    noGrad(() => tidy(() => norm.copy_(kept)));
    kept.dispose();
    engine.weightsChanged();
    expect((await engine.generate(request)).ids).toEqual(expected.ids);
  });

  it("in every layer leave no NaN in the cache", async () => {
    const expected = await engine.generate(request);
    const kept = [...model.parameters].map(
      ([name, value]) => [name, noGrad(() => value.clone())] as const,
    );
    noGrad(() => {
      for (const value of model.parameters.values()) tidy(() => value.fill_(Number.NaN));
    });
    engine.weightsChanged();
    await expect(engine.generate(request)).rejects.toThrow(/NaN or infinite weights/);
    noGrad(() => {
      for (const [name, value] of kept) tidy(() => model.parameters.get(name)!.copy_(value));
    });
    for (const [, value] of kept) value.dispose();
    engine.weightsChanged();
    expect((await engine.generate(request)).ids).toEqual(expected.ids);
  });
});

describe("an engine that is closed", () => {
  it("fails what still runs, and what comes", async () => {
    const long = { ...request, sampling: { maximumTokens: 1000 } };
    const running = Promise.allSettled([engine.generate(long), engine.generate(long)]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await engine.close();
    for (const result of await running)
      expect(String((result as PromiseRejectedResult).reason)).toMatch(/the engine was closed/);
    await expect(engine.generate(request)).rejects.toThrow(/the engine is closed/);
    await engine.close();
  });

  it("by a caller's onToken ends without harm", async () => {
    const onToken = () => void engine.close();
    const results = await Promise.allSettled([
      engine.generate({ ...request, onToken }),
      engine.generate({ ...request, conversation: "one" }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  it("and was never used leaves nothing", async () => {
    await createEngine(model).close();
  });
});

describe("options of an engine", () => {
  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    "cacheBytes %d is refused",
    (cacheBytes) => {
      expect(() => createEngine(model, { cacheBytes })).toThrow(/cacheBytes must be above 0/);
    },
  );
  it.each([0, 1.5, Number.NaN])("tokensPerStep %d is refused", (tokensPerStep) => {
    expect(() => createEngine(model, { tokensPerStep })).toThrow(/tokensPerStep must be a whole/);
  });

  it("may be as small as can be", async () => {
    const smallest = createEngine(model, { cacheBytes: 1, tokensPerStep: 1 });
    const short = { ...request, prompt: prompt.slice(0, 10), sampling: { maximumTokens: 20 } };
    const answers = await Promise.all(
      [1, 2, 3].map((seed) => smallest.generate({ ...short, seed })),
    );
    await smallest.close();
    for (const { ids, finish } of answers) {
      expect(finish).toBe("context");
      expect(ids).toHaveLength(6);
    }
  });
});
