/**
 * @file Three turns: take the key of the door's colour, open the door with it, go through. The colours of the test
 * split are never seen in training.
 *
 *   openmanus-rl play keys.ts          openmanus-rl env verify keys.ts
 */
import { defineEnvironment } from "openmanus-rl";

const COLOURS = {
  train: ["red", "green", "blue", "black", "white", "yellow", "brown", "grey"],
  test: ["pink", "orange", "purple", "silver", "golden", "violet"],
};
const KEYS = 3;

export default defineEnvironment({
  name: "keys",
  summary: "take the key that fits the door, open the door, and go through",
  maximumSteps: 5,
  splits: { train: 2000, test: 200 },
  start({ split }, random) {
    const keys = random.shuffled(COLOURS[split as keyof typeof COLOURS]).slice(0, KEYS);
    return { keys, door: random.pick(keys), held: "", isOpen: false };
  },
  intro: ({ keys, door }) =>
    `You are in a room. The door is ${door} and locked. On the table: ${keys.map((key) => `a ${key} key`).join(", ")}.`,
  actions: ({ keys }) => [...keys.map((key) => `take ${key} key`), "open door", "go through door"],
  act(state, action) {
    const { keys, door, held, isOpen } = state;
    const key = keys.find((colour) => action === `take ${colour} key`);
    if (key) return { text: `You hold the ${key} key.`, state: { ...state, held: key } };
    if (action === "open door" && held === door && !isOpen)
      return { text: "The door is open.", state: { ...state, isOpen: true } };
    if (action === "open door")
      return { text: held ? `The ${held} key does not fit.` : "The door is locked." };
    if (action === "go through door" && isOpen) return { text: "You are outside.", won: true };
    return { text: "Nothing happens." };
  },
  solution: ({ door }) => [`take ${door} key`, "open door", "go through door"],
  expert() {
    let door: string | undefined;
    return {
      act({ text }) {
        door ??= /The door is (\w+) and/.exec(text)?.[1];
        if (text.startsWith("You are in") || text.endsWith("does not fit."))
          return `take ${door} key`;
        return text === "The door is open." ? "go through door" : "open door";
      },
      acted() {},
    };
  },
});
