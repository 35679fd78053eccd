/**
 * @file Who plays: an agent and the policy that answers for it. Training, evaluation, `rollout` and `play`
 * all take one, so that a model is always played in the form in which it was trained.
 *
 *   modelPlayer    a model in this process, whose weights somebody else holds (and may be training)
 *   servedPlayer   the same with an engine elsewhere that is given the weights
 *   folderPlayer   the model of a folder
 *   serverPlayer   a model behind a server, in token ids, or (without its tokenizer) in chats
 *   expertPlayer   the world's scripted expert
 */
import type { Agent } from "../agents/index.ts";
import { type AgentProgram, expertsOf, type World } from "../environments/index.ts";
import {
  type ChatClient,
  createChatClient,
  createEngine,
  createServerGenerator,
  type Engine,
  type TextGenerator,
} from "../generation/index.ts";
import { type ProgramSessions, programExpertPolicy, programSessions } from "../gateway/index.ts";
import {
  byteChat,
  type Chat,
  loadChat,
  loadModel,
  type Model,
  readModelConfig,
} from "../models/index.ts";
import { chatPolicy, modelPolicy, type Policy, scriptedPolicy } from "../rollout/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { agentOf } from "./agent.ts";
import { askPolicy, type Generating } from "./asking.ts";
import { OptionError } from "./errors.ts";
import { hidingKey, keyHidden } from "./hidden-key.ts";
import { requireModelFolder } from "./model-folder.ts";
import type { PlayOptions, Sampling } from "./options.ts";

export interface Player {
  readonly agent: Agent;
  /** Draws replies as evaluation does. */
  readonly policy: Policy;
  /** The folder where its tokens can be looked up later; undefined: they are bytes. */
  readonly tokenizer: string | undefined;
  close(): Promise<void>;
}

export interface ModelPlayer extends Player {
  readonly engine: Engine;
  readonly chat: Chat;
  /** A policy that draws otherwise, over the same engine. */
  drawing(sampling: Sampling): Policy;
}

/** The model stays the caller's; closing the player closes its engine. */
export function modelPlayer(
  model: Model,
  chat: Chat,
  options: PlayOptions,
  tokenizer?: string,
): ModelPlayer {
  const engine = createEngine(model, { ...options.engine, tokenizer: chat.tokenizer });
  const contextLength = model.config.maximumPositions;
  const { closeSessions, ...playing } = generatingPlayer(
    { generator: engine, chat, contextLength },
    options,
  );
  return {
    ...playing,
    engine,
    chat,
    tokenizer,
    async close() {
      await closeSessions();
      await engine.close();
    },
  };
}

/** `contextLength`: tokens of a sequence at most. Whoever gave the generator closes it. */
export function servedPlayer(
  generator: TextGenerator,
  chat: Chat,
  contextLength: number,
  options: PlayOptions,
): Pick<ModelPlayer, "agent" | "policy" | "drawing"> {
  return generatingPlayer({ generator, chat, contextLength }, options);
}

export function folderPlayer(
  path: string,
  options: PlayOptions,
): ModelPlayer & { readonly model: Model } {
  const folder = requireModelFolder(path);
  const model = loadModel(folder, { dtype: options.dtype, device: options.device as "cpu" });
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  const player = modelPlayer(model, loadChat(folder), options, folder);
  return {
    ...player,
    model,
    async close() {
      await player.close();
      model.dispose();
    },
  };
}

/** An OpenAI-compatible server that has the policy. */
export interface PolicyServer {
  readonly baseUrl: string;
  /** The server's name for the model. */
  readonly model: string;
  readonly apiKey?: string | undefined;
  /** The folder of the model's tokenizer; without it the server is asked for chats. */
  readonly tokenizer?: string | undefined;
  /** Text instead of ids, for servers that know no ids. */
  readonly viaText?: boolean;
  /** Seconds for one answer, and how often to ask again; default: those of src/generation. */
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
}

export function serverPlayer(server: PolicyServer, options: PlayOptions): Player {
  if (server.tokenizer === undefined) return chatPlayer(server, options);
  const { baseUrl, model, apiKey, viaText = false } = server;
  const folder = requireModelFolder(server.tokenizer);
  const chat = loadChat(folder);
  const { vocabularySize, maximumPositions: contextLength } = readModelConfig(folder);
  const connected = createServerGenerator({
    ...{ baseUrl, model, tokenizer: chat.tokenizer, vocabularySize, viaText },
    ...(apiKey !== undefined && { apiKey }),
    ...timesOf(server),
  });
  const generator = keyHidden(connected, apiKey);
  const { closeSessions, ...playing } = generatingPlayer(
    { generator, chat, contextLength },
    options,
  );
  return {
    ...playing,
    tokenizer: folder,
    async close() {
      await closeSessions();
      await generator.close();
    },
  };
}

function timesOf({ timeout, retries }: PolicyServer): { timeout?: number; retries?: number } {
  return {
    ...(timeout !== undefined && { timeout: timeout * 1000 }),
    ...(retries !== undefined && { retries }),
  };
}

function generatingPlayer(
  generating: Generating & { readonly generator: TextGenerator },
  options: PlayOptions,
): Pick<ModelPlayer, "agent" | "policy" | "drawing"> & { closeSessions(): Promise<void> } {
  const agent = agentOf(options.agent, askPolicy(generating));
  /** Opened with the first episode that is a program. */
  let sessions: ProgramSessions | undefined;
  const drawing = (sampling: Sampling): Policy => {
    const drawn = { maximumTokens: options.replyTokens, ...sampling };
    return {
      ...modelPolicy({
        ...generating,
        sampling: drawn,
        ...(options.constrain && { constrain: agent.format }),
      }),
      session(request) {
        sessions ??= programSessions(generating);
        return sessions.open(request, drawn);
      },
    };
  };
  return {
    ...{ agent, policy: drawing(options.evaluation), drawing },
    closeSessions: async () => sessions?.close(),
  };
}

function chatPlayer(server: PolicyServer, options: PlayOptions): Player {
  const { baseUrl, model, apiKey } = server;
  if (options.constrain)
    throw new OptionError("chats cannot be constrained: give the model's tokenizer, too");
  const connected = createChatClient({
    ...{ baseUrl, model, ...timesOf(server) },
    ...(apiKey !== undefined && { apiKey }),
  });
  const client: ChatClient = (request) => hidingKey(connected(request), apiKey);
  const { temperature, topP } = options.evaluation;
  const agent = agentOf(options.agent, async (content, signal) => {
    const messages = [{ role: "user", content }];
    return (await client({ messages, maximumTokens: 300, ...(signal && { signal }) })).text;
  });
  return {
    agent,
    policy: chatPolicy({
      ...{ client, chat: byteChat(), context: agent.context },
      sampling: { maximumTokens: options.replyTokens, temperature, topP },
    }),
    tokenizer: undefined,
    close: async () => {},
  };
}

/** `tokenizer`: a model folder whose tokens the expert's replies are to be of. */
export function expertPlayer(world: World, options: PlayOptions, tokenizer?: string): Player {
  if (world.program?.expert) return programExpertPlayer(world.program.expert, options, tokenizer);
  const experts = expertsOf(world);
  if (!experts)
    throw new OptionError(`${world.name} has no scripted expert (\`expert\` of the world)`);
  const agent = agentOf(options.agent);
  // Each episode has its own, with a seed that does not depend on the others.
  const expert = (episode: string) =>
    experts(Number(deriveSeed(options.seed, episode) % 2n ** 31n));
  const chat = tokenizer === undefined ? byteChat() : loadChat(requireModelFolder(tokenizer));
  return {
    agent,
    policy: scriptedPolicy({ chat, format: agent.format, expert }),
    tokenizer,
    close: async () => {},
  };
}

/** Tokens of an expert's episode, where no model says how many it takes. */
const LONGEST = 1_000_000;

function programExpertPlayer(
  expert: NonNullable<AgentProgram["expert"]>,
  options: PlayOptions,
  tokenizer?: string,
): Player {
  const chat = tokenizer === undefined ? byteChat() : loadChat(requireModelFolder(tokenizer));
  const policy = programExpertPolicy(expert, chat, LONGEST);
  return { agent: agentOf(options.agent), policy, tokenizer, close: () => policy.close() };
}
