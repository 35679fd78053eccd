/**
 * @file BabyAI in text, as AgentGym plays it: rooms, doors, keys, and missions in words.
 */
import { defineWorld } from "../define.ts";
import { LEVELS } from "./level/levels.ts";

export const babyai = defineWorld({
  name: "babyai",
  summary:
    "rooms with doors, keys, balls and boxes; a mission in words (BabyAI as AgentGym plays it)",
  briefing:
    "You are in rooms with doors, keys, balls and boxes, and have a goal. You see what is in front of you.",
  maximumSteps: 50,
  types: LEVELS.map(({ name }) => name),
  options: {
    tasks: {
      kind: "text",
      choices: ["own", "agentgym"],
      default: "own",
      about:
        "own: every level that the commands can solve, in equal parts; agentgym: its numbers (level n mod 40, seed n div 40)",
    },
    levels: {
      kind: "list",
      choices: LEVELS.map(({ name }) => name),
      about: "only these levels (of own tasks)",
    },
    games: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      about: "how many tasks the split train has",
    },
    seed: {
      kind: "number",
      integer: true,
      minimum: 0,
      maximum: 60,
      default: 0,
      about: "another seed makes other own tasks",
    },
    list: {
      kind: "boolean",
      default: false,
      about: "end each observation with the list of actions, as AgentGym's later servers do",
    },
  },
  open: async (options) =>
    (await import("./world.ts")).babyaiWorld({
      ...options,
      tasks: options.tasks as "own" | "agentgym",
    }),
});
