/**
 * @file The world of Wordle. As in the original there is no fixed hidden word: each guess is compared
 * with a word drawn from those that fit everything said so far, which gives the same games as drawing
 * one at the start would.
 */
import type { LocalEnvironment, World } from "../environment.ts";
import { randomOf } from "../functions/environment.ts";
import { localWorld } from "../functions/world.ts";
import { wordleExpert } from "./expert.ts";
import { feedback, isConsistent, type Knowledge, LETTERS, learned, NOTHING } from "./knowledge.ts";

export const ATTEMPTS = 6;

const TEST_GAMES = 200;

export interface WordleOptions {
  readonly vocabulary: readonly string[];
  /** Whether the first observation lists the words. */
  readonly list: boolean;
  readonly games: number;
  readonly seed: number;
  readonly winReward: number;
  readonly source: string;
}

interface State {
  readonly knowledge: Knowledge;
  /** The words that still fit. */
  readonly candidates: readonly string[];
  /** "s t o n e: b y b g b", in order. */
  readonly history: readonly string[];
}

const INSTRUCTION =
  `Guess the hidden word of ${LETTERS} letters in at most ${ATTEMPTS} attempts, as few as you can. ` +
  'A guess is written with spaces between its letters, such as "s t o n e".';

export function wordleWorld(options: WordleOptions): World<LocalEnvironment> {
  const known = new Set(options.vocabulary);
  const start: State = { knowledge: NOTHING, candidates: options.vocabulary, history: [] };
  const intro = introduction(options);
  const tasks = (split: string, games: number) =>
    Array.from({ length: games }, (_, index) => ({
      id: `${split}/${options.seed}-${index}`,
      seed: options.seed,
    }));
  return localWorld<State>(
    {
      name: "wordle",
      source: options.source,
      splits: { train: tasks("train", options.games), test: tasks("test", TEST_GAMES) },
      start: () => start,
      intro: () => ({ text: intro, instruction: INSTRUCTION }),
      act({ knowledge, candidates, history }, action, random) {
        const guess = action.length <= 100 ? action.replaceAll(" ", "") : "";
        const isValid = known.has(guess);
        const after = isValid ? learned(knowledge, guess, random.pick(candidates)) : knowledge;
        const text = isValid ? `${feedback(after, guess)}\n` : "invalid word";
        const left = isValid ? candidates.filter((word) => isConsistent(after, word)) : candidates;
        const said = [...history, `${isValid ? spaced(guess) : "?"}: ${text.trim()}`];
        const won = isValid && left.length === 1 && left[0] === guess;
        return {
          text,
          state: { knowledge: after, candidates: left, history: said },
          won,
          lost: !won && said.length >= ATTEMPTS,
          reward: won ? options.winReward : 0,
          admissible: isValid,
          // What is known is in all that was said, not only in the last answer.
          anchor: said.join("\n"),
          info: { attempts: said.length, candidates: left.length },
        };
      },
      solution: ({ candidates }, task) => [spaced(randomOf("wordle", task, 1).pick(candidates))],
      plan: ({ candidates }, task, steps) => [
        spaced(randomOf("wordle", task, steps + 1).pick(candidates)),
      ],
      expert: wordleExpert,
    },
    {},
  );
}

export function spaced(word: string): string {
  return Array.from(word).join(" ");
}

function introduction({ vocabulary, list }: WordleOptions): string {
  return [
    `${INSTRUCTION} The answer has one letter for each of yours: g when it is in that place of the ` +
      "hidden word, y when it is elsewhere in the word, b when it is not in the word. " +
      'What is not a known word is answered "invalid word", and counts.',
    ...(list ? ["", "The known words:", ...vocabulary] : []),
    "",
  ].join("\n");
}
