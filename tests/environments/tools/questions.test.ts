/**
 * @file Questions and documents: generated ones, files of every form, broken files, search, scoring.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { EnvironmentError } from "../../../src/environments/index.ts";
import { isExactly, normalized } from "../../../src/environments/tools/scoring/exact.ts";
import { openCorpus } from "../../../src/environments/tools/search/corpus.ts";
import { searchIndex, wordsOf } from "../../../src/environments/tools/search/index.ts";
import { searchTool } from "../../../src/environments/tools/search/tool.ts";
import { makeCountry } from "../../../src/environments/tools/tasks/country.ts";
import { generatedQuestions } from "../../../src/environments/tools/tasks/generate.ts";
import { questionsOf } from "../../../src/environments/tools/tasks/question.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";

const folder = mkdtempSync(join(tmpdir(), "questions-"));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
function file(ending: string, text: string | Uint8Array): string {
  const path = join(folder, `${count++}${ending}`);
  writeFileSync(path, text);
  return path;
}

const one = { question: "Why?", answer: 42 };

describe("questions from files", () => {
  it.each([
    [".json", JSON.stringify([one])],
    [".json", JSON.stringify({ version: 1, data: [one] })],
    [".json", `\uFEFF${JSON.stringify([one])}`],
    [".jsonl", `${JSON.stringify(one)}\n\n`],
  ])("%s %s", async (ending, text) => {
    expect(await questionsOf(file(ending, text))).toEqual([
      { id: "0", split: "all", question: "Why?", answer: "42" },
    ]);
  });

  it.skipIf(isMissing("data/openmanus/gaia/val.parquet"))("GAIA's parquet file", async () => {
    const questions = await questionsOf(sharedFile("data/openmanus/gaia/val.parquet"));
    expect(questions).toHaveLength(127);
    const levels = [1, 2, 3].map(
      (level) => questions.filter(({ type }) => type === `level_${level}`).length,
    );
    expect(levels).toEqual([42, 66, 19]);
    expect(new Set(questions.map(({ split }) => split))).toEqual(new Set(["validation"]));
    expect(new Set(questions.map(({ id }) => id)).size).toBe(127);
  });

  it("with one name for two have two names", async () => {
    const twice = await questionsOf(
      file(
        ".json",
        JSON.stringify([
          { ...one, id: "a" },
          { ...one, id: "a" },
        ]),
      ),
    );
    expect(twice.map(({ id }) => id)).toEqual(["a", "a-1"]);
  });

  it.each([
    [".json", "{", /is not JSON/],
    [".json", "[]", /holds no questions/],
    [".json", "5", /must be a list of objects/],
    [".json", "[5]", /record 1 .* must be an object, not 5/],
    [".json", '[{"question": 1, "answer": "x"}]', /question 1 .*"question" must be a text/],
    [".json", '[{"question": "x"}]', /"answer" must be/],
    [".json", '[{"question": "x", "answer": {"a": 1}}]', /"answer" must be/],
    [".jsonl", '{"question": "x", "answer": "y"}\n{broken', /line 2 .* is not JSON/],
    [".parquet", "PAR1 nonsense PAR1", /cannot be read as parquet/],
    [".parquet", "", /cannot be read as parquet/],
  ])("%s %s are refused with the reason", async (ending, text, message) => {
    const path = file(ending, text);
    await expect(questionsOf(path)).rejects.toThrow(message);
    await expect(questionsOf(path)).rejects.toThrow(EnvironmentError);
  });

  it("must be there", async () => {
    await expect(questionsOf(join(folder, "none.json"))).rejects.toThrow(/there is no file/);
    await expect(questionsOf(folder)).rejects.toThrow(/there is no file/);
  });
});

describe("generated questions", () => {
  it("are the same for the same seed, and others for another", () => {
    const [one, same, other] = [1, 1, 2].map((seed) =>
      generatedQuestions(seed, 60).question("train", 3),
    );
    expect(one).toEqual(same);
    expect(one).not.toEqual(other);
  });

  it("need what is in the documents: no answer is in its question, names are unique", () => {
    const questions = generatedQuestions(5, 60);
    const names = questions.country.places.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (let i = 0; i < 500; i++) {
      const { question, answer, solution } = questions.question("train", i);
      expect(question).not.toContain(answer);
      const town = questions.country.places.find(({ name }) => question.includes(name))!.facts.town;
      if (town !== undefined) expect(question).not.toContain(town);
      expect(solution!.length).toBeGreaterThanOrEqual(2);
    }
  });

  it("of the test split are about other places than those of training", () => {
    const questions = generatedQuestions(0, 120);
    const asked = (split: string): Set<string> => {
      const texts = Array.from({ length: 500 }, (_, i) => questions.question(split, i).question);
      const names = questions.country.places.map(({ name }) => name);
      // Longest first: a name may have another in it.
      return new Set(
        texts.map(
          (text) =>
            names.filter((name) => text.includes(name)).sort((a, b) => b.length - a.length)[0]!,
        ),
      );
    };
    const train = asked("train");
    expect([...asked("test")].filter((name) => train.has(name))).toEqual([]);
  });
});

describe("search", () => {
  const documents = [
    { id: "1", title: "Cats", text: "A cat is an animal. Cats sleep." },
    { id: "2", title: "Dogs", text: "A dog is an animal that barks at cats." },
    {
      id: "3",
      title: "Café",
      text: "Where the owner's dog sleeps all day long, and the café's cat too.",
    },
  ];

  it("finds by words, whatever their case, accents and endings", () => {
    const index = searchIndex(documents);
    const titles = (query: string) => index.search(query, 5).map(({ document }) => document.title);
    expect(titles("CATS")[0]).toBe("Cats");
    expect(titles("cafe")).toEqual(["Café"]);
    expect(titles("dog")[0]).toBe("Dogs");
    expect(titles("unicorn")).toEqual([]);
    expect(titles("")).toEqual([]);
    expect(index.search("animal", 1)).toHaveLength(1);
  });

  it("puts a town's own document among the first three", () => {
    const { documents } = makeCountry(3, 300);
    const index = searchIndex(documents);
    for (const { title } of documents) {
      const found = index.search(title, 3).map(({ document }) => document.title);
      expect(found).toContain(title);
    }
  });

  it("takes any query", () => {
    const tool = searchTool(documents);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (query) => {
        expect(typeof tool.execute({ query })).toBe("string");
      }),
    );
    expect(wordsOf("x".repeat(1e6))).toHaveLength(1);
    expect(tool.execute({ query: "nothing like it" })).toMatch(/dog|Nothing/);
  });

  it("shows the passage that fits", () => {
    const text = `${"filler words here. ".repeat(200)}The treasure lies under the oak. ${"more filler. ".repeat(200)}`;
    const shown = searchTool([{ id: "1", title: "Map", text }]).execute({ query: "treasure oak" });
    expect(shown).toMatch(/… .*The treasure lies under the oak.* …$/s);
    expect(String(shown).length).toBeLessThan(700);
  });
});

describe("documents", () => {
  it("come from folders and files", async () => {
    mkdirSync(join(folder, "texts/inner"), { recursive: true });
    writeFileSync(join(folder, "texts/my_cat.txt"), "meow");
    writeFileSync(join(folder, "texts/inner/b.md"), "# B");
    writeFileSync(join(folder, "texts/picture.png"), "");
    expect((await openCorpus(join(folder, "texts"))).map(({ title }) => title)).toEqual([
      "b",
      "my cat",
    ]);
    const json = file(
      ".jsonl",
      '{"title": "T", "text": "x"}\n{"id": 7, "contents": "first\\nsecond"}',
    );
    expect(await openCorpus(json)).toEqual([
      { id: "0", title: "T", text: "x" },
      { id: "7", title: "first", text: "first\nsecond" },
    ]);
  });

  it("are refused with the reason", async () => {
    await expect(openCorpus(join(folder, "none"))).rejects.toThrow(/there is nothing at/);
    await expect(openCorpus(file(".json", '[{"text": 5}]'))).rejects.toThrow(
      /document 1 .*must have "text"/,
    );
    mkdirSync(join(folder, "empty"));
    await expect(openCorpus(join(folder, "empty"))).rejects.toThrow(/holds no documents/);
  });
});

describe("exact answers", () => {
  it.each([
    ["42", "42", true],
    ["  Forty  Two. ", "forty two", true],
    ['"Paris!"', "paris", true],
    ["3.5", "3.5", true],
    ["35", "3.5", false],
    ["1,000", "1000", false],
    ["", "x", false],
  ])("%j for %j: %s", (given, expected, right) => {
    expect(isExactly(given, expected)).toBe(right);
  });

  it("are compared at once, whatever they are", () => {
    const start = performance.now();
    for (const unit of [".", " ", ". ", '"x'])
      expect(typeof normalized(`a${unit.repeat(200_000 / unit.length)}b`)).toBe("string");
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
