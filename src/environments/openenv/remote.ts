/**
 * @file A server that speaks OpenEnv: what it says about itself, and sessions at it.
 */
import {
  type Conversation,
  ExchangeError,
  exchange,
  oneLine,
  openSocket,
  shown,
} from "../../network/index.ts";
import { EnvironmentError, type Json, type ToolDefinition } from "../environment.ts";
import { answer, type Outcome, outcome, schema, tools } from "./messages.ts";

export interface Line {
  /** http://…, without a slash at its end. */
  readonly base: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly key: string | undefined;
}

const LARGEST = 16 * 2 ** 20;

const headersOf = ({ key }: Line): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

function failed(line: Line, what: string, error?: unknown): EnvironmentError {
  return new EnvironmentError("openenv", `${line.base}: ${what}.`, { cause: error });
}

/** How actions are sent: as a text in this field, or as calls of tools. */
export type ActionForm = { readonly field: string } | { readonly tools: readonly ToolDefinition[] };

/** Fields that texts of actions are in, where there are several texts. */
const FIELDS = ["text", "message", "action", "command", "code", "content", "input", "answer"];

export async function actionForm(line: Line, field: string | undefined): Promise<ActionForm> {
  if (field !== undefined) return { field };
  const found = await schemaOf(line);
  const { properties, required } = found.action;
  if ("tool_name" in properties || !Object.keys(properties).some((name) => name !== "metadata"))
    return { tools: await toolsOf(line) };
  const texts = Object.keys(properties).filter((name) => properties[name]!.type === "string");
  const wanted = texts.filter((name) => required.includes(name));
  const one = wanted.length === 1 ? wanted[0] : FIELDS.find((name) => texts.includes(name));
  if (one !== undefined) return { field: one };
  throw failed(
    line,
    `its actions have the fields ${Object.keys(properties).join(", ")}, and none is surely the text; say which with field=NAME`,
  );
}

async function schemaOf(line: Line) {
  const text = await exchange(
    {
      ...{ url: `${line.base}/schema`, headers: headersOf(line) },
      limits: { time: line.timeout, size: LARGEST },
    },
    async (reply) => {
      if (reply.ok) return reply.text();
      throw failed(
        line,
        `GET /schema was answered with status ${reply.status}; is it an OpenEnv server?`,
      );
    },
  ).catch((error: unknown) => {
    if (error instanceof ExchangeError) throw failed(line, oneLine(error.message, 300), error);
    throw error;
  });
  const read = schema.safeParse(parsed(line, text));
  if (read.success) return read.data;
  throw failed(line, `GET /schema was answered with ${shown(parsed(line, text))}`);
}

async function toolsOf(line: Line): Promise<readonly ToolDefinition[]> {
  const session = await openSession(line);
  try {
    const { observation } = await session.ask("step", { type: "list_tools" });
    const read = tools.safeParse(observation.tools);
    if (!read.success) throw failed(line, `list_tools was answered with ${shown(observation)}`);
    return read.data.slice(0, 1000).map(({ name, description, input_schema }) => ({
      ...{ name, description: description ?? "" },
      parameters: (input_schema ?? { type: "object" }) as { readonly [key: string]: Json },
    }));
  } finally {
    session.close();
  }
}

function parsed(line: Line, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw failed(line, `it answered with what is no JSON: ${oneLine(text, 100)}`);
  }
}

export interface RemoteSession {
  ask(type: "reset" | "step", data: Readonly<Record<string, unknown>>): Promise<Outcome>;
  readonly isOpen: boolean;
  close(): void;
}

export async function openSession(line: Line, signal?: AbortSignal): Promise<RemoteSession> {
  let socket: Conversation;
  try {
    socket = await openSocket({
      ...{ url: `${line.base.replace(/^http/, "ws")}/ws`, headers: headersOf(line), signal },
      limits: { time: line.timeout, size: LARGEST },
    });
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    throw failed(line, `no session could be opened: ${oneLine(error.message, 300)}`, error);
  }
  return {
    async ask(type, data) {
      let text: string;
      try {
        text = await socket.ask(JSON.stringify({ type, data }));
      } catch (error) {
        if (!(error instanceof ExchangeError)) throw error;
        throw failed(line, `${type} was not answered: ${oneLine(error.message, 300)}`, error);
      }
      const said = parsed(line, text);
      const read = answer.safeParse(said);
      if (!read.success) throw failed(line, `${type} was answered with ${shown(said)}`);
      if (read.data.type === "error")
        throw failed(line, `${type} was refused: ${oneLine(String(read.data.data.message), 500)}`);
      const came = outcome.safeParse(read.data.data);
      if (came.success) return came.data;
      throw failed(line, `${type} was answered with ${shown(read.data)}`);
    },
    get isOpen() {
      return socket.isOpen;
    },
    close: () => socket.close(JSON.stringify({ type: "close" })),
  };
}
