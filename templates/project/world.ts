/**
 * @file A world of one's own: a key lies in one of four places, a note tells with what, and a door is to be
 * opened with it. Try it:  npx openmanus-rl play world.ts
 */
import { defineEnvironment } from "openmanus-rl";

const PLACES = { drawer: "pens", shelf: "books", bag: "apples", box: "toys" };
type Place = keyof typeof PLACES;
const places = Object.keys(PLACES) as Place[];
const THERE_IT_IS = "There is a key.";
const YOU_HAVE_IT = "You have the key.";

export default defineEnvironment({
  name: "my-world",
  summary: "find the key that a note tells of, and open the door",
  maximumSteps: 6,
  splits: { train: 2000, test: 200 },
  start: (_task, random) => ({ key: random.pick(places), at: "", hasKey: false }),
  intro: ({ key }) => `The note says: the key is with the ${PLACES[key]}.`,
  actions: () => [...places.map((place) => `open ${place}`), "take key", "open door"],
  act({ key, at, hasKey }, action) {
    const place = places.find((name) => action === `open ${name}`);
    if (place)
      return {
        text: place === key && !hasKey ? THERE_IT_IS : `There are ${PLACES[place]}, and no key.`,
        state: { key, at: place, hasKey },
      };
    if (action === "take key" && at === key && !hasKey)
      return { text: YOU_HAVE_IT, state: { key, at, hasKey: true } };
    if (action === "open door" && hasKey) return { text: "The door is open.", won: true };
    return { text: "Nothing happens." };
  },
  solution: ({ key }) => [`open ${key}`, "take key", "open door"],
  // It sees what an agent sees, and remembers.
  expert() {
    let key: Place | undefined;
    let hasKey = false;
    return {
      act({ text }) {
        key ??= places.find((place) => text.includes(PLACES[place]));
        hasKey ||= text === YOU_HAVE_IT;
        if (hasKey) return "open door";
        return text === THERE_IT_IS ? "take key" : `open ${key}`;
      },
      // Something else was done: what it sees next is enough to go on.
      acted() {},
    };
  },
});
