/**
 * @file A request's tokens do not depend on what else runs.
 *
 * The draws do not; the logits do in their last bits, because BLAS adds in another order when a batch
 * has another size. A draw changes with that only if two candidates of its race arrive within some 1e-6
 * of each other (docs/generation.md has the measured rate), which does not happen in these cases.
 */
import { afterAll, describe, expect, it } from "vitest";
import {
  type Completion,
  createEngine,
  type EngineOptions,
  type GenerationRequest,
} from "../../src/generation/index.ts";
import { random, testModel } from "./support.ts";

const model = testModel();
afterAll(() => model.dispose());

const PAGE = 8192;
const group = random(77).ids(50);

const requests: GenerationRequest[] = Array.from({ length: 64 }, (_, seed) => {
  const own = random(seed + 500);
  return {
    prompt: [...(seed % 2 ? group : []), ...own.ids(1 + own.below(40))],
    seed,
    sampling: {
      maximumTokens: 4 + own.below(20),
      temperature: [1, 0.7, 0][seed % 3]!,
      topP: seed % 4 === 0 ? 0.9 : 1,
      topK: seed % 5 === 0 ? 50 : 0,
    },
  };
});

/** All requests at once, in the given order; answers in the order of `requests`. */
async function answersOf(
  options: EngineOptions,
  order = requests.map((_, i) => i),
): Promise<{ answers: Completion[]; preemptions: number }> {
  const engine = createEngine(model, options);
  const answers: Completion[] = [];
  await Promise.all(
    order.map(async (i) => {
      answers[i] = await engine.generate(requests[i]!);
    }),
  );
  await engine.close();
  return { answers, preemptions: engine.statistics.preemptions };
}

const reference = answersOf({ cacheBytes: 1000 * PAGE });

async function expectSame(answers: Completion[]): Promise<void> {
  const expected = (await reference).answers;
  expect(answers.map(({ ids }) => ids)).toEqual(expected.map(({ ids }) => ids));
  // Bit for bit: see native/generation/token_strips.h.
  expect(answers.map(({ logprobs }) => logprobs)).toEqual(expected.map(({ logprobs }) => logprobs));
}

describe("the same request gets the same tokens", () => {
  it("alone as in a batch of 64", async () => {
    const engine = createEngine(model, { cacheBytes: 1000 * PAGE });
    const answers: Completion[] = [];
    for (const request of requests) answers.push(await engine.generate(request));
    await engine.close();
    await expectSame(answers);
  });

  it("with preemptions", async () => {
    // When it pays to guess is a matter of time, and guesses finish answers sooner: of those see speculation.test.ts.
    const options = { cacheBytes: 60 * PAGE, speculation: false };
    const { answers, preemptions } = await answersOf(options);
    expect(preemptions).toBeGreaterThan(20);
    await expectSame(answers);
  });

  it("in another order of arrival, in smaller steps", async () => {
    const from = random(3);
    const order = requests.map((_, i) => [from.uniform(), i] as const).sort(([a], [b]) => a - b);
    const { answers } = await answersOf(
      { cacheBytes: 1000 * PAGE, tokensPerStep: 70 },
      order.map(([, i]) => i),
    );
    await expectSame(answers);
  });

  it("bit for bit when everything is the same", async () => {
    const { answers } = await answersOf({ cacheBytes: 1000 * PAGE });
    expect(answers).toEqual((await reference).answers);
  });

  it("and another seed gets others", async () => {
    const engine = createEngine(model, { cacheBytes: 1000 * PAGE });
    const sampling = { maximumTokens: 10 };
    const ask = (seed: number | bigint) => engine.generate({ prompt: group, sampling, seed });
    const answers = await Promise.all([ask(1), ask(1n), ask(2), ask(2n ** 64n + 1n)]);
    await engine.close();
    const [one, same, two, wrapped] = answers.map(({ ids }) => String(ids));
    expect(same).toBe(one);
    expect(wrapped).toBe(one);
    expect(two).not.toBe(one);
  });
});
