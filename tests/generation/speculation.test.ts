/**
 * @file Guessed tokens change when an answer comes, and nothing else: speculating engines against plain
 * ones, bit for bit.
 */
import { afterAll, describe, expect, it } from "vitest";
import {
  type Completion,
  createEngine,
  type Engine,
  type EngineOptions,
  type GenerationRequest,
  type SampledToken,
  type SamplingOptions,
  stream,
} from "../../src/generation/index.ts";
import type { Model } from "../../src/models/index.ts";
import { memory, noGrad, tidy } from "../../src/torch/index.ts";
import { GEMMA_PARTS, type Random, random, testModel, testTokenizer } from "./support.ts";

const BEFORE = memory().tensors;
const tokenizer = testTokenizer();
const vocabularySize = tokenizer.vocabularySize;
const end = tokenizer.eosTokenId!;
const model = testModel({ vocabularySize, eosTokenIds: [end], maximumPositions: 256 });
afterAll(() => {
  model.dispose();
  expect(memory().tensors).toBe(BEFORE);
});

const PAGE = 8192;
const CHOICES = ["go north", "go south and look around", "go", "take the lamp", "take lamp"];

/** What a test compares: `cachedTokens` depends on who lost a place, not on what was drawn. */
const drawnOf = ({ cachedTokens: _, ...rest }: Completion) => rest;

function randomSampling(from: Random): SamplingOptions {
  const one = <Value>(values: readonly Value[]) => values[from.below(values.length)]!;
  const sampling: SamplingOptions = {
    maximumTokens: 1 + from.below(24),
    temperature: one([0, 0.2, 0.5, 1]),
    topK: one([0, 0, 3]),
    topP: one([1, 1, 0.8]),
    minP: one([0, 0, 0.1]),
    repetitionPenalty: one([1, 1, 1.3]),
    minimumTokens: one([0, 0, 5]),
    bias: new Map([[end, one([0, 4])]]),
  };
  const kind = from.below(6);
  if (kind === 0) sampling.stopStrings = ["o", " n"];
  if (kind === 1) {
    sampling.choices = CHOICES;
    sampling.maximumTokens = 24;
    sampling.minimumTokens = 0;
  }
  if (kind === 2) sampling.stopTokens = [20, 40, 60];
  return sampling;
}

/** Few prompts, tasks and seeds: some requests come again, some alike, some only once. */
function randomRequests(seed: number, count: number): GenerationRequest[] {
  const from = random(seed);
  const prompts = Array.from({ length: 6 }, () => from.ids(1 + from.below(60), vocabularySize));
  const samplings = Array.from({ length: 8 }, () => randomSampling(from));
  return Array.from({ length: count }, () => {
    const which = from.below(prompts.length);
    return {
      prompt: prompts[which]!,
      sampling: samplings[from.below(samplings.length)]!,
      seed: from.below(3),
      ...(from.below(4) > 0 && { task: `task ${which}` }),
    };
  });
}

/** Answers in the order of the requests, so many at once. */
async function answersOf(
  engine: Engine,
  requests: readonly GenerationRequest[],
  atOnce: number,
): Promise<Completion[]> {
  const answers: Completion[] = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < requests.length; i = next++)
      answers[i] = await engine.generate(requests[i]!);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return answers;
}

async function withEngine<Value>(
  options: EngineOptions,
  body: (engine: Engine) => Promise<Value>,
  of = model,
): Promise<Value> {
  const engine = createEngine(of, { cacheBytes: 1000 * PAGE, tokenizer, ...options });
  try {
    return await body(engine);
  } finally {
    await engine.close();
  }
}

/** The model's weights for another's of the same shape. */
function swapWeights(theirs: Model): void {
  noGrad(() =>
    tidy(() => {
      for (const [name, parameter] of model.parameters) {
        const other = theirs.parameters.get(name)!;
        const ours = parameter.clone();
        parameter.copy_(other);
        other.copy_(ours);
      }
    }),
  );
}

describe("guesses change no bit of an answer", () => {
  it.each([
    [1, {}],
    [3, {}],
    [8, {}],
    [64, {}],
    [8, { tokensPerStep: 20 }],
    [16, { cacheBytes: 14 * PAGE }],
  ] as [number, EngineOptions][])("%d at once, %o", async (atOnce, options) => {
    const requests = randomRequests(atOnce, 150);
    const expected = await withEngine({ speculation: false }, (plain) =>
      answersOf(plain, requests, 8),
    );
    await withEngine({ speculation: "always", ...options }, async (engine) => {
      const answers = await answersOf(engine, requests, atOnce);
      expect(answers.map(drawnOf)).toEqual(expected.map(drawnOf));
      const { guessedTokens, acceptedTokens, preemptions } = engine.statistics;
      expect(acceptedTokens).toBeGreaterThan(100);
      expect(guessedTokens).toBeGreaterThan(acceptedTokens + 30);
      if (options.cacheBytes) expect(preemptions).toBeGreaterThan(5);
    });
  });

  it("with other architectures, and by what it costs", async () => {
    const gemma = testModel({ ...GEMMA_PARTS, vocabularySize, eosTokenIds: [end] });
    const requests = randomRequests(5, 100);
    const [expected, always, measured] = await Promise.all(
      ([false, "always", true] as const).map((speculation) =>
        withEngine({ speculation }, (engine) => answersOf(engine, requests, 6), gemma),
      ),
    );
    gemma.dispose();
    expect(always!.map(drawnOf)).toEqual(expected!.map(drawnOf));
    expect(measured!.map(drawnOf)).toEqual(expected!.map(drawnOf));
  });

  it("in conversations, whose next turn finds the right cache", async () => {
    const play = async (speculation: false | "always") =>
      withEngine({ speculation, cacheBytes: 60 * PAGE }, async (engine) => {
        const episodes = Array.from({ length: 12 }, async (_, episode) => {
          const from = random(100 + (episode % 3));
          const ids = from.ids(20, vocabularySize);
          const answers: Completion[] = [];
          for (let turn = 0; turn < 5; turn++) {
            const answer = await engine.generate({
              prompt: ids,
              sampling: { ...randomSampling(from), maximumTokens: 20 },
              seed: turn,
              conversation: `episode ${episode}`,
              task: `task ${episode % 3}`,
            });
            answers.push(answer);
            ids.push(...answer.ids, ...from.ids(from.below(9), vocabularySize));
          }
          engine.release(`episode ${episode}`);
          return answers.map(drawnOf);
        });
        return { answers: await Promise.all(episodes), accepted: engine.statistics.acceptedTokens };
      });
    const [plain, speculating] = [await play(false), await play("always")];
    expect(speculating.answers).toEqual(plain.answers);
    expect(plain.accepted).toBe(0);
    expect(speculating.accepted).toBeGreaterThan(50);
  });

  it("a token at a time to whoever listens", async () => {
    const request = { prompt: [9, 8, 7], seed: 3, sampling: { maximumTokens: 20, stopTokens: [] } };
    const heard = (speculation: false | "always") =>
      withEngine({ speculation }, async (engine) => {
        const tokens: SampledToken[] = [];
        await engine.generate(request);
        const answer = await engine.generate({
          ...request,
          onToken: (token) => tokens.push(token),
        });
        expect(answer.ids).toEqual(tokens.map(({ id }) => id));
        // A break within what was checked in one pass.
        const broken = stream(engine, request);
        for (let i = 0; i < 7; i++) await broken.next();
        await broken.return?.();
        const stopped = await broken.completion;
        expect(stopped).toMatchObject({ finish: "abort", ids: answer.ids.slice(0, 7) });
        return { tokens, steps: engine.statistics.steps };
      });
    const [plain, speculating] = [await heard(false), await heard("always")];
    expect(speculating.tokens).toEqual(plain.tokens);
    // The first time nothing is known; then all is.
    expect(speculating.steps).toBeLessThan(30);
    expect(plain.steps).toBeGreaterThanOrEqual(47);
  });

  it("when weights change, a request is aborted, or a listener throws in between", async () => {
    const request = { prompt: [9, 8, 7], seed: 3, sampling: { maximumTokens: 20, stopTokens: [] } };
    for (const at of [0, 1, 5, 10, 18]) {
      const run = (speculation: false | "always") =>
        withEngine({ speculation }, async (engine) => {
          const other = testModel({ vocabularySize, eosTokenIds: [end], seed: 2 });
          await engine.generate(request);
          await engine.generate(request);
          let heard = 0;
          const changing = await engine.generate({
            ...request,
            // Half of the answer is of other weights: these are exchanged, and back again.
            onToken: () => {
              if (heard++ === at) exchange(other);
              if (heard === at + 6) exchange(other);
            },
          });
          if (heard < at + 6) exchange(other);
          other.dispose();
          const leaving = new AbortController();
          let told = 0;
          const aborted = await engine.generate({
            ...request,
            signal: leaving.signal,
            onToken: () => {
              if (told++ === at) leaving.abort();
            },
          });
          expect(aborted.ids.length).toBe(Math.min(at + 1, 20));
          let last = 0;
          const failing = engine.generate({
            ...request,
            onToken: () => {
              if (last++ === at) throw new Error("enough");
            },
          });
          await expect(failing).rejects.toThrow("enough");
          expect(last).toBe(at + 1);
          return [changing, aborted, await engine.generate(request)].map(drawnOf);

          function exchange(theirs: Model): void {
            swapWeights(theirs);
            engine.weightsChanged();
          }
        });
      expect(await run("always")).toEqual(await run(false));
    }
  });
});
