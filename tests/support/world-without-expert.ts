/**
 * @file A world that has neither an expert nor a list of actions nor solutions.
 */
import { defineEnvironment } from "../../src/environments/index.ts";

export default defineEnvironment({
  name: "silent",
  summary: "say the secret number",
  maximumSteps: 3,
  splits: { train: 10, test: 5 },
  start: (_task, random) => ({ secret: random.integer(10) }),
  intro: () => "Which number?",
  act: ({ secret }, action) =>
    action === String(secret) ? { text: "Yes.", won: true } : { text: "No." },
});
