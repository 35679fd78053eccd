/**
 * @file A world of one's own in twenty lines: a number to be found from "higher" and "lower".
 *
 * Try it:  npx openmanus-rl play ./examples/own-world/world.ts
 *          npx openmanus-rl env verify ./examples/own-world/world.ts
 */
import { defineEnvironment } from "../../src/environments/index.ts"; // yours: "openmanus-rl/environments"

export default defineEnvironment({
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
});
