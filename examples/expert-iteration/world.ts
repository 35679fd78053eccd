/**
 * @file A world without an expert: letters to be sorted. Nobody says which slot a town's letters belong into; a letter in
 * the wrong one comes back, and there is little time.
 */
import { defineEnvironment } from "openmanus-rl";

const SLOTS = ["north", "east", "south", "west"];
/** Where they belong: town by town, in the order of the slots. */
const TOWNS = ["Oslo", "Delhi", "Lima", "Quito", "Narvik", "Tokyo", "Cairo", "Boston"];
const LETTERS = 3;

export default defineEnvironment({
  name: "mail",
  summary: "put every letter into the slot of its town",
  maximumSteps: 5,
  splits: { train: 400, test: 200 },
  start: (_task, random) => ({
    towns: Array.from({ length: LETTERS }, () => random.pick(TOWNS)),
    at: 0,
  }),
  intro: ({ towns }) => `A letter to ${towns[0]}.`,
  actions: () => SLOTS,
  act({ towns, at }, action) {
    const town = towns[at]!;
    if (action !== SLOTS[TOWNS.indexOf(town) % SLOTS.length])
      return { text: `It comes back. A letter to ${town}.` };
    if (at + 1 === towns.length) return { text: "All letters are gone.", won: true };
    return { text: `Gone. A letter to ${towns[at + 1]}.`, state: { towns, at: at + 1 } };
  },
});
