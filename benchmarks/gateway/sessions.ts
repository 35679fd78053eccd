/**
 * @file A scripted agent that does to its history whatever agents do: it goes on, calls functions, asks twice at
 * once, asks again, edits what was said, hands work to a sub-agent, leaves. Its choices follow from a seed; what the
 * model says, from the model.
 *
 * And the checks of what was recorded of it, against what the engine itself answered.
 */
import OpenAI from "openai";
import type { Gateway, Session } from "../../src/gateway/index.ts";
import { sessionTrajectory } from "../../src/gateway/index.ts";
import type { Completion, GenerationRequest, TextGenerator } from "../../src/generation/index.ts";
import { type Chat, type Model, packSequences, tokenOutputs } from "../../src/models/index.ts";
import {
  checkBatch,
  checkLogprobs,
  isTrainable,
  packTrajectories,
  rowsOf,
  type Trajectory,
} from "../../src/rollout/index.ts";
import { noGrad, tensor, tidy } from "../../src/torch/index.ts";
import { seededRandom } from "../../src/environments/index.ts";

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;

const TOOLS: OpenAI.Chat.Completions.ChatCompletionTool[] = [
  tool("look_up", { word: { type: "string", maxLength: 8 } }),
  tool("add", { a: { type: "integer" }, b: { type: "integer" } }),
];

function tool(name: string, properties: Record<string, unknown>) {
  return {
    type: "function" as const,
    function: {
      ...{ name, description: `The function ${name}.` },
      parameters: { type: "object", properties, required: Object.keys(properties) },
    },
  };
}

/** One session of the agent's; `url` without /v1. */
export async function scriptedAgent(url: string, key: string, seed: number): Promise<void> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const random = seededRandom("scripted agent", seed);
  const pick = (count: number) => random.integer(count);
  const tools = pick(2) === 0 ? TOOLS : undefined;
  let messages: Message[] = [
    { role: "system", content: `You are agent ${seed}.` },
    { role: "user", content: "go to desk 1 and take the lamp 1" },
  ];

  const ask = async (asked: readonly Message[], isStreamed = pick(3) === 0): Promise<Message> => {
    const body = {
      ...{ model: "m", messages: [...asked], max_tokens: 4 + pick(20) },
      ...(tools && {
        tools,
        ...(pick(2) === 0 && { tool_choice: "required" as const, max_tokens: 90 }),
      }),
    };
    if (!isStreamed) return (await client.chat.completions.create(body)).choices[0]!.message;
    return (await client.chat.completions.stream(body).finalChatCompletion()).choices[0]!.message;
  };
  /** What comes behind a reply: answers to its calls, or the next thing that a user says. */
  const next = (reply: Message, turn: number): Message[] => {
    const calls = reply.role === "assistant" ? (reply.tool_calls ?? []) : [];
    if (calls.length === 0) return [{ role: "user", content: `go on, turn ${turn}` }];
    return calls.map(({ id }) => ({
      ...({ role: "tool", tool_call_id: id, content: `result ${pick(100)} <|im_end|>` } as const),
    }));
  };

  const turns = 3 + pick(4);
  for (let turn = 0; turn < turns; turn++) {
    const reply = await ask(messages);
    const grown = [...messages, reply, ...next(reply, turn)];
    switch (pick(10)) {
      case 0: {
        const [one, other] = await Promise.all([ask(grown), ask(grown)]);
        messages = [...grown, pick(2) === 0 ? one : other, { role: "user", content: "and then" }];
        break;
      }
      case 1:
        await ask(messages);
        messages = grown;
        break;
      case 2:
        messages = [
          ...messages,
          { role: "assistant", content: "I said something else." },
          ...next({ role: "user", content: "" }, turn),
        ];
        break;
      case 3:
        await ask([
          { role: "system", content: "You are a helper of the agent." },
          { role: "user", content: `open fridge ${pick(9)}` },
        ]);
        messages = grown;
        break;
      case 4:
        messages = [messages[0]!, { role: "user", content: `In short: ${turn} turns are over.` }];
        break;
      case 5: {
        const leaving = new AbortController();
        const left = client.chat.completions.create(
          { model: "m", messages: [...grown], max_tokens: 200 },
          { signal: leaving.signal },
        );
        setTimeout(() => leaving.abort(), pick(10));
        await left.catch(() => {});
        messages = grown;
        break;
      }
      default:
        messages = grown;
    }
  }
}

export interface Answered {
  readonly prompt: readonly number[];
  readonly completion: Completion;
}

/** The generator, and everything it answered to the end, as it was before anybody else touched it. */
export function listening(generator: TextGenerator): {
  generator: TextGenerator;
  answers: Answered[];
} {
  const answers: Answered[] = [];
  return {
    answers,
    generator: {
      async generate(request: GenerationRequest) {
        const prompt = [...request.prompt];
        const completion = await generator.generate(request);
        if (completion.finish !== "abort")
          answers.push({ prompt, completion: structuredClone(completion) });
        return completion;
      },
      release: (conversation) => generator.release(conversation),
      close: () => generator.close(),
    },
  };
}

export interface Exactness {
  readonly sessions: number;
  readonly branches: number;
  readonly replies: number;
  readonly trainedIds: number;
  /** Of recorded log-probabilities and the training path's. */
  readonly largestDifference: number;
  /** Recording texts and encoding them again: replies and ids that are no longer what was drawn. */
  readonly drifted: { readonly replies: number; readonly ids: number; readonly prompts: number };
}

/** Throws where anything that would be trained on is not what was sampled, or given. */
export function checkSessions(
  sessions: readonly Session[],
  answers: readonly Answered[],
  chat: Chat,
  model: Model,
  /** What is rounding: more in a deeper model. */
  tolerance: number,
): Exactness {
  const trajectories = sessions
    .map((session, i) => sessionTrajectory(session, chat, { id: String(i), name: `session ${i}` }))
    .filter(isTrainable);
  const sampled = new Map<string, number>();
  const keyOf = (prompt: readonly number[], ids: readonly number[]) =>
    `${prompt.join(" ")}|${ids.join(" ")}`;
  for (const { prompt, completion } of answers) {
    const key = keyOf(prompt, completion.ids);
    sampled.set(key, (sampled.get(key) ?? 0) + 1);
  }
  let replies = 0;
  let branches = 0;
  const drifted = { replies: 0, ids: 0, prompts: 0 };
  for (const trajectory of trajectories)
    for (const row of rowsOf(trajectory)) {
      branches++;
      const ids: number[] = [];
      for (const { promptIds, reply } of row) {
        ids.push(...promptIds);
        const key = keyOf(ids, reply.ids);
        const left = sampled.get(key) ?? 0;
        if (left === 0)
          throw new Error(`episode ${trajectory.id}: a reply was never drawn from its prompt`);
        sampled.set(key, left - 1);
        ids.push(...reply.ids);
        replies++;
        const drift = driftOf(chat, reply.ids);
        if (drift > 0) drifted.replies++;
        drifted.ids += drift;
      }
      drifted.prompts += Number(promptDrifts(chat, row));
    }
  let largest = 0;
  let trainedIds = 0;
  for (let start = 0; start < trajectories.length; start += 20) {
    const batch = packTrajectories(trajectories.slice(start, start + 20));
    checkBatch(batch, model.config.vocabularySize);
    largest = Math.max(largest, checkLogprobs(batch, recomputed(model, batch), tolerance).largest);
    trainedIds += batch.rows.mask.reduce((sum, value) => sum + value, 0);
  }
  const drawn = trajectories
    .flatMap(({ turns }) => turns)
    .reduce((sum, { reply }) => sum + reply.ids.length, 0);
  if (drawn !== trainedIds) throw new Error(`${trainedIds} ids are trained, ${drawn} were drawn`);
  return {
    ...{ sessions: trajectories.length, branches, replies, trainedIds, drifted },
    largestDifference: largest,
  };
}

/** Ids of a reply that are others when its text is encoded. */
function driftOf({ tokenizer, endOfTurnId }: Chat, ids: readonly number[]): number {
  const body = ids.at(-1) === endOfTurnId ? ids.slice(0, -1) : ids;
  const again = tokenizer.encodePlain(tokenizer.decode(body, { skipSpecialTokens: true }));
  const shorter = Math.min(body.length, again.length);
  let same = 0;
  while (same < shorter && body[same] === again[same]) same++;
  let end = 0;
  while (end < shorter - same && body[body.length - 1 - end] === again[again.length - 1 - end])
    end++;
  return body.length - same - end;
}

/** Whether the last prompt of a row is another when all its messages are rendered from their texts. */
function promptDrifts(chat: Chat, row: Trajectory["turns"]): boolean {
  const messages = row.flatMap(({ messages: given, reply }, i) =>
    i === row.length - 1
      ? [...given]
      : [...given, { role: "assistant" as const, content: reply.text }],
  );
  const real = row.flatMap(({ promptIds, reply }, i) =>
    i === row.length - 1 ? [...promptIds] : [...promptIds, ...reply.ids],
  );
  const without = chat.with({ tools: undefined as never });
  const anew = without.promptIds(messages);
  // Functions stand in the system's message, which is as it was: only what follows the first reply can drift.
  const tail = real.length - row[0]!.promptIds.length;
  return row.length > 1 && anew.slice(-tail).join(" ") !== real.slice(-tail).join(" ");
}

function recomputed(model: Model, batch: ReturnType<typeof packTrajectories>): Float64Array {
  const { offsets, mask } = batch.rows;
  const sequences = Array.from({ length: offsets.length - 1 }, (_, row) =>
    Array.from(batch.ids.subarray(offsets[row]!, offsets[row + 1]!)),
  );
  const places = Array.from(mask.keys()).filter((token) => mask[token] === 1);
  const indices = (values: number[]) => tensor(values, { dtype: "int64" });
  const found = noGrad(() =>
    tidy(() =>
      tokenOutputs(
        model,
        packSequences(sequences),
        indices(places.map((token) => token - 1)),
        indices(places.map((token) => batch.ids[token]!)),
        { entropy: false },
      ).logprobs.toNumbers(),
    ),
  );
  const all = new Float64Array(mask.length);
  for (const [i, token] of places.entries()) all[token] = found[i]!;
  return all;
}

/** Plays so many sessions, some at once, and gives them. */
export async function playSessions(
  gateway: Gateway,
  url: string,
  count: number,
  atOnce = 8,
): Promise<Session[]> {
  const names = Array.from({ length: count }, (_, i) => `agent-${i}`);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const i = next++;
      await scriptedAgent(url, `key:${names[i]}`, i);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return names.map((name) => gateway.find("", name)!);
}
