/**
 * @file Clients of the throughput benchmark, in a process of their own: so many at once ask for streams, and the
 * figures go to standard output as JSON.
 *
 *   node --import tsx clients.ts URL CLIENTS REQUESTS TOKENS
 */
import { eventData } from "../../src/network/index.ts";

const [url, clients, requests, tokens] = process.argv.slice(2);
const prompts = JSON.parse(process.env.PROMPTS!) as number[][];

const first: number[] = [];
let drawn = 0;
let next = 0;

async function one(index: number): Promise<void> {
  const begun = performance.now();
  const answer = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      ...{ prompt: prompts[index % prompts.length], max_tokens: Number(tokens), seed: index },
      ...{ stream: true, ignore_eos: true, return_token_ids: true, logprobs: 0 },
    }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  let isFirst = true;
  for await (const data of eventData(answer.body as never, 1e6)) {
    if (data === "[DONE]") break;
    const [choice] = (JSON.parse(data) as { choices: { token_ids?: number[] }[] }).choices;
    if (isFirst) first.push(performance.now() - begun);
    isFirst = false;
    drawn += choice?.token_ids?.length ?? 0;
  }
}

const begun = performance.now();
await Promise.all(
  Array.from({ length: Number(clients) }, async () => {
    while (next < Number(requests)) await one(next++);
  }),
);
const seconds = (performance.now() - begun) / 1000;
console.log(JSON.stringify({ seconds, drawn, first }));
