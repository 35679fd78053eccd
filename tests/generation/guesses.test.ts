/**
 * @file What guesses are made of: places of tokens, answers that are remembered, chances and costs.
 */
import { describe, expect, it } from "vitest";
import { choiceCursor } from "../../src/generation/choices.ts";
import { Chances, cellOf, Luck } from "../../src/generation/speculation/chances.ts";
import { StepCosts } from "../../src/generation/speculation/costs.ts";
import { type Guessable, Guesser } from "../../src/generation/speculation/guess.ts";
import { AnswerHistory } from "../../src/generation/speculation/history.ts";
import { Speculation } from "../../src/generation/speculation/speculation.ts";
import { LONGEST_MATCH, TokenIndex } from "../../src/generation/speculation/token-index.ts";
import { random } from "./support.ts";

function indexOf(...texts: number[][]): TokenIndex {
  const index = new TokenIndex();
  for (const text of texts) {
    for (const id of text) index.push(id);
    index.endText();
  }
  return index;
}

const about = (ids: readonly number[], more: Partial<Guessable> = {}): Guessable => ({
  ...{ ids, task: undefined, stopTokens: [], cursor: null, room: 100, ...more },
});

describe("an index of tokens", () => {
  it("finds what a search through everything finds", () => {
    const from = random(1);
    for (let round = 0; round < 50; round++) {
      const texts = Array.from({ length: 5 }, () => from.ids(1 + from.below(60), 9));
      const index = indexOf(...texts);
      const context = from.ids(1 + from.below(40), 9);
      const found = index.find(context);
      // The longest end of the context that stands before some token, by trying all.
      let longest = 0;
      let places = 0;
      for (const text of texts)
        for (let at = 1; at < text.length; at++) {
          let same = 0;
          while (same < at && same < context.length && same < LONGEST_MATCH) {
            if (text[at - 1 - same] !== context.at(-1 - same)) break;
            same++;
          }
          if (same < Math.max(2, longest)) continue;
          if (same > longest) places = 0;
          longest = same;
          places++;
        }
      expect(found?.length ?? 0).toBe(longest);
      expect(found?.places.length ?? 0).toBe(Math.min(places, 8));
    }
  });

  it("keeps the latest place first, and no place at the end of a text", () => {
    const index = indexOf([1, 2, 3], [1, 2, 4], [1, 2]);
    const { places } = index.find([1, 2])!;
    expect(places.map((place) => index.at(place))).toEqual([4, 3]);
    expect(index.find([3, 1])).toBeNull();
    expect(index.find([2])).toBeNull();
  });
});

describe("a guess", () => {
  const guesser = (history = new AnswerHistory()) => new Guesser(history, new Chances());

  it("goes on as the same tokens did before", () => {
    const { ids } = guesser().guess(about([5, 6, 7, 8, 9, 1, 5, 6], { room: 3 }));
    expect(ids).toEqual([7, 8, 9]);
    expect(guesser().guess(about([5, 6, 7, 8])).ids).toEqual([]);
    expect(guesser().guess(about([5])).ids).toEqual([]);
  });

  it("ends before a stop token, and where there is no room", () => {
    const ids = [5, 6, 7, 8, 9, 1, 5, 6];
    expect(guesser().guess(about(ids, { stopTokens: [8] })).ids).toEqual([7]);
    expect(guesser().guess(about(ids, { room: 0 })).ids).toEqual([]);
    expect(guesser().guess(about(ids, { room: -1 })).ids).toEqual([]);
  });

  it("is what most answers of the task went on with", () => {
    const history = new AnswerHistory();
    for (const end of [
      [30, 31],
      [40, 41],
      [40, 42],
      [30, 31],
      [30, 31],
    ])
      history.add("a", [1, 2, 3, ...end], 3);
    history.add("b", [1, 2, 3, 50], 3);
    expect(guesser(history).guess(about([9, 2, 3], { task: "a" })).ids).toEqual([30, 31]);
    expect(guesser(history).guess(about([9, 2, 3], { task: "b" })).ids[0]).toBe(50);
    // A task that is new: by those of any other.
    expect(guesser(history).guess(about([9, 2, 3], { task: "c" })).ids).toEqual([30, 31]);
    history.forget();
    expect(guesser(history).guess(about([9, 2, 3], { task: "a" })).ids).toEqual([]);
  });

  it("is the only token that a choice allows, and never one that it does not", () => {
    const encode = (text: string) => [...text].map((letter) => letter.charCodeAt(0));
    const cursor = () => choiceCursor(["open door", "open window"], encode, []);
    const text = (ids: readonly number[]) => String.fromCharCode(...ids);
    const forced = guesser().guess(about([1, 2, 3], { cursor: cursor() }));
    expect(text(forced.ids)).toBe("open ");
    // With "open window" seen before, the last letter of the choice is left: it need not be computed.
    const seen = encode("en window, open house. ");
    const further = guesser().guess(about(seen, { cursor: cursor() }));
    expect(text(further.ids)).toBe("open windo");
  });
});

describe("what is remembered of answers", () => {
  it("is bounded for a task and in all, oldest first", () => {
    const limits = { perTask: 400, inAll: 2000 };
    const history = new AnswerHistory(limits);
    const from = random(2);
    for (let i = 0; i < 500; i++) {
      const begin = from.below(80);
      history.add(`task ${from.below(20)}`, from.ids(begin + 1 + from.below(600)), begin);
      expect(history.tokens).toBeLessThanOrEqual(limits.inAll);
      for (let task = 0; task < 20; task++)
        expect(history.ofTask(`task ${task}`)?.length ?? 0).toBeLessThanOrEqual(limits.perTask + 1);
    }
    history.add("last", [7, 8, 9], 1);
    expect(history.ofTask("last")?.find([7, 8])).not.toBeNull();
    history.forget("last");
    expect(history.ofTask("last")).toBeUndefined();
    history.forget();
    expect(history.tokens).toBe(0);
  });
});

describe("whether guesses pay", () => {
  it("is learnt from those that were checked", () => {
    const chances = new Chances();
    const [good, bad] = [cellOf("own", 9, 1, 1), cellOf("own", 2, 1, 3)];
    for (let i = 0; i < 50; i++) {
      chances.learn(good, true);
      chances.learn(bad, i % 10 === 0);
    }
    expect(chances.of(good)).toBeGreaterThan(0.9);
    expect(chances.of(bad)).toBeLessThan(0.25);
    expect(chances.of(cellOf("task", 9, 1, 1))).toBe(0.5);
    const luck = new Luck();
    for (let i = 0; i < 20; i++) luck.learn(0.9, false);
    expect(luck.factor).toBeLessThan(0.3);
  });

  it("costs are measured, between the measured in line", () => {
    const costs = new StepCosts();
    expect(costs.secondsOf(1)).toBeUndefined();
    for (let i = 0; i < 30; i++) {
      costs.addDrawing(1, i % 5 === 0 ? 0.02 : 0.001);
      costs.addDrawing(24, 0.003);
    }
    expect(costs.secondsOf(8)).toBeCloseTo(0.001, 3);
    expect(costs.secondsOf(16)).toBeCloseTo(0.002, 3);
    expect(costs.secondsOf(24)).toBeCloseTo(0.003, 5);
    expect(costs.secondsOf(48)).toBeCloseTo(0.0045, 5);
  });

  it("takes as many as make tokens cheaper", () => {
    const taken = (perRow: number, sequences: number) => {
      const speculation = new Speculation();
      // Seconds: so long that it does not matter how long this machine takes to look for guesses.
      for (let rows = 1; rows <= 1024; rows += 4)
        for (let i = 0; i < 4; i++) speculation.costs.addDrawing(rows, 10 + perRow * rows);
      const ids = [5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6];
      const drawers = Array.from({ length: sequences }, () => ({
        guesser: speculation.guesser(),
        guessable: () => about(ids),
      }));
      const step = {
        tokens: sequences,
        onlyDrawing: true,
        running: sequences,
        waiting: false,
        most: 1000,
      };
      const checked = speculation.choose(step, drawers)!;
      return checked.reduce((sum, { count }) => sum + count, 0);
    };
    // Where tokens cost nothing, all that have a chance (a half for each, as long as nothing is known); where
    // a token costs what it costs in a step of its own, none.
    expect(taken(0, 1)).toBe(5);
    expect(taken(0, 8)).toBe(40);
    expect(taken(10, 64)).toBe(0);
    expect(taken(1, 1)).toBeGreaterThan(0);
  });
});
