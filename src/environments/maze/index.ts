/**
 * @file Mazes in text: the original's double T, and generated ones of any size.
 */
import { defineWorld } from "../define.ts";

const side = {
  kind: "number",
  integer: true,
  minimum: 5,
  maximum: 301,
  default: 9,
} as const;

export const maze = defineWorld({
  name: "maze",
  aliases: ["lmrlgym_maze"],
  summary: "find the way through a maze from what is near: the double T, or generated ones",
  briefing: "You walk through a maze, one step at a time. You see only the walls around you.",
  maximumSteps: 50,
  options: {
    maze: {
      kind: "text",
      choices: ["double_t", "generated"],
      default: "double_t",
      about: "the maze of the original, or a new one for each task",
    },
    width: { ...side, about: "columns of a generated maze, walls included; odd" },
    height: { ...side, about: "rows of a generated maze, walls included; odd" },
    loops: {
      kind: "number",
      minimum: 0,
      maximum: 1,
      default: 0.1,
      about: "the share of walls between corridors that are left out; 0 leaves exactly one way",
    },
    games: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      about: "how many generated mazes the split train has",
    },
    seed: {
      kind: "number",
      integer: true,
      minimum: 0,
      default: 0,
      about: "another seed makes other generated mazes",
    },
    winReward: { kind: "number", default: 1, about: "the reward of reaching the goal" },
  },
  open: async (options) =>
    (await import("./world.ts")).mazeWorld({
      ...options,
      maze: options.maze as "double_t" | "generated",
    }),
});
