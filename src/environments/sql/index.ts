/**
 * @file Questions to databases, answered with a query, as AgentGym's SqlGym asks them.
 */
import { defineWorld } from "../define.ts";

export const sql = defineWorld({
  name: "sql",
  aliases: ["sqlgym"],
  summary: "a question about a database, answered with one SQL query (as AgentGym's SqlGym)",
  briefing:
    "You are told what tables a SQLite database has, and asked a question. Answer with one SQL statement.",
  maximumSteps: 1,
  options: {
    data: {
      kind: "text",
      default: "builtin",
      about: 'a folder of BIRD (train/train.json, …), or "builtin": generated databases',
    },
    games: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      about: "how many generated questions the split train has",
    },
    seed: {
      kind: "number",
      integer: true,
      minimum: 0,
      default: 0,
      about: "another seed makes other generated databases and questions",
    },
    attempts: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 50,
      default: 1,
      about: "how many queries an episode has; the original's have one",
    },
    text: {
      kind: "number",
      integer: true,
      minimum: 10,
      maximum: 100_000,
      default: 100,
      about: "how many characters of a result are shown",
    },
    work: {
      kind: "number",
      integer: true,
      minimum: 1,
      default: 50_000,
      about: "thousands of SQLite's instructions after which a query is stopped",
    },
    memory: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 2000,
      default: 512,
      about: "megabytes that SQLite may hold, the database included",
    },
    seconds: {
      kind: "number",
      minimum: 0.1,
      maximum: 600,
      default: 30,
      about: "after which a process that does not answer is killed",
    },
    processes: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 64,
      default: 2,
      about: "how many queries run at once, each in a process of its own",
    },
  },
  open: async (options) => (await import("./world.ts")).sqlWorld(options),
});
