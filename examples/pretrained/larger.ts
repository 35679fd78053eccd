/**
 * @file One question, one answer: which of two numbers is larger? The pairs of the test split are never trained on.
 *
 *   openmanus-rl play larger.ts          openmanus-rl env verify larger.ts
 */
import { defineEnvironment } from "openmanus-rl";

/** Pairs whose sum is a multiple of this are for the test. */
const SET_ASIDE = 5;

export default defineEnvironment({
  name: "larger",
  summary: "say which of two numbers is larger",
  maximumSteps: 1,
  splits: { train: 4000, test: 200 },
  start({ split }, random) {
    for (;;) {
      const [a, b] = [10 + random.integer(90), 10 + random.integer(90)];
      const isForTest = (a + b) % SET_ASIDE === 0;
      if (a !== b && isForTest === (split === "test")) return { a, b };
    }
  },
  intro: ({ a, b }) => `Which number is larger, ${a} or ${b}? Answer with the number only.`,
  act({ a, b }, action) {
    const isRight = action.trim() === String(Math.max(a, b));
    return { text: isRight ? "Right." : "Wrong.", won: isRight, done: true };
  },
  solution: ({ a, b }) => [String(Math.max(a, b))],
  expert: () => ({
    act: ({ text }) => String(Math.max(...(text.match(/\d+/g) ?? []).map(Number))),
  }),
});
