/**
 * @file What a soak trains in: a small world of which a fifth of the calls fail, rewards that fail, are late or ask a judge that
 * never answers, and a program that asks the gateway and in one of five episodes does what it should not.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  defineEnvironment,
  seededRandom,
  type WorldDefinition,
} from "../../src/environments/index.ts";
import { agentProgram } from "../../src/gateway/index.ts";
import { type RewardComponent, rewardFunction } from "../../src/rewards/index.ts";

const COLOURS = ["red", "green", "blue"] as const;

export const lights = defineEnvironment({
  name: "lights",
  summary: "say the colour of a light",
  maximumSteps: 4,
  splits: { train: 200, test: 8 },
  start: (_task, random) => ({ colour: random.pick(COLOURS), said: 0 }),
  intro: ({ colour }) => `It is ${colour}.`,
  actions: () => [...COLOURS],
  act: ({ colour, said }, action) =>
    action === colour
      ? { text: "Yes.", won: said === 1, state: { colour, said: said + 1 } }
      : { text: `No. It is ${colour}.` },
  solution: ({ colour }) => [colour, colour],
  expert: () => ({ act: ({ text }) => /It is (\w+)/.exec(text)?.[1] ?? "red" }),
});

export type CountFault = (fault: string) => void;

/** A reward of which one in five fails: it throws, hangs, is no number, or waits for a judge that never answers. */
export async function fallibleReward(
  seed: number,
  count: CountFault,
): Promise<{ reward: RewardComponent; close(): void }> {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const random = seededRandom("rewards", seed);
  const reward = rewardFunction("fallible", 0.1, async ({ signal }) => {
    if (!random.chance(0.2)) return 0;
    const fault = random.pick(["throws", "hangs", "no number", "silent judge"]);
    count(`reward: ${fault}`);
    if (fault === "throws") throw new Error("the reward threw");
    if (fault === "hangs") return new Promise<never>(() => {});
    if (fault === "no number") return Number.NaN;
    const answer = await fetch(`http://127.0.0.1:${port}/v1`, { signal: signal ?? null });
    return Number(await answer.text());
  });
  return {
    reward,
    close() {
      silent.closeAllConnections();
      silent.close();
    },
  };
}

/** What the program should have let go of; no more than so many, or the leak would be the soak's own. */
const kept: Buffer[] = [];
const MOST_KEPT = 16;

export function leakingProgram(count: CountFault): WorldDefinition {
  return agentProgram({
    name: "leaking",
    tasks: Array.from({ length: 40 }, (_, number) => ({ number })),
    ...{ maximumCalls: 4, seconds: 2, expert: () => "red" },
    async function(_, { baseURL, apiKey, seed, signal }) {
      const random = seededRandom("program", seed);
      const ask = (more: object) =>
        fetch(`${baseURL}/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
          body: JSON.stringify({
            ...{ messages: [{ role: "user", content: "It is red." }], max_tokens: 4, ...more },
          }),
          signal,
        });
      const answer = (await (await ask({})).json()) as {
        choices: { message: { content: string } }[];
      };
      if (!random.chance(0.2)) return answer.choices[0]!.message.content.length % 3;
      const fault = random.pick(["throws", "hangs", "leaves a stream open", "keeps memory"]);
      count(`program: ${fault}`);
      if (fault === "throws") throw new Error("the program threw");
      if (fault === "hangs") return new Promise<never>(() => {});
      // Nobody reads it.
      if (fault === "leaves a stream open") await ask({ stream: true });
      else kept.push(Buffer.alloc(1 << 16));
      while (kept.length > MOST_KEPT) kept.shift();
      return 1;
    },
  });
}
