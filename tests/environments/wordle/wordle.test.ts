/**
 * @file Wordle: the published answers, the rules, word lists, the expert.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import { type LocalEnvironment, openWorld, type World } from "../../../src/environments/index.ts";
import {
  feedback,
  isConsistent,
  learned,
  NOTHING,
} from "../../../src/environments/wordle/knowledge.ts";
import { WORDS } from "../../../src/environments/wordle/words.ts";
import { isMissing } from "../../support/shared.ts";
import { actionOf, transcripts } from "../transcripts.ts";

const folder = mkdtempSync(join(tmpdir(), "wordle-"));
afterAll(() => rmSync(folder, { recursive: true }));

const open = async (options: Record<string, unknown> = {}) =>
  (await openWorld("wordle", options)) as World<LocalEnvironment>;

const compared = (guess: string, word: string): string =>
  feedback(learned(NOTHING, guess, word), guess);

describe("answers", () => {
  it.skipIf(isMissing("data/openmanus/wordle/train.parquet"))(
    "of the published games can all be given, each by a word that fits the ones before",
    async () => {
      const published = await transcripts("wordle", ["train", "val", "test"]);
      let replayed = 0;
      for (const { id, turns } of published) {
        const words = turns[0]!.said.match(/^[a-z]{5}$/gm)!;
        let knowledge = NOTHING;
        for (let i = 0; i + 1 < turns.length; i++) {
          const guess = actionOf(turns[i]!.reply).replaceAll(" ", "");
          const said = turns[i + 1]!.said.trim();
          expect(words, id).toContain(guess);
          const word = words.find(
            (word) =>
              isConsistent(knowledge, word) &&
              feedback(learned(knowledge, guess, word), guess) === said,
          );
          expect(word, `${id}: ${guess} was answered ${said}`).toBeDefined();
          knowledge = learned(knowledge, guess, word!);
        }
        replayed++;
      }
      expect(replayed).toBe(996);
    },
    120_000,
  );

  it.each([
    ["stone", "stone", "g g g g g"],
    ["stone", "notes", "y y y y y"],
    ["geese", "eagle", "y y y b g"],
    ["bluff", "flung", "b g g y y"],
    ["aback", "koala", "y b g b y"],
    ["shard", "index", "b b b b y"],
  ])("to %s when the word is %s", (guess, word, answer) => {
    expect(compared(guess, word)).toBe(answer);
  });

  it("narrow down: the word stays possible, a guess that it is not does not", () => {
    const any = fc.constantFrom(...WORDS);
    fc.assert(
      fc.property(any, fc.array(any, { maxLength: 6 }), (word, guesses) => {
        let knowledge = NOTHING;
        for (const guess of guesses) {
          knowledge = learned(knowledge, guess, word);
          expect(isConsistent(knowledge, word)).toBe(true);
          expect(isConsistent(knowledge, guess)).toBe(guess === word);
        }
        // Exactly the words that would have been answered the same fit.
        for (const other of WORDS.slice(0, 200)) {
          const same = guesses.every((guess) => compared(guess, other) === compared(guess, word));
          expect(isConsistent(knowledge, other)).toBe(same);
        }
      }),
    );
  });
});

describe("a game", () => {
  it("has six attempts, and what is no word is one", async () => {
    const world = await open({ seed: 3 });
    const environment = world.environment();
    const task = (await world.tasks("train")).task(5);
    const first = environment.reset(task);
    expect(first.text).toContain("\nzebra\n");
    for (const nonsense of ["", "s t o n", "zzzzz", "S T O N E", "constructor"])
      expect(environment.step(nonsense)).toMatchObject({
        ...{ done: false, admissible: false, observation: { text: "invalid word" } },
      });
    const copy = environment.clone();
    expect(environment.step("x".repeat(1e6))).toMatchObject({ done: true, lost: true, reward: 0 });
    const [word] = copy.plan!()!;
    expect(copy.step(word!)).toMatchObject({ won: true, reward: 1, score: 1 });
  });

  it("is the same when it is played again, and answers do not depend on who asks", async () => {
    const world = await open();
    const tasks = await world.tasks("test");
    const play = (): string[] => {
      const environment = world.environment();
      environment.reset(tasks.task(7));
      return ["h o u s e", "t r a i n", "w o r l d"].map(
        (guess) => environment.step(guess).observation.text,
      );
    };
    expect(play()).toEqual(play());
    for (const text of play()) expect(text).toMatch(/^[byg]( [byg]){4}\n$/);
  });

  it("is won by its solution always and by the expert nearly always", async () => {
    const world = await open({ games: 300 });
    expect(await verifyWorld(world, world.splits)).toMatchObject({ games: 500, won: 500 });
    const environment = world.environment();
    const tasks = await world.tasks("test");
    let won = 0;
    for (let index = 0; index < tasks.length; index++) {
      const expert = world.expert!(index);
      let observation = environment.reset(tasks.task(index));
      for (let done = false; !done; ) {
        const result = environment.step(expert.act(observation));
        observation = result.observation;
        done = result.done;
        won += Number(result.won);
      }
    }
    expect(won).toBeGreaterThanOrEqual(195);
  }, 120_000);

  it("takes a list of one's own", async () => {
    const file = join(folder, "words.txt");
    writeFileSync(file, "Stone\r\nnotes\n\nstone\neagle\n");
    const world = await open({ words: file });
    expect(world.source).toMatch(/^3 words of/);
    const bad: [string, RegExp][] = [
      ["stones\n", /line 1 is "stones"; expected one word of 5 letters/],
      ["stone\n\0\0\0\0\0", /line 2/],
      ["stone", /it has 1 words; a game needs 2/],
      ["stone\n".repeat(60_000), /larger than/],
    ];
    for (const [text, message] of bad) {
      writeFileSync(file, text);
      await expect(open({ words: file })).rejects.toThrow(message);
    }
    await expect(open({ words: folder })).rejects.toThrow(/cannot be used/);
    await expect(open({ words: join(folder, "none") })).rejects.toThrow(/no such file/);
    await expect(open({ size: 5000 })).rejects.toThrow(/there are 7\d\d words/);
  });

  it("answers any bytes", async () => {
    const world = await open();
    const environment = world.environment();
    const task = (await world.tasks("train")).task(0);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), (action) => {
        environment.reset(task);
        expect(environment.step(action).observation.text).toMatch(/invalid word|^[bgy ]+\n$/);
      }),
    );
  });
});
