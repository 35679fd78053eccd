/**
 * @file Lights, with only some tasks that nobody has trained on: like a folder of games with one split.
 */
import { defineEnvironment } from "../../src/environments/index.ts";

const ANSWERS = { red: "stop", green: "go", blue: "wait" } as const;
const COLOURS = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[];

export default defineEnvironment({
  name: "unseen lights",
  summary: "answer the colour of a light",
  maximumSteps: 2,
  splits: { valid_unseen: 5 },
  start: (_task, random) => random.pick(COLOURS),
  intro: (colour) => `It is ${colour}.`,
  act: (colour, action) => ({ text: "Done.", won: action === ANSWERS[colour] }),
});
