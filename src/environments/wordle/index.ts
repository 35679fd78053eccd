/**
 * @file Wordle: a word of five letters to be guessed from answers about its letters.
 */
import { defineWorld } from "../define.ts";

export const wordle = defineWorld({
  name: "wordle",
  aliases: ["lmrlgym_wordle"],
  summary: "guess a hidden word of five letters in six attempts",
  briefing: "You guess a hidden word of five letters.",
  maximumSteps: 6,
  options: {
    words: {
      kind: "text",
      about: "a file with one word of five letters per line; default: our own list of 700",
    },
    size: {
      kind: "number",
      integer: true,
      minimum: 2,
      maximum: 20_000,
      about: "how many of the words a game knows; default: 400 of our own, all of yours",
    },
    list: {
      kind: "boolean",
      default: true,
      about: "whether the first observation lists the words, as the original does",
    },
    games: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      about: "how many games the split train has",
    },
    seed: {
      kind: "number",
      integer: true,
      minimum: 0,
      default: 0,
      about: "another seed draws other words",
    },
    winReward: { kind: "number", default: 1, about: "the reward of finding the word" },
  },
  async open({ words, size, ...options }) {
    const { vocabulary } = await import("./vocabulary.ts");
    const { wordleWorld } = await import("./world.ts");
    const list = vocabulary(words, size);
    const source = `${list.length} words of ${words ?? "our own list"}, seed ${options.seed}`;
    return wordleWorld({ ...options, vocabulary: list, source });
  },
});
