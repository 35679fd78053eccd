/**
 * @file Where an answer ends: stop tokens, stop strings, constrained choices, lengths.
 */
import { afterAll, describe, expect, it } from "vitest";
import { createEngine, type SamplingOptions } from "../../src/generation/index.ts";
import { random, testModel, testTokenizer } from "./support.ts";

const tokenizer = testTokenizer();
const model = testModel({
  vocabularySize: tokenizer.vocabularySize,
  eosTokenIds: [tokenizer.eosTokenId!],
  sharpness: 2,
  maximumPositions: 128,
});
const engine = createEngine(model, { cacheBytes: 2 ** 20, tokenizer });
afterAll(async () => {
  await engine.close();
  model.dispose();
});
const end = tokenizer.eosTokenId!;
const prompt = tokenizer.encode("look around. ");

const ask = (seed: number, sampling: SamplingOptions, ids = prompt) =>
  engine.generate({ prompt: ids, seed, sampling });
const seeds = (count: number) => Array.from({ length: count }, (_, i) => i);

describe("stop tokens", () => {
  it("end the answer and are its last token", async () => {
    const bias = new Map([[end, 6]]);
    const answers = await Promise.all(
      seeds(40).map((seed) => ask(seed, { maximumTokens: 30, bias })),
    );
    const stopped = answers.filter(({ finish }) => finish === "stop");
    expect(stopped.length).toBeGreaterThan(30);
    for (const { ids, stop } of stopped) {
      expect(stop).toBe(end);
      expect(ids.indexOf(end)).toBe(ids.length - 1);
    }
  });

  it("are not drawn before the minimum length", async () => {
    const bias = new Map([[end, 50]]);
    const sampling = { maximumTokens: 30, minimumTokens: 5, bias };
    const answers = await Promise.all(seeds(20).map((seed) => ask(seed, sampling)));
    for (const { ids, finish } of answers) {
      expect(finish).toBe("stop");
      expect(ids).toHaveLength(6);
    }
  });

  it("are the caller's instead of the model's", async () => {
    const bias = new Map([[end, 50]]);
    const answer = await ask(1, { maximumTokens: 7, stopTokens: [], bias });
    expect(answer).toMatchObject({ finish: "length", stop: null });
    expect(answer.ids).toEqual(new Array(7).fill(end));
  });
});

describe("stop strings", () => {
  it("are found across the borders of tokens", async () => {
    // Only these letters, each as likely as the other: the string is soon written, by three tokens.
    const letters = new Set([..."go"].map((letter) => tokenizer.encode(letter)[0]!));
    const bias = new Map([...letters].map((id) => [id, 600]));
    const stopStrings = ["never", "ogo"];
    const sampling = { maximumTokens: 100, temperature: 30, bias, stopStrings };
    const answers = await Promise.all(seeds(20).map((seed) => ask(seed, sampling)));
    for (const { ids, finish, stop } of answers) {
      expect([finish, stop]).toEqual(["stop", "ogo"]);
      const text = tokenizer.decode(ids);
      expect(text.indexOf("ogo")).toBe(text.length - 3);
    }
  });

  it("may end within the last token", async () => {
    const north = tokenizer.encode(" north");
    expect(north).toHaveLength(1);
    const answer = await ask(1, {
      maximumTokens: 9,
      bias: new Map([[north[0]!, 60]]),
      stopStrings: ["h no"],
    });
    expect(answer).toMatchObject({ ids: [north[0], north[0]], finish: "stop", stop: "h no" });
  });

  it("may have characters of several tokens", async () => {
    const bytes = tokenizer.encode("€");
    expect(bytes.length).toBeGreaterThan(1);
    const answer = await engine.generate({
      prompt,
      seed: 1,
      sampling: { maximumTokens: 9, choices: ["a €!"], stopStrings: ["€"] },
    });
    // A choice ends by itself: its stop strings do not cut it.
    expect(answer.stop).toBe("a €!");
    const bias = new Map(bytes.map((id) => [id, 60]));
    const free = await Promise.all(
      seeds(30).map((seed) => ask(seed, { maximumTokens: 60, bias, stopStrings: ["€"] })),
    );
    for (const { ids, finish } of free)
      expect(tokenizer.decode(ids).includes("€")).toBe(finish === "stop");
    expect(free.some(({ finish }) => finish === "stop")).toBe(true);
  });

  it("that never come leave the length", async () => {
    const sampling = { maximumTokens: 20, stopStrings: ["never said"], stopTokens: [] };
    expect(await ask(3, sampling)).toMatchObject({ finish: "length", stop: null });
  });

  it("need a tokenizer", async () => {
    const without = createEngine(model, { cacheBytes: 2 ** 16 });
    const sampling = { maximumTokens: 3, stopStrings: ["x"] };
    await expect(without.generate({ prompt, seed: 1, sampling })).rejects.toThrow(
      /need the engine's tokenizer/,
    );
    await without.close();
  });
});

describe("lengths", () => {
  it("end with the model's longest sequence", async () => {
    const sampling = { maximumTokens: 1000, stopTokens: [] };
    const answer = await ask(1, sampling, random(1).ids(120, 256));
    expect(answer.finish).toBe("context");
    expect(answer.ids).toHaveLength(8);
  });

  it("end with the cache, if that is smaller", async () => {
    // 8 kB per page: 3 pages.
    const small = createEngine(model, { cacheBytes: 3 * 8192 });
    const sampling = { maximumTokens: 1000, stopTokens: [] };
    const answers = await Promise.all(
      seeds(3).map((seed) => small.generate({ prompt: random(1).ids(40, 256), seed, sampling })),
    );
    expect(answers.map(({ finish, ids }) => [finish, ids.length])).toEqual(
      new Array(3).fill(["context", 8]),
    );
    const tooLong = small.generate({ prompt: random(1).ids(48, 256), seed: 1, sampling });
    await expect(tooLong).rejects.toThrow(/has 48 tokens; the model and the cache allow 47/);
    await small.close();
  });
});

describe("a constrained choice", () => {
  const choices = ["go", "go north", "go south", "take the lamp", "look", "go north and look"];

  it("is one of the strings, also where one is the beginning of another", async () => {
    const counts = new Map<string, number>();
    const sampling = { maximumTokens: 30, choices, temperature: 2 };
    const answers = await Promise.all(seeds(150).map((seed) => ask(seed, sampling)));
    for (const { ids, finish, stop } of answers) {
      const text = tokenizer.decode(ids, { skipSpecialTokens: true });
      expect(finish).toBe("stop");
      expect(stop).toBe(text);
      expect(choices).toContain(text);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual([...choices].sort());
  });

  it("has the probability that it is drawn with", async () => {
    const two = ["go", "go north"];
    const sampling = { maximumTokens: 30, choices: two };
    const draws = 400;
    const answers = await Promise.all(seeds(draws).map((seed) => ask(seed, sampling)));
    const probability = new Map<string, number>();
    for (const { sampledLogprobs, stop } of answers)
      probability.set(String(stop), Math.exp(sampledLogprobs.reduce((a, b) => a + b, 0)));
    const p = probability.get("go")!;
    expect(p + probability.get("go north")!).toBeCloseTo(1, 5);
    const found = answers.filter(({ stop }) => stop === "go").length;
    expect(Math.abs(found - draws * p)).toBeLessThan(4 * Math.sqrt(draws * p * (1 - p)) + 1);
  });

  it("that is the only one is certain", async () => {
    const answer = await ask(1, { maximumTokens: 30, choices: ["take the lamp"] });
    expect(answer.ids).toEqual(tokenizer.encode("take the lamp"));
    expect(answer.sampledLogprobs.every((logprob) => Math.abs(logprob) < 1e-12)).toBe(true);
    expect(answer.logprobs.every((logprob) => logprob < 0)).toBe(true);
  });

  it("that writes special tokens is its characters", async () => {
    const choice = `go${tokenizer.idToToken(end)}north`;
    const { ids, stop } = await ask(1, { maximumTokens: 60, choices: [choice] });
    expect(stop).toBe(choice);
    expect(ids).not.toContain(end);
    expect(tokenizer.decode(ids)).toBe(choice);
  });

  it.each<[string, SamplingOptions, RegExp]>([
    ["is empty", { maximumTokens: 9, choices: ["go", ""] }, /empty string cannot be chosen/],
    [
      "is longer than the answer may be",
      { maximumTokens: 3, choices: ["xyzxyzxyz"] },
      /maximumTokens is 3, but the longest choice takes 9/,
    ],
    [
      "has no room for the token that ends it",
      { maximumTokens: 1, choices: ["g", "g!"], stopTokens: [end] },
      /longest choice takes 2/,
    ],
    [
      "cannot be ended",
      { maximumTokens: 9, choices: ["go", "go north"], stopTokens: [] },
      /"go" is the beginning of another choice; stopTokens must name/,
    ],
    [
      "contains a stop token",
      { maximumTokens: 9, choices: ["go!"], stopTokens: tokenizer.encode("!") },
      /"go!" contains a stop token/,
    ],
    [
      "is forbidden",
      {
        maximumTokens: 9,
        choices: ["look"],
        bias: new Map([[tokenizer.encode("look")[0]!, Number.NEGATIVE_INFINITY]]),
      },
      /leave no token to draw/,
    ],
  ])("that %s is refused, and nobody else", async (_, sampling, message) => {
    const other = ask(5, { maximumTokens: 4, stopTokens: [] });
    await expect(ask(1, sampling)).rejects.toThrow(message);
    expect((await other).ids).toHaveLength(4);
  });
});
