/**
 * @file Examples in the prompt: whole episodes, as if they had been played in the same conversation before.
 * A pretrained model follows what it is shown better than what it is told.
 */
import { existsSync, statSync } from "node:fs";
import { expertsOf, seededRandom } from "../environments/index.ts";
import { byteChat, type ChatMessage } from "../models/index.ts";
import { collect, readTextLines, scriptedPolicy, type Trajectory } from "../rollout/index.ts";
import { agentOf } from "./agent.ts";
import { OptionError } from "./errors.ts";
import type { ExampleOptions } from "./options.ts";
import type { RunWorld } from "./world.ts";

/** What of a run's world is needed to play in it. */
export type PlayedWorld = Pick<RunWorld, "world" | "about" | "turns" | "trainSplit">;

/** Tasks that the expert is given for each example that is wanted: it does not win all. */
const TRIES = 5;

/** The messages of all examples, one after the other: what the agent was told, what it said. */
export async function exampleMessages(
  world: PlayedWorld,
  options: ExampleOptions,
): Promise<ChatMessage[]> {
  return typeof options.from === "string"
    ? messagesIn(options.from)
    : (await expertEpisodes(world, options, options.from)).flatMap(messagesOf);
}

async function expertEpisodes(
  { world, about, turns, trainSplit }: PlayedWorld,
  { agent: settings, limits, seed }: ExampleOptions,
  count: number,
): Promise<Trajectory[]> {
  const experts = expertsOf(world);
  if (!experts)
    throw new OptionError(
      `env.examples=${count}: ${about.name} has no scripted expert (\`expert\` of the world) that could play ` +
        "them; give a file of chats of your own instead (env.examples=FILE.jsonl)",
    );
  const tasks = await world.tasks(trainSplit);
  const order = seededRandom("examples", seed).shuffled([...Array(tasks.length).keys()]);
  const agent = agentOf(settings);
  const { all } = await collect({
    ...{ world, about, agent, seed, concurrency: 1 },
    policy: scriptedPolicy({
      ...{ chat: byteChat(), format: agent.format },
      expert: () => experts(seed),
    }),
    limits: { ...limits, promptTokens: undefined, tokens: undefined, turns },
    tasks: order.slice(0, TRIES * count).map((index) => tasks.task(index)),
  });
  // Short ones: examples are read again in every episode.
  const won = all
    .filter((trajectory) => trajectory.won)
    .sort((a, b) => a.turns.length - b.turns.length);
  if (won.length < count)
    throw new OptionError(
      `env.examples=${count}: the expert of ${about.name} won only ${won.length} of ${all.length} tasks; ask ` +
        "for fewer, or give a file of chats of your own (env.examples=FILE.jsonl)",
    );
  return won.slice(0, count);
}

/** Without the system message, which is said once, before all of them. */
function messagesOf({ turns }: Trajectory): ChatMessage[] {
  return turns.flatMap(({ messages, reply }) => [
    ...messages.filter(({ role }) => role !== "system"),
    { role: "assistant", content: reply.text },
  ]);
}

function messagesIn(file: string): ChatMessage[] {
  if (!existsSync(file) || !statSync(file).isFile())
    throw new OptionError(
      `env.examples: there is no file ${file}; give a number of expert episodes, or a file with a chat ` +
        '({"messages": [...]}) in each line',
    );
  return readTextLines(file).flatMap((line, i) => chatIn(line, `${file}, line ${i + 1}`));
}

function chatIn(line: string, place: string): ChatMessage[] {
  let chat: unknown;
  try {
    chat = JSON.parse(line);
  } catch (error) {
    throw new OptionError(`${place}: no JSON (${(error as Error).message})`);
  }
  const { messages } = (chat ?? {}) as { messages?: unknown };
  const isMessage = (message: Partial<ChatMessage> | null) =>
    typeof message?.role === "string" && typeof message.content === "string";
  if (!Array.isArray(messages) || !messages.every(isMessage))
    throw new OptionError(`${place}: expected {"messages": [{"role": …, "content": …}, …]}`);
  const said = (messages as ChatMessage[]).filter(({ role }) => role !== "system");
  const isTurns = said.every(({ role }, k) => role === (k % 2 === 0 ? "user" : "assistant"));
  if (said.length === 0 || said.length % 2 === 1 || !isTurns)
    throw new OptionError(
      `${place}: an example is what the user says and what the assistant answers, in turns, and ends with ` +
        "an answer",
    );
  return said;
}
