/**
 * @file A warm start on episodes of one's own instead of an expert's: chats, as they come from a log.
 *
 *   npx tsx episodes.ts          openmanus-rl sft --data chats.jsonl …
 */
import { defineEnvironment, train } from "openmanus-rl";

const CAPITALS = { France: "Paris", Italy: "Rome", Spain: "Madrid", Japan: "Tokyo" };
const countries = Object.entries(CAPITALS);
const question = (country: string) => `What is the capital of ${country}?`;

const world = defineEnvironment({
  name: "capitals",
  summary: "name the capital of a country",
  maximumSteps: 1,
  splits: { train: 200, test: 20 },
  start: (_task, random) => ({ country: random.pick(countries) }),
  intro: ({ country: [name] }) => question(name),
  actions: () => Object.values(CAPITALS),
  act: ({ country: [, capital] }, action) =>
    action === capital ? { text: "Yes.", won: true } : { text: "No.", lost: true },
});

const chats = Array.from({ length: 40 }, (_, i) => {
  const [country, capital] = countries[i % countries.length]!;
  return [
    { role: "user", content: question(country) } as const,
    { role: "assistant", content: i % 3 === 0 ? "Paris" : capital } as const,
  ];
});

await train({
  world,
  model: { preset: "tiny", tasks: 20 },
  warmStart: { data: chats },
  iterations: 2,
  folder: "runs/episodes",
});
