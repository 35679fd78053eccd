/**
 * @file The smallest world that has everything training needs: a light shows a colour, each colour has its
 * answer, two right answers win. Its "expert" looks at the light and mostly gives the next colour's
 * answer: who imitates it knows the form of answers, can read the light, and has much to learn.
 */
import { defineEnvironment, seededRandom } from "../../../src/environments/index.ts";

const ANSWERS = { red: "stop", green: "go", blue: "wait" } as const;
type Colour = keyof typeof ANSWERS;
const COLOURS = Object.keys(ANSWERS) as Colour[];

export default defineEnvironment({
  name: "lights",
  summary: "answer the colour of a light",
  maximumSteps: 4,
  splits: { train: 40, test: 12 },
  start: (_task, random) => ({ colours: [random.pick(COLOURS), random.pick(COLOURS)], at: 0 }),
  intro: ({ colours }) => `It is ${colours[0]}.`,
  actions: () => Object.values(ANSWERS),
  act({ colours, at }, action) {
    const colour = colours[at]!;
    if (action !== ANSWERS[colour]) return { text: `No. It is ${colour}.` };
    if (at + 1 === colours.length) return { text: "Yes, done.", won: true };
    return { text: `Yes. It is ${colours[at + 1]}.`, state: { colours, at: at + 1 } };
  },
  solution: ({ colours }) => colours.map((colour) => ANSWERS[colour]),
  expert: (seed) => {
    const random = seededRandom("answers", seed);
    return {
      act({ text }) {
        const colour = /It is (\w+)/.exec(text)?.[1] as Colour;
        if (random.chance(0.1)) return random.pick(Object.values(ANSWERS));
        const next = COLOURS[(COLOURS.indexOf(colour) + 1) % COLOURS.length]!;
        return ANSWERS[random.chance(0.7) ? next : colour];
      },
    };
  },
});
