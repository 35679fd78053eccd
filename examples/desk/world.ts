/**
 * @file A world of one's own: a key lies in one of four places, a note tells with what, and a door is to be
 * opened with it. Try it:  npx openmanus-rl play world.ts
 */
import { defineEnvironment } from "openmanus-rl";

const PLACES = { drawer: "pens", shelf: "books", bag: "lunch", box: "toys" };
type Place = keyof typeof PLACES;
const names = Object.keys(PLACES) as Place[];

export default defineEnvironment({
  name: "desk",
  summary: "find the key that a note tells of, and open the door",
  maximumSteps: 6,
  splits: { train: 2000, test: 200 },
  start: (_task, random) => ({ place: random.pick(names), open: "", hasKey: false }),
  intro: ({ place }) => `The note says: the key is with the ${PLACES[place]}.`,
  actions: () => [...names.map((name) => `open ${name}`), "take key", "open door"],
  act({ place, open, hasKey }, action) {
    const opened = names.find((name) => action === `open ${name}`);
    if (opened)
      return {
        text: opened === place ? "There is a key." : `There are ${PLACES[opened]}, and no key.`,
        state: { place, open: opened, hasKey },
      };
    if (action === "take key" && open === place && !hasKey)
      return { text: "You have the key.", state: { place, open, hasKey: true } };
    if (action === "open door" && hasKey) return { text: "The door is open.", won: true };
    return { text: "Nothing happens.", admissible: false };
  },
  expert: () => ({
    act({ text }) {
      if (text.includes("You have the key")) return "open door";
      if (text.includes("There is a key")) return "take key";
      return `open ${names.find((name) => text.includes(PLACES[name]))}`;
    },
    acted() {},
  }),
});
