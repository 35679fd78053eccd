/**
 * @file Search: Lucene's English analysis, BM25 against a plain computation of it, the index in a file.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/environments/index.ts";
import { termsOf } from "../../../src/environments/webshop/search/analysis.ts";
import {
  readIndexFile,
  writeIndexFile,
} from "../../../src/environments/webshop/search/index-file.ts";
import { indexBuilder } from "../../../src/environments/webshop/search/inverted-index.ts";
import { keptIndex } from "../../../src/environments/webshop/search/kept-index.ts";
import { lengthCode, lengthOfCode } from "../../../src/environments/webshop/search/lengths.ts";
import { porterStem } from "../../../src/environments/webshop/search/porter.ts";
import { searcher } from "../../../src/environments/webshop/search/search.ts";

describe("Porter's stemmer", () => {
  /** The examples of Porter's paper, step by step; steps that follow may change them further. */
  const EXAMPLES =
    "caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre, " +
    "plastered plaster, bled bled, motoring motor, sing sing, conflated conflat, troubled troubl, " +
    "sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail, " +
    "filing file, happy happi, sky sky, relational relat, conditional condit, rational ration, " +
    "valenci valenc, hesitanci hesit, digitizer digit, conformabli conform, radicalli radic, " +
    "differentli differ, vileli vile, analogousli analog, vietnamization vietnam, predication predic, " +
    "operator oper, feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, " +
    "formaliti formal, sensitiviti sensit, sensibiliti sensibl, triplicate triplic, formative form, " +
    "formalize formal, electriciti electr, electrical electr, hopeful hope, goodness good, " +
    "revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop, " +
    "adjustable adjust, defensible defens, irritant irrit, replacement replac, adjustment adjust, " +
    "dependent depend, adoption adopt, homologou homolog, communism commun, activate activ, " +
    "angulariti angular, homologous homolog, effective effect, bowdlerize bowdler, probate probat, " +
    "rate rate, cease ceas, controll control, roll roll, generalizations gener, oscillators oscil";

  it.each(EXAMPLES.split(", ").map((pair) => pair.split(" ")))("%s is %s", (word, stem) => {
    expect(porterStem(word!)).toBe(stem);
  });

  it("leaves short words alone and takes any text", () => {
    expect(["", "a", "is", "as"].map(porterStem)).toEqual(["", "a", "is", "as"]);
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void porterStem(text)));
  });
});

describe("analysis", () => {
  it.each([
    ["Men's loafers & slip-ons, size 9.5", "men loafer slip on size 9.5"],
    ["the price is 1,299.00 or $5", "price 1,299.00 5"],
    ["Wi-Fi 802.11ac x:y a_b U.S.A.", "wi fi 802.11ac x:y a_b u.s.a"],
    ["o'neill\u2019s ROCK'N'ROLL'S", "o'neil rock'n'rol"],
    ["trailing. dots... and, commas,,", "trail dot comma"],
    ["100% 'quoted' (both)", "100 quot both"],
    ["日本語 ひらがな カタカナ", "日 本 語 ひ ら が な カタカナ"],
    ["cafe\u0301 na\u00efve", "cafe\u0301 na\u00efv"],
    ["___ _ - . '", ""],
    ["a_ _b 1_2", "a_ _b 1_2"],
  ])("%s", (text, terms) => {
    expect(termsOf(text).join(" ")).toBe(terms);
  });

  it("takes any text, in time that grows with its length", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void termsOf(text)));
    for (const unit of ["a", "'", "a.", "\u0301", "_", "\ud800", "9,"])
      termsOf(unit.repeat(200_000));
    expect(termsOf("x".repeat(600)).map(({ length }) => length)).toEqual([255, 255, 90]);
  });
});

describe("lengths in a byte", () => {
  it("are exact to 40, then rounded down, by an eighth at most", () => {
    for (let length = 0; length < 100_000; length++) {
      const kept = lengthOfCode(lengthCode(length));
      if (length <= 40) expect(kept).toBe(length);
      else if (!(kept <= length && length - kept <= length / 8)) expect.fail(`${length}: ${kept}`);
    }
    expect(lengthCode(2 ** 31 - 1)).toBe(255);
  });
});

const built = (texts: readonly string[]) => {
  const builder = indexBuilder();
  for (const text of texts) builder.add(text);
  return builder.finish();
};

/** BM25 by its definition, for every document. */
function plainScores(documents: readonly string[][], query: string): number[] {
  const nonEmpty = documents.filter(({ length }) => length > 0);
  const average = nonEmpty.reduce((sum, { length }) => sum + length, 0) / nonEmpty.length;
  const scores = documents.map(() => 0);
  for (const term of termsOf(query)) {
    const counts = documents.map((terms) => terms.filter((other) => other === term).length);
    const frequency = counts.filter((count) => count > 0).length;
    const rarity = Math.log(1 + (documents.length - frequency + 0.5) / (frequency + 0.5));
    for (const [d, count] of counts.entries()) {
      const length = lengthOfCode(lengthCode(documents[d]!.length));
      scores[d]! += (rarity * count) / (count + 0.9 * (1 - 0.4 + (0.4 * length) / average));
    }
  }
  return scores;
}

describe("BM25", () => {
  it("is what a pencil gives", () => {
    // Three documents of 2, 1 and 3 words: average 2. "lamp" is in two of them:
    // rarity ln(1 + 1.5/2.5) = 0.4700. First: 1/(1 + 0.9) = 0.5263; third, twice in 3 words:
    // 2/(2 + 0.9·(0.6 + 0.4·1.5)) = 0.6494.
    const { search } = searcher(built(["red lamp", "chair", "lamp lamp bulb"]));
    const hits = search("LAMPS", 10);
    expect(hits.map(({ document }) => document)).toEqual([2, 0]);
    expect(hits[0]!.score).toBeCloseTo(0.47 * 0.6494, 4);
    expect(hits[1]!.score).toBeCloseTo(0.47 * 0.5263, 4);
  });

  it("orders equal scores by document, and counts a word that is asked twice twice", () => {
    const { search } = searcher(built(["red lamp", "lamp red", "chair", "lamp red", "red red"]));
    expect(search("lamp", 10).map(({ document }) => document)).toEqual([0, 1, 3]);
    const once = search("red", 1)[0]!.score;
    expect(search("red red", 1)[0]!.score).toBeCloseTo(2 * once, 6);
  });

  it.each([1, 7, 50, 1000])(
    "finds the %i best of documents that a plain computation finds",
    (limit) => {
      const random = seededRandom("bm25", limit);
      // Common and rare words, so that some terms become weak; more documents than a window has.
      const word = (): string => `w${Math.floor(random.unit() ** 3 * 60)}x`;
      const text = (): string => Array.from({ length: random.integer(12) }, word).join(" ");
      const texts = Array.from({ length: 700 }, text);
      const { search } = searcher(built(texts));
      const documents = texts.map(termsOf);
      for (let round = 0; round < 40; round++) {
        const query = Array.from({ length: 1 + random.integer(9) }, word).join(" ");
        const scores = plainScores(documents, query);
        const expected = scores
          .map((score, document) => ({ score: Math.fround(score), document }))
          .filter(({ score }) => score > 0)
          .sort((a, b) => b.score - a.score || a.document - b.document)
          .slice(0, limit);
        const found = search(query, limit);
        expect(found.length).toBe(expected.length);
        for (const [i, { document, score }] of found.entries()) {
          // Documents may change places with others whose scores differ in the last digit of 32 bits.
          expect(score).toBeCloseTo(expected[i]!.score, 5);
          expect(score).toBeCloseTo(scores[document]!, 5);
        }
        expect(new Set(found.map(({ document }) => document)).size).toBe(found.length);
      }
    },
  );

  it("is the same over several windows", () => {
    const random = seededRandom("windows");
    const word = (): string => `w${Math.floor(random.unit() ** 4 * 3000)}x`;
    const texts = Array.from({ length: 50_000 }, () => Array.from({ length: 6 }, word).join(" "));
    const index = built(texts);
    const { search } = searcher(index);
    for (let round = 0; round < 30; round++) {
      const query = Array.from({ length: 6 }, word).join(" ");
      // The more results there may be, the lower the bar, and the fewer terms are weak.
      expect(search(query, 20)).toEqual(search(query, 2000).slice(0, 20));
    }
  });

  it("takes any query and any shop", () => {
    for (const texts of [[], ["", ""], ["lamp"], ["the of"]]) {
      const { search } = searcher(built(texts));
      for (const query of ["", "the", "lamp", "\ud800", "[]", "lamp ".repeat(5000)])
        expect(search(query, 50).length).toBeLessThanOrEqual(1);
    }
    expect(searcher(built(["lamp"])).search("lamp", 0)).toEqual([]);
  });
});

describe("the index in a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "webshop-index-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const index = built(["red lamp", "", "caf\u00e9 lamp 日本", "chair"]);

  it("comes back as it was", () => {
    const file = join(folder, "deep", "a.bin");
    writeIndexFile(file, "source", index);
    expect(readIndexFile(file, "source")).toEqual(index);
    expect(readIndexFile(file, "another source")).toBeUndefined();
    const empty = built([]);
    writeIndexFile(file, "source", empty);
    expect(readIndexFile(file, "source")).toEqual(empty);
    expect(readdirSync(join(folder, "deep"))).toEqual(["a.bin"]);
  });

  it("is not believed when anything of it is damaged", () => {
    const file = join(folder, "b.bin");
    writeIndexFile(file, "source", index);
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += 3) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 0x10;
      writeFileSync(file, damaged);
      const read = readIndexFile(file, "source");
      if (read) expect(read).toEqual(index);
      writeFileSync(file, whole.subarray(0, at));
      expect(readIndexFile(file, "source")).toBeUndefined();
    }
    expect(readIndexFile(join(folder, "nothing"), "source")).toBeUndefined();
    expect(readIndexFile(folder, "source")).toBeUndefined();
  });

  it("is made once, again when it is damaged, and without a folder that can be written", () => {
    let made = 0;
    const get = (place: string | undefined) =>
      keptIndex("s", place, () => {
        made++;
        return index;
      });
    const place = join(folder, "kept");
    expect(get(place)).toEqual(index);
    expect(get(place)).toEqual(index);
    expect(made).toBe(1);
    for (const name of readdirSync(place)) writeFileSync(join(place, name), "rubbish");
    expect(get(place)).toEqual(index);
    expect(get(place)).toEqual(index);
    expect(made).toBe(2);
    expect(get(undefined)).toEqual(index);
    // A file where the folder should be.
    expect(get(join(folder, "b.bin"))).toEqual(index);
    expect(made).toBe(4);
  });
});
