/**
 * @file A model that others can ask: served as OpenAI's and Anthropic's servers are, everything that is asked in
 * sessions recorded; and a model that one talks to.
 */
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { diskSentence, type HeldLock, makeFolder, takeLock } from "../../folders/index.ts";
import {
  Gateway,
  type GatewayServerOptions,
  serveGateway,
  sessionTrajectory,
  TOOL_STYLES,
} from "../../gateway/index.ts";
import { createEngine, type EngineOptions, type Quantization } from "../../generation/index.ts";
import { type Chat, loadChat, loadModel, type Model } from "../../models/index.ts";
import { openTrajectoryStore, type TrajectoryStore } from "../../rollout/index.ts";
import { policyIn } from "../evaluate.ts";
import { fetchedModel } from "../hub/hub.ts";
import type { ProgressChoices } from "../options.ts";
import { audienceOf } from "../progress.ts";

export interface ServedModelOptions extends ProgressChoices {
  /** A model's folder, its name on the Hub, or a run's folder: its best policy. */
  readonly model: string;
  /** How weights are held. Default float32. */
  readonly dtype?: "float32" | "bfloat16" | undefined;
  /** Generates with a copy of the weights in fewer bytes. */
  readonly quantization?: Quantization | undefined;
  /** Bytes for keys and values. Default 1 GiB. */
  readonly cacheBytes?: number | undefined;
  /** How the model writes calls of functions, where its template does not tell: hermes, llama, smollm2. */
  readonly toolStyle?: string | undefined;
  /** Everything random follows from it. Default: another one each time. */
  readonly seed?: number | undefined;
}

export interface ServeOptions
  extends ServedModelOptions,
    Pick<GatewayServerOptions, "host" | "port" | "allowedHosts"> {
  /** Clients must bring one of these. Default: none is needed. */
  readonly apiKeys?: readonly string[] | undefined;
  /** By which clients name the model. Default: its folder's name. */
  readonly name?: string | undefined;
  /** Sessions are stored in this folder when they end, as episodes. Default: they are forgotten. */
  readonly record?: string | undefined;
  /** Tokens of a reply at most, seconds for one, and replies at once. Default: what there is room for, 600, 512. */
  readonly replyTokens?: number | undefined;
  readonly replySeconds?: number | undefined;
  readonly maximumReplies?: number | undefined;
  /** Seconds after which a session that nobody asks ends. Default 3600. */
  readonly idleSeconds?: number | undefined;
}

export interface ServedModel {
  /** http://address:port; clients want /v1 behind it. */
  readonly url: string;
  readonly port: number;
  /** By which clients name the model. */
  readonly name: string;
  /** Ends sessions, stores them where they are to be stored, and gives back what the model holds. */
  close(): Promise<void>;
}

/** The model of a folder, ready to be asked. */
export interface OpenModel {
  readonly folder: string;
  readonly model: Model;
  readonly chat: Chat;
  readonly gateway: Gateway;
  close(): Promise<void>;
}

export async function openModel(
  options: ServedModelOptions &
    Partial<
      Pick<ServeOptions, "name" | "replyTokens" | "replySeconds" | "maximumReplies" | "idleSeconds">
    >,
  onSessionEnd?: (
    session: Parameters<NonNullable<ConstructorParameters<typeof Gateway>[0]["onSessionEnd"]>>[0],
  ) => void,
): Promise<OpenModel> {
  const { toolStyle, dtype = "float32", quantization, cacheBytes, seed } = options;
  if (toolStyle !== undefined && !TOOL_STYLES.includes(toolStyle))
    throw new OptionError(
      `there is no style of calls "${toolStyle}"; there are ${TOOL_STYLES.join(", ")}`,
    );
  const place = await fetchedModel(options.model, audienceOf(options), options.signal);
  const folder = policyIn(place);
  const chat = loadChat(folder);
  const model = loadModel(folder, { dtype });
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  const engineOptions: EngineOptions = {
    tokenizer: chat.tokenizer,
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(quantization && { quantization }),
  };
  const engine = createEngine(model, engineOptions);
  const gateway = new Gateway({
    ...{ generator: engine, chat, toolStyle, seed, onSessionEnd },
    contextLength: model.config.maximumPositions,
    model: options.name ?? nameOf(options.model),
    replyTokens: options.replyTokens,
    replySeconds: options.replySeconds,
    maximumReplies: options.maximumReplies,
    idleSeconds: options.idleSeconds,
  });
  return {
    ...{ folder, model, chat, gateway },
    async close() {
      gateway.close();
      await engine.close();
      model.dispose();
    },
  };
}

/** The last part of a path, or of a name on the Hub. */
function nameOf(place: string): string {
  return (
    place
      .replace(/[/\\]+$/, "")
      .split(/[/\\]/)
      .at(-1)
      ?.split("@")[0] || "model"
  );
}

/** Serves a model until it is closed. */
export async function serve(options: ServeOptions): Promise<ServedModel> {
  const { host, port, allowedHosts, apiKeys = [], record } = options;
  const audience = audienceOf(options);
  let store: TrajectoryStore | undefined;
  let lock: HeldLock | undefined;
  let stored = 0;
  const begun = Date.now().toString(36);
  const opened = await openModel(options, (session) => {
    if (!store || session.turns().length === 0) return;
    const id = `${begun}:${session.id}#${stored++}`;
    try {
      store.append(sessionTrajectory(session, opened.chat, { id, name: session.id }));
      store.flush();
    } catch (error) {
      // Whoever asks the model is answered all the same.
      const { message } = diskSentence(error, "sessions that end after that are recorded") as Error;
      audience.say(`the session ${session.id} is not recorded: ${message}`);
    }
  });
  const forget = () => {
    store?.close();
    lock?.release();
  };
  try {
    if (record !== undefined) {
      // Two that write to one file would take each other's half lines for torn ones.
      makeFolder(record);
      lock = takeLock(record);
      store = openTrajectoryStore(join(record, "trajectories"));
    }
    const server = await serveGateway(opened.gateway, {
      ...{ host, port, allowedHosts, keys: apiKeys },
      say: (sentence) => audience.say(sentence),
      ...(options.replySeconds !== undefined && { answerSeconds: options.replySeconds + 60 }),
    });
    return {
      url: server.url,
      port: server.port,
      name: opened.gateway.model,
      async close() {
        await server.close();
        await opened.close();
        forget();
      },
    };
  } catch (error) {
    await opened.close();
    forget();
    throw error;
  }
}
