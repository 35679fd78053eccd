/**
 * @file A world of one's own: a number to be found from "higher" and "lower".
 *
 *   npx tsx world.ts          openmanus-rl play world.ts          openmanus-rl env verify world.ts
 */
import { fileURLToPath } from "node:url";
import { defineEnvironment, train } from "openmanus-rl";

const world = defineEnvironment({
  name: "higher-or-lower",
  summary: "find a number between 1 and 100 from the answers higher and lower",
  maximumSteps: 8,
  splits: { train: 1000, test: 100 },
  start: (_task, random) => ({ secret: 1 + random.integer(100) }),
  intro: () => "I think of a number between 1 and 100. Which is it?",
  act({ secret }, action) {
    const guess = Number(action);
    if (!Number.isInteger(guess) || guess < 1 || guess > 100)
      return { text: "That is not a number between 1 and 100.", admissible: false };
    if (guess === secret) return { text: "Yes!", won: true };
    return { text: guess < secret ? "Higher." : "Lower." };
  },
  solution: ({ secret }) => [String(secret)],
  expert() {
    let [low, high, guess] = [1, 100, 0];
    return {
      act({ text }) {
        if (text.startsWith("Higher")) low = guess + 1;
        if (text.startsWith("Lower")) high = guess - 1;
        guess = Math.floor((low + high) / 2);
        return String(guess);
      },
    };
  },
});
export default world;

const choices = { model: { preset: "tiny" }, warmStart: { episodes: 30 } } as const;
if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({ ...choices, world, iterations: 2, folder: "runs/own-world" });
