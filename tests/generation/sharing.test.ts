/**
 * @file Nothing is computed twice, and nothing that is out of date is used.
 */
import { afterAll, describe, expect, it } from "vitest";
import { bytesPerPage } from "../../src/generation/cache/store.ts";
import { createEngine, type EngineOptions } from "../../src/generation/index.ts";
import { noGrad, tidy } from "../../src/torch/index.ts";
import { largestDifference, packedLogprobs, random, testModel } from "./support.ts";

const model = testModel({ eosTokenIds: [] });
afterAll(() => model.dispose());
const engineOf = (options: EngineOptions = {}) =>
  createEngine(model, { cacheBytes: 2 ** 23, ...options });
const sampling = { maximumTokens: 6 };

describe("a cache for a few pages", () => {
  it.each([4, 6, 9])("of %i: a preemption is something computed again", async (pages) => {
    const ask = async (cacheBytes: number) => {
      const engine = engineOf({ cacheBytes });
      const prompt = random(5).ids(40);
      const answers = Array.from({ length: 12 }, (_, i) =>
        engine.generate({ prompt: i % 3 === 0 ? random(i).ids(30) : prompt, sampling, seed: i }),
      );
      await Promise.all(answers);
      await engine.close();
      return engine.statistics;
    };
    const ample = await ask(2 ** 23);
    expect(ample.preemptions).toBe(0);
    const page = bytesPerPage(model.config);
    const tight = await ask(pages * page);
    expect(tight.preemptions).toBeGreaterThan(0);
    expect(tight.preemptions).toBeLessThanOrEqual(tight.computedTokens - ample.computedTokens);
  });
});

describe("a prompt of a group", () => {
  it.each([100, 96, 97, 15, 1])("of %i tokens is computed once", async (length) => {
    const engine = engineOf();
    const prompt = random(length).ids(length);
    const group = Array.from({ length: 8 }, (_, seed) =>
      engine.generate({ prompt, sampling, seed, conversation: `member ${seed}` }),
    );
    const answers = await Promise.all(group);
    await engine.close();
    // Whole pages are shared, the rest (at least the last token, at most a page) is each one's own.
    const shared = Math.floor((length - 1) / 16) * 16;
    const drawn = 8 * (sampling.maximumTokens - 1);
    expect(engine.statistics.computedTokens).toBe(shared + 8 * (length - shared) + drawn);
    expect(answers.map(({ cachedTokens }) => cachedTokens)).toEqual([
      0,
      ...new Array<number>(7).fill(shared),
    ]);
    expect(engine.statistics.cachedTokens).toBe(7 * shared);
  });

  it("is shared in steps when it is longer than a step", async () => {
    const engine = engineOf({ tokensPerStep: 40 });
    const prompt = random(1).ids(170);
    const ask = (seed: number) => engine.generate({ prompt, sampling, seed });
    await Promise.all(Array.from({ length: 8 }, (_, seed) => ask(seed)));
    await engine.close();
    // What is shared depends on where the steps end: never less than this.
    expect(engine.statistics.computedTokens).toBeLessThan(170 + 8 * (32 + 6));
  });

  it("is found again later, while there is room", async () => {
    const engine = engineOf();
    const prompt = random(2).ids(64);
    const first = await engine.generate({ prompt, sampling, seed: 1 });
    const second = await engine.generate({ prompt, sampling, seed: 1 });
    await engine.close();
    expect([first.cachedTokens, second.cachedTokens]).toEqual([0, 48]);
    expect(second.ids).toEqual(first.ids);
  });
});

describe("the next turn", () => {
  it("computes only what is new", async () => {
    const engine = engineOf();
    const ids = random(3).ids(50);
    let before = 0;
    for (let turn = 0; turn < 5; turn++) {
      const answer = await engine.generate({
        prompt: ids,
        sampling,
        seed: turn,
        conversation: "one",
      });
      // The observation, the answer but its last token, and the last token of the turn before.
      const fresh = turn === 0 ? 50 : 7 + 1;
      const computed = engine.statistics.computedTokens - before;
      expect(computed).toBe(fresh + sampling.maximumTokens - 1);
      expect(answer.cachedTokens).toBe(turn === 0 ? 0 : ids.length - fresh);
      before = engine.statistics.computedTokens;
      ids.push(...answer.ids, ...random(turn).ids(7));
    }
    await engine.close();
  });

  it("may change what was said: only the common beginning is kept", async () => {
    const engine = engineOf();
    const prompt = random(4).ids(60);
    const conversation = "one";
    await engine.generate({ prompt, sampling, seed: 1, conversation });
    const changed = [...prompt.slice(0, 37), ...random(5).ids(20)];
    const answer = await engine.generate({ prompt: changed, sampling, seed: 2, conversation });
    const shorter = prompt.slice(0, 10);
    const last = await engine.generate({ prompt: shorter, sampling, seed: 3, conversation });
    await engine.close();
    // The third page is full and known to others: it is not written to, but computed anew.
    expect(answer.cachedTokens).toBe(32);
    for (const [ids, { ids: drawn, logprobs }] of [
      [changed, answer],
      [shorter, last],
    ] as const)
      expect(distance([...ids], drawn, logprobs)).toBeLessThan(1e-5);
  });

  it("of a released conversation starts anew, but finds its full pages", async () => {
    const engine = engineOf();
    const prompt = random(6).ids(40);
    const ask = () => engine.generate({ prompt, sampling, seed: 1, conversation: "one" });
    await ask();
    expect((await ask()).cachedTokens).toBe(39);
    engine.release("one");
    expect((await ask()).cachedTokens).toBe(32);
    engine.release("nobody");
    // Released while it runs: nothing stays after the answer.
    const running = ask();
    engine.release("one");
    await running;
    expect((await ask()).cachedTokens).toBe(32);
    await engine.close();
  });
});

function distance(prompt: number[], drawn: number[], logprobs: number[]): number {
  const ids = [...prompt, ...drawn];
  const places = drawn.map((_, i) => prompt.length + i);
  return largestDifference(logprobs, packedLogprobs(model, [ids], [places]));
}

describe("when the weights change", () => {
  const change = () =>
    noGrad(() => {
      for (const parameter of model.parameters.values()) tidy(() => parameter.mul_(1.05));
    });

  it("nothing computed before is used, and answers say by which weights they were made", async () => {
    const engine = engineOf();
    const prompt = random(7).ids(70);
    const ask = (conversation: string) =>
      engine.generate({ prompt, sampling, seed: 1, conversation });
    const old = await ask("one");
    expect(old.weightsVersion).toBe(0);
    change();
    engine.weightsChanged();
    const [same, other] = await Promise.all([ask("one"), ask("two")]);
    for (const answer of [same!, other!]) {
      expect(answer.weightsVersion).toBe(1);
      expect(distance(prompt, answer.ids, answer.logprobs)).toBeLessThan(1e-5);
    }
    expect(same!.cachedTokens).toBe(0);
    expect(other!.cachedTokens).toBe(64);
    await engine.close();
  });

  it("in the middle of an answer, the rest is drawn from the new ones", async () => {
    const engine = engineOf();
    const prompt = random(8).ids(33);
    let drawn = 0;
    const answer = await engine.generate({
      prompt,
      sampling: { maximumTokens: 12 },
      seed: 1,
      onToken: () => {
        if (++drawn !== 5) return;
        change();
        engine.weightsChanged();
      },
    });
    await engine.close();
    expect(answer.weightsVersion).toBe(1);
    const ids = [...prompt, ...answer.ids];
    const late = [5, 6, 7, 8, 9, 10, 11];
    const expected = packedLogprobs(model, [ids], [late.map((i) => prompt.length + i)]);
    const found = late.map((i) => answer.logprobs[i]!);
    expect(largestDifference(found, expected)).toBeLessThan(1e-5);
  });
});
