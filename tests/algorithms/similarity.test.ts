/**
 * @file Similarity of texts: Python's own ratios, and grouping that is as if done plainly.
 */

import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { similarSteps, textMatcher } from "../../src/algorithms/index.ts";
import { groupSimilarTexts } from "../../src/algorithms/steps/similar-texts.ts";

const { pairs } = JSON.parse(
  readFileSync(new URL("./fixtures/difflib.json", import.meta.url), "utf8"),
) as { pairs: { a: string; b: string; ratio: number }[] };

/** The longest common subsequence by the textbook. */
function plainDistance(a: string, b: string): number {
  let before = new Array<number>(b.length + 1).fill(0);
  for (const x of a) {
    const row = [0];
    for (let j = 1; j <= b.length; j++)
      row.push(x === b[j - 1] ? before[j - 1]! + 1 : Math.max(before[j]!, row[j - 1]!));
    before = row;
  }
  return a.length + b.length - 2 * before[b.length]!;
}

/** Words in some order, repeated, with a few characters changed: texts like those of a world. */
const worldText = fc
  .tuple(
    fc.array(fc.constantFrom("take mug", "open drawer 1", "go to shelf", "look", "desk 12"), {
      maxLength: 40,
    }),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom("", "q", "zz")), { maxLength: 4 }),
  )
  .map(([words, edits]) =>
    edits.reduce((text, [place, insert]) => {
      const i = text.length === 0 ? 0 : place % text.length;
      return text.slice(0, i) + insert + text.slice(i + 1);
    }, words.join(", ")),
  );

describe("the ratio", () => {
  it("is Python's", () => {
    for (const { a, b, ratio } of pairs) expect(textMatcher([a, b]).ratio(0, 1)).toBe(ratio);
  });

  it("is compared with a threshold as if it were computed", () => {
    for (const { a, b, ratio } of pairs) {
      const matcher = textMatcher([a, b]);
      for (const threshold of [0.3, 0.6, 0.9, 0.95, ratio, Math.min(1, ratio + 1e-12)])
        expect(matcher.similar(0, 1, threshold)).toBe(ratio >= threshold);
    }
  });
});

describe("the distance", () => {
  it("is that of the longest common subsequence, or more than allowed", () => {
    fc.assert(
      fc.property(worldText, worldText, fc.nat({ max: 400 }), (a, b, most) => {
        const plain = plainDistance(a, b);
        const ours = textMatcher([a, b]).distance(0, 1, most);
        expect(ours).toBe(plain <= most ? plain : undefined);
      }),
      { numRuns: 150 },
    );
  });
});

describe("the distance of texts with a common origin", () => {
  it("is found when exactly so much is allowed, and not when it is one less", () => {
    // Long enough for several words of bits and several looks at the band; edits move it to either side.
    const edits = fc.array(
      fc.tuple(fc.nat(), fc.nat({ max: 40 }), fc.string({ unit: fc.constantFrom(..."aekq 1") })),
      { maxLength: 12 },
    );
    const origin = fc.string({
      unit: fc.constantFrom(..."ae kt,1"),
      minLength: 1,
      maxLength: 500,
      size: "max",
    });
    const edited = (text: string, changes: [number, number, string][]) =>
      changes.reduce((now, [place, cut, insert]) => {
        const at = place % (now.length + 1);
        return now.slice(0, at) + insert + now.slice(at + cut);
      }, text);
    fc.assert(
      fc.property(origin, edits, edits, (text, changesA, changesB) => {
        const [a, b] = [edited(text, changesA), edited(text, changesB)];
        const plain = plainDistance(a, b);
        const { distance } = textMatcher([a, b]);
        expect(distance(0, 1, plain)).toBe(plain);
        expect(distance(0, 1, plain + 31)).toBe(plain);
        if (plain > 0) expect(distance(0, 1, plain - 1)).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  it("counts code points: a pair of surrogates is one, a lone one too", () => {
    const { distance, ratio } = textMatcher(["a\u{1f600}b", "ab", "a\ud83db", "\u{1f601}\ud83d"]);
    expect(distance(0, 1, 9)).toBe(1);
    expect(distance(0, 2, 9)).toBe(2);
    expect(distance(2, 3, 9)).toBe(3);
    expect(ratio(0, 1)).toBe(4 / 5);
  });
});

describe("grouping", () => {
  it("is greedy against the first of each group, as if done plainly", () => {
    fc.assert(
      fc.property(
        fc.array(worldText, { maxLength: 14 }),
        fc.constantFrom(0.5, 0.8, 0.9, 0.95),
        (texts, threshold) => {
          const { ratio } = textMatcher(texts);
          const leaders: number[] = [];
          const plain = texts.map((_, text) => {
            const found = leaders.findIndex((leader) => ratio(text, leader) >= threshold);
            return found >= 0 ? found : leaders.push(text) - 1;
          });
          expect(Array.from(groupSimilarTexts(texts, threshold))).toEqual(plain);
        },
      ),
      { numRuns: 120 },
    );
  });

  it("goes by trajectory and time, not by the order of rows, and stays inside a task", () => {
    // b is similar to a and to c, which are not similar to each other: who leads matters.
    const a = "abcdefghijklmnopqrst";
    const b = "abcdefghijklmnopqrXX";
    const c = "abcdefghijklmnopXXXX";
    const { ratio } = textMatcher([a, b, c]);
    expect([ratio(1, 0) >= 0.9, ratio(1, 2) >= 0.9, ratio(2, 0) >= 0.9]).toEqual([
      true,
      true,
      false,
    ]);
    const groupOf = new Int32Array(3);
    const together = (anchors: string[], trajectories: string[]) => {
      const groups = similarSteps({ anchors, groupOf, trajectories }, 0.9).groupOf;
      return groups[anchors.indexOf(a)] === groups[anchors.indexOf(b)];
    };
    expect(together([a, b, c], ["1", "2", "3"])).toBe(true);
    expect(together([c, b, a], ["3", "2", "1"])).toBe(true);
    expect(together([a, b, c], ["3", "2", "1"])).toBe(false);
    const tasks = similarSteps(
      { anchors: [a, a], groupOf: Int32Array.from([0, 1]), trajectories: [1, 2] },
      0.9,
    );
    expect(tasks.count).toBe(2);
  });

  /** Two long texts of so many different characters; every fiftieth one of the second is another. */
  function longPair(length: number, different: number): [string, string] {
    let state = 1;
    const characters = Array.from({ length }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return String.fromCharCode(0x100 + Math.floor((state / 2 ** 32) * different));
    });
    return [characters.join(""), characters.map((one, i) => (i % 50 ? one : "Z")).join("")];
  }

  it.each([
    ["in which blocks take long to find", 20_000, 150, true],
    ["of thousands of different characters", 40_000, 20_000, false],
    ["of a length that nobody reads", 400_000, 150, false],
  ])("takes no time for texts %s", (_, length, different, similar) => {
    const [a, b] = longPair(length, different);
    const before = process.memoryUsage().rss;
    const start = performance.now();
    const groups = groupSimilarTexts([a, b, a, b], 0.9);
    expect([...groups]).toEqual(similar ? [0, 0, 0, 0] : [0, 1, 0, 1]);
    // On the way to the whole answer these take from some seconds to hours, and gigabytes.
    expect(performance.now() - start).toBeLessThan(1500);
    expect(process.memoryUsage().rss - before).toBeLessThan(300e6);
  });
});
