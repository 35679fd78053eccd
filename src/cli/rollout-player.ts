/**
 * @file Who plays in `openmanus-rl rollout`: a model in this process, one behind a server, or an expert.
 */
import { type Agent, createAgent, type HistoryOptions, PROMPT_SETS } from "../agents/index.ts";
import type { World } from "../environments/index.ts";
import { requireModelFolder } from "../evaluation/index.ts";
import {
  createChatClient,
  createEngine,
  createServerGenerator,
  type SamplingOptions,
  type TextGenerator,
} from "../generation/index.ts";
import { byteChat, type Chat, loadChat, loadModel, readModelConfig } from "../models/index.ts";
import {
  chatPolicy,
  deriveSeed,
  modelPolicy,
  type Policy,
  scriptedPolicy,
} from "../rollout/index.ts";
import type { RolloutOptions } from "./rollout-options.ts";
import { UsageError } from "./usage.ts";

export interface RolloutPlayer {
  readonly policy: Policy;
  readonly agent: Agent;
  /** Where tokens can be looked up later; undefined: they are bytes. */
  readonly tokenizer: string | undefined;
  close(): Promise<void>;
}

export function openRolloutPlayer(options: RolloutOptions, world: World): RolloutPlayer {
  if (options.expert) return expertPlayer(options, world);
  if (options.server === undefined) return folderPlayer(options);
  return options.tokenizer === undefined ? chatPlayer(options) : serverPlayer(options);
}

function expertPlayer(options: RolloutOptions, world: World): RolloutPlayer {
  if (!world.expert) throw new UsageError(`${world.name} has no scripted expert.`);
  if (options.summary) throw new UsageError("--summary needs a model.");
  const agent = agentOf(options);
  // Each episode has its own, with a seed that does not depend on the others.
  const expert = (episode: string) =>
    world.expert!(Number(deriveSeed(options.seed, episode) % 2n ** 31n));
  const tokenizer = options.model;
  const chat = tokenizer === undefined ? byteChat() : loadChat(requireModelFolder(tokenizer));
  const policy = scriptedPolicy({ chat, format: agent.format, expert });
  return { policy, agent, tokenizer, close: async () => {} };
}

function folderPlayer(options: RolloutOptions): RolloutPlayer {
  const folder = requireModelFolder(options.model!);
  const chat = loadChat(folder);
  const model = loadModel(folder);
  const engine = createEngine(model, { tokenizer: chat.tokenizer });
  return {
    ...generatorPlayer(options, engine, chat, model.config.maximumPositions),
    tokenizer: folder,
    async close() {
      await engine.close();
      model.dispose();
    },
  };
}

function serverPlayer(options: RolloutOptions): RolloutPlayer {
  const { server, model, viaText } = options;
  const folder = requireModelFolder(options.tokenizer!);
  const chat = loadChat(folder);
  const generator = createServerGenerator({
    ...{ baseUrl: server!, model: model!, tokenizer: chat.tokenizer, viaText },
    ...keyOf(options),
  });
  const { maximumPositions } = readModelConfig(folder);
  return {
    ...generatorPlayer(options, generator, chat, maximumPositions),
    tokenizer: folder,
    close: () => generator.close(),
  };
}

function generatorPlayer(
  options: RolloutOptions,
  generator: TextGenerator,
  chat: Chat,
  contextLength: number,
): Pick<RolloutPlayer, "policy" | "agent"> {
  const sampling = samplingOf(options);
  const summarize = async (question: string, signal?: AbortSignal) => {
    const { ids } = await generator.generate({
      prompt: chat.promptIds([{ role: "user", content: question }]),
      sampling: { ...sampling, maximumTokens: 300, stopTokens: [chat.endOfTurnId] },
      // By the question, not by who asked first: the same episodes whatever runs beside them.
      seed: deriveSeed(options.seed, "summary", question),
      ...(signal && { signal }),
    });
    return chat.tokenizer.decode(ids, { skipSpecialTokens: true });
  };
  const agent = agentOf(options, summarize);
  const constrain = options.constrain ? { constrain: agent.format } : {};
  return { agent, policy: modelPolicy({ generator, chat, contextLength, sampling, ...constrain }) };
}

function chatPlayer(options: RolloutOptions): RolloutPlayer {
  const { server, model, context } = options;
  if (options.constrain)
    throw new UsageError("--constrain needs --tokenizer: chats cannot be constrained.");
  const client = createChatClient({ baseUrl: server!, model: model!, ...keyOf(options) });
  const summarize = async (content: string, signal?: AbortSignal) => {
    const messages = [{ role: "user", content }];
    return (await client({ messages, maximumTokens: 300, ...(signal && { signal }) })).text;
  };
  const { temperature, topP, maximumTokens } = samplingOf(options);
  return {
    agent: agentOf(options, summarize),
    policy: chatPolicy({
      ...{ client, chat: byteChat(), context },
      sampling: { maximumTokens, temperature: temperature!, topP: topP! },
    }),
    tokenizer: undefined,
    close: async () => {},
  };
}

function agentOf(
  options: RolloutOptions,
  summarize?: (question: string, signal?: AbortSignal) => Promise<string>,
): Agent {
  const { format, context, history, memory, summary, prompts } = options;
  const length = history === undefined ? {} : { length: history };
  const past: HistoryOptions = memory
    ? { kind: "memory", ...length, ...(options.out && { folder: `${options.out}/memory` }) }
    : summary
      ? { kind: "summary", ...length, summarize: summarize! }
      : { kind: "window", ...length };
  return createAgent({
    ...{ format, context },
    ...(context === "steps" && { history: past }),
    prompts: PROMPT_SETS[prompts],
    showInstruction: prompts === "full",
  });
}

function samplingOf({ replyTokens, temperature, topP, topK }: RolloutOptions): SamplingOptions {
  return { maximumTokens: replyTokens, temperature, topP, topK };
}

function keyOf({ keyVariable }: RolloutOptions): { apiKey?: string } {
  if (keyVariable === undefined) return {};
  const apiKey = process.env[keyVariable];
  if (!apiKey) throw new UsageError(`the environment variable ${keyVariable} is not set.`);
  return { apiKey };
}
