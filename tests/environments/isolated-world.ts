/**
 * @file A world for processes of its own: the option `kind` says what it does to the process that it is in.
 */
import { writeSync } from "node:fs";
import { defineEnvironment, defineWorld } from "openmanus-rl/environments";

const counting = defineEnvironment({
  name: "counting",
  summary: "count aloud from 1",
  maximumSteps: 6,
  splits: { train: 5, test: [{ id: "one", type: "short", data: { goal: 1 } }] },
  start: ({ id }) => ({ goal: id === "one" ? 1 : 3, said: 0 }),
  intro: ({ goal }) => ({ text: "Nothing is said. \ud83d", instruction: `count to ${goal}` }),
  actions: ({ said }) => [`say ${said + 1}`, "drop"],
  act({ goal, said }, action, random) {
    if (action === "drop") return { text: "You drop it.", lost: true, reward: -1 };
    if (action !== `say ${said + 1}`) return { text: "No.", info: { drawn: random.unit() } };
    return {
      text: `You said ${said + 1}.`,
      state: { goal, said: said + 1 },
      won: said + 1 === goal,
    };
  },
  solution: ({ goal }) => Array.from({ length: goal }, (_, i) => `say ${i + 1}`),
  expert: (seed) => {
    let last = "";
    return {
      act: ({ admissible }) => {
        last = seed === 13 ? (13 as never) : admissible![0]!;
        return last;
      },
      acted: (action) => {
        last = action;
      },
      thought: () => `I thought of ${last}`,
    };
  },
});

let begun = 0;

/** What happens when it is opened, or when a task is begun. */
const KINDS: Readonly<Record<string, { open?: () => unknown; reset?: () => unknown }>> = {
  well: {},
  "exits when opened": { open: () => process.exit(3) },
  "throws when opened": {
    open: () => {
      throw new TypeError("no data");
    },
  },
  "freezes when opened": {
    open: () => {
      for (;;);
    },
  },
  "exits when begun": { reset: () => process.exit(4) },
  "freezes when begun": {
    reset: () => {
      console.log(`frozen in ${process.pid}`);
      for (;;);
    },
  },
  "hangs, then talks nonsense": {
    reset: () => {
      if (++begun === 1) return new Promise(() => {});
      writeSync(3, "this is no answer\n");
      for (;;);
    },
  },
  "eats memory": {
    reset: () => {
      const eaten: number[][] = [];
      for (;;) eaten.push(Array.from({ length: 100_000 }, (_, i) => i + eaten.length));
    },
  },
  "shows its variables": {
    reset: () => ({ text: Object.keys(process.env).join(" "), anchor: "", info: {} }),
  },
};

export default defineWorld({
  ...counting,
  options: { kind: { kind: "text", about: "What it does.", default: "well" } },
  async open({ kind }) {
    const { open, reset } = KINDS[kind]!;
    open?.();
    const world = await counting.open({});
    if (!reset) return world;
    const environment = () => ({ ...world.environment(), reset: () => reset() as never });
    return { ...world, environment };
  },
});
