/**
 * @file A conversation with a model, turn by turn, in which it may use the functions of its world.
 */
import { type RunWorld, openRunWorld } from "../../assembly/index.ts";
import { ConfigError, resolvePlay, settingsOf } from "../../config/index.ts";
import {
  boundedEnvironment,
  EnvironmentError,
  type Environment,
  type Task,
} from "../../environments/index.ts";
import type { GatewayMessage, Session, ToolCall } from "../../gateway/index.ts";
import { modelFolderOf } from "../../models/index.ts";
import { audienceOf } from "../progress.ts";
import { openModel, type ServedModelOptions } from "./serve.ts";

export interface TalkOptions extends ServedModelOptions {
  /** Said to the model before anything else. */
  readonly system?: string | undefined;
  /** False: the functions of its world are not offered. Default true, where it has some. */
  readonly tools?: boolean | undefined;
  /** Of a reply. Default 512. */
  readonly maximumTokens?: number | undefined;
  /** Default 0.7. */
  readonly temperature?: number | undefined;
}

/** What happens while a model answers. */
export interface TalkListener {
  onText?(text: string): void;
  /** It wants a function called. */
  onCall?(call: ToolCall): void;
  onResult?(result: string): void;
}

export interface Talk {
  /** The functions that it may use, by name. */
  readonly tools: readonly string[];
  /** Says something, and gives the answer when it is complete, functions called along the way. */
  say(text: string, listener?: TalkListener, signal?: AbortSignal): Promise<string>;
  /** Everything said so far is forgotten. */
  forget(): void;
  close(): Promise<void>;
}

/** Calls before an answer, at most. */
const MOST_CALLS = 16;

export async function openTalk(options: TalkOptions): Promise<Talk> {
  const { system, maximumTokens = 512, temperature = 0.7 } = options;
  const opened = await openModel(options);
  const world =
    options.tools === false ? undefined : await toolWorld(opened.folder, audienceOf(options).say);
  const tools = world?.world.world.tools ?? [];
  const { gateway } = opened;
  let session: Session = gateway.named("", "talk");
  let messages: GatewayMessage[] = begun();

  function begun(): GatewayMessage[] {
    return system === undefined ? [] : [{ role: "system", content: system }];
  }

  async function answer(listener: TalkListener, signal?: AbortSignal): Promise<string> {
    for (let calls = 0; ; calls++) {
      const reply = await gateway.reply(session, {
        ...{ messages, tools, readsCalls: tools.length > 0 },
        sampling: { maximumTokens, temperature },
        ...(signal && { signal }),
        onPiece: ({ text }) => text !== "" && listener.onText?.(text),
      });
      const { content, calls: wanted } = reply;
      messages.push({ role: "assistant", content, calls: wanted });
      if (wanted.length === 0 || calls >= MOST_CALLS || !world) return content;
      for (const call of wanted) {
        listener.onCall?.(call);
        const result = await world.call(call);
        listener.onResult?.(result);
        messages.push({ role: "tool", content: result, callId: call.id });
      }
    }
  }

  return {
    tools: tools.map(({ name }) => name),
    async say(text, listener = {}, signal) {
      const before = messages;
      messages = [...messages, { role: "user", content: text }];
      try {
        return await answer(listener, signal);
      } catch (error) {
        messages = before;
        throw error;
      }
    },
    forget() {
      gateway.end("", "talk");
      session = gateway.named("", "talk");
      messages = begun();
    },
    async close() {
      await world?.close();
      await opened.close();
    },
  };
}

function isNamed(env: unknown): boolean {
  return typeof env === "object" && env !== null && "env_name" in env;
}

interface ToolWorld {
  readonly world: RunWorld;
  call(call: ToolCall): Promise<string>;
  close(): Promise<void>;
}

/** The world that a model was trained in, where that is one of functions. `say` hears why there is none. */
async function toolWorld(
  folder: string,
  say: (sentence: string) => void,
): Promise<ToolWorld | undefined> {
  let world: RunWorld;
  try {
    const settings = settingsOf(modelFolderOf(folder));
    // A model of somebody else's knows no world.
    if (!isNamed(settings.env)) return undefined;
    const { world: where } = await resolvePlay({}, settings);
    world = await openRunWorld(where);
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof EnvironmentError)) throw error;
    say(`without its world: ${error.message}`);
    return undefined;
  }
  if (!world.world.tools?.length) {
    await world.world.close?.();
    return undefined;
  }
  const tasks = await world.namedTasks(world.valSplit);
  let environment: Environment | undefined;
  const begin = async (task: Task) => {
    environment = boundedEnvironment(world.about.name, world.world.environment());
    await environment.reset(task);
    return environment;
  };
  return {
    world,
    async call({ name, arguments: given }) {
      const open = environment ?? (await begin(tasks.task(0)));
      const action = JSON.stringify({ name, arguments: JSON.parse(given) });
      const { observation, done } = await open.step(action);
      if (done) {
        await environment?.close?.();
        environment = undefined;
      }
      return observation.text;
    },
    async close() {
      await environment?.close?.();
      await world.world.close?.();
    },
  };
}
