/**
 * @file A world without solutions and without an expert; `luck=true` makes it one that draws its own
 * random numbers, `fragile=true` one that fails on an empty action.
 */
import { defineEnvironment } from "../../../src/environments/index.ts";

export default defineEnvironment({
  name: "unsolved",
  summary: "guess a number",
  maximumSteps: 3,
  options: {
    luck: { kind: "boolean", default: false, about: "numbers of its own" },
    fragile: { kind: "boolean", default: false, about: "fails on an empty action" },
  },
  splits: { train: 2000, test: 100 },
  start: (_task, random, { luck, fragile }) => ({
    number: luck ? Math.random() : random.integer(5),
    fragile,
  }),
  intro: ({ number }) => `It is ${number}.`,
  act({ number, fragile }, action) {
    if (fragile && action === "") throw new Error("nothing was said");
    return { text: "No.", won: action === `say ${number}` };
  },
});
