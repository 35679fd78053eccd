/**
 * @file TextCraft: crafting things from recipes, step by step.
 */
import { defineWorld } from "../define.ts";

const depth = { kind: "number", integer: true, minimum: 1, maximum: 100 } as const;

export const textcraft = defineWorld({
  name: "textcraft",
  summary: "craft a thing from recipes among which some lead elsewhere",
  briefing:
    'You craft things. "get 2 log" gets what is to be found, "craft 4 board using 1 log" makes ' +
    'something, in exactly the numbers of a crafting command that you are given, and "inventory" ' +
    "shows what you carry. Where a command names only a kind, any thing of that kind will do.",
  maximumSteps: 40,
  options: {
    data: {
      kind: "text",
      default: "builtin",
      about:
        "a folder or archive of recipes in the game's format (recipes/*.json), minecraft-data or " +
        "minecraft-data@VERSION for the npm package of that name, or builtin for our own recipes",
    },
    distractors: {
      kind: "number",
      integer: true,
      minimum: 0,
      maximum: 1000,
      default: 10,
      about: "how many recipes that do not help a task lists at most",
    },
    minimumDepth: {
      ...depth,
      default: 1,
      about: "only things that take so many craftings in a row",
    },
    maximumDepth: { ...depth, default: 100, about: "and at most so many" },
    seed: {
      kind: "number",
      integer: true,
      minimum: 0,
      default: 42,
      about: "another seed lists recipes in another order, with other ones that do not help",
    },
    winReward: { kind: "number", default: 1, about: "the reward of crafting the goal" },
  },
  async open({ data, ...options }) {
    const { openRecipes } = await import("./library.ts");
    const { textcraftWorld } = await import("./world.ts");
    const book = await openRecipes(data);
    const source = `${book.craftable.length} craftable things of ${data === "builtin" ? "our own recipes" : data}`;
    return textcraftWorld({ ...options, book, source });
  },
});
