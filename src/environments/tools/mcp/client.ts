/**
 * @file Tools of a server of the Model Context Protocol. A server that is lost is started, or asked,
 * anew at the next call; what goes wrong meanwhile is told to the agent.
 */
import { EnvironmentError, type Json } from "../../environment.ts";
import { cut, type Tool, type ToolArguments } from "../tool.ts";
import { httpServer } from "./http.ts";
import { PROTOCOL_VERSION, type Transport } from "./message.ts";
import { startServer } from "./stdio.ts";

export interface McpLimits {
  /** Milliseconds to start and list tools, and for one call. */
  readonly start: number;
  readonly call: number;
}

const LIMITS: McpLimits = { start: 30_000, call: 60_000 };
const MOST_PAGES = 100;
const MOST_TOOLS = 1000;
/** Characters: what a tool says about itself goes into every prompt. */
const LONGEST_DESCRIPTION = 10_000;
const LONGEST_SCHEMA = 100_000;
const LONGEST_LIST = 1_000_000;

/** `server` is an address (http://…) or a command line. */
export async function mcpTools(server: string, limits: Partial<McpLimits> = {}): Promise<Tool[]> {
  const { start, call } = { ...LIMITS, ...limits };
  const connection = new Connection(server, start);
  try {
    const listed = await connection.tools();
    return listed.map((tool, index) => ({
      ...tool,
      execute: async (given: ToolArguments, signal?: AbortSignal) =>
        connection.call(tool.name, given, call, signal),
      // One of them closes for all.
      ...(index === 0 && { close: () => connection.close() }),
    }));
  } catch (error) {
    connection.close();
    throw new EnvironmentError(
      "tools",
      `the MCP server "${server}" offers no tools: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

class Connection {
  readonly #server: string;
  readonly #startTime: number;
  #transport: Promise<Transport> | undefined;
  #nextId = 1;
  #isClosed = false;

  constructor(server: string, startTime: number) {
    this.#server = server;
    this.#startTime = startTime;
  }

  async tools(): Promise<Definition[]> {
    const transport = await this.#open();
    const tools: Definition[] = [];
    let cursor: unknown;
    let length = 0;
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = typeof cursor === "string" ? { cursor } : {};
      const result = await this.#request(transport, "tools/list", params, this.#startTime);
      const { tools: listed, nextCursor } = fieldsOf(result);
      if (!Array.isArray(listed)) throw new Error('its answer to tools/list has no list "tools"');
      if (tools.length + listed.length > MOST_TOOLS)
        throw new Error(`it lists more than ${MOST_TOOLS} tools`);
      for (const tool of listed.map(toolOf)) {
        length += tool.length;
        if (length > LONGEST_LIST)
          throw new Error(`it describes its tools with more than ${LONGEST_LIST} characters`);
        tools.push(tool.definition);
      }
      if (nextCursor === undefined || nextCursor === null) {
        if (tools.length === 0) throw new Error("its list of tools is empty");
        return tools;
      }
      cursor = nextCursor;
    }
    throw new Error(`its list of tools has more than ${MOST_PAGES} pages`);
  }

  async call(
    name: string,
    given: ToolArguments,
    time: number,
    signal?: AbortSignal,
  ): Promise<string> {
    const transport = await this.#open();
    const params = { name, arguments: given };
    const result = await this.#request(transport, "tools/call", params, time, signal);
    const { content, isError, structuredContent } = fieldsOf(result);
    const parts = Array.isArray(content) ? content.map(contentText) : [];
    if (parts.length === 0 && structuredContent !== undefined)
      parts.push(JSON.stringify(structuredContent));
    const text = parts.join("\n");
    if (isError === true) throw new Error(text || "it gave no reason");
    return text === "" ? "(an empty answer)" : text;
  }

  close(): void {
    this.#isClosed = true;
    this.#transport?.then((transport) => transport.close()).catch(() => {});
  }

  /** The open connection; a new one where there is none, or the last was lost. */
  async #open(): Promise<Transport> {
    if (this.#isClosed) throw new Error("the connection was closed");
    const before = this.#transport;
    const known = await before?.catch(() => undefined);
    // Of several calls that find it lost, the first connects again.
    if (!known?.isOpen && this.#transport === before) this.#transport = this.#connect();
    return this.#transport!;
  }

  async #connect(): Promise<Transport> {
    const transport = transportOf(this.#server);
    try {
      const params = {
        protocolVersion: PROTOCOL_VERSION,
        capabilities: {},
        clientInfo: { name: "openmanus-rl", version: "0.1.0" },
      };
      await this.#request(transport, "initialize", params, this.#startTime);
      await transport.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
      return transport;
    } catch (error) {
      transport.close();
      throw error;
    }
  }

  async #request(
    transport: Transport,
    method: string,
    params: Readonly<Record<string, unknown>>,
    time: number,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const clock = AbortSignal.timeout(time);
    const stop = signal ? AbortSignal.any([clock, signal]) : clock;
    try {
      const id = this.#nextId++;
      return await transport.request({ jsonrpc: "2.0", id, method, params }, stop);
    } catch (error) {
      if (clock.aborted && !signal?.aborted)
        throw new Error(`the server did not answer within ${time / 1000} s`);
      throw error;
    }
  }
}

function transportOf(server: string): Transport {
  if (/^https?:\/\//i.test(server)) return httpServer(server);
  // Words, with quotes around those that have spaces.
  const words = [...server.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain!,
  );
  const [command, ...rest] = words;
  if (command === undefined) throw new Error("it is neither an address nor a command");
  return startServer(command, rest);
}

type Definition = Pick<Tool, "name" | "description" | "parameters">;

function toolOf(listed: unknown): { definition: Definition; length: number } {
  const { name, description, inputSchema } = fieldsOf(listed);
  if (typeof name !== "string" || !/^[\w./-]{1,200}$/.test(name))
    throw new Error(`it lists a tool whose name is ${JSON.stringify(name)?.slice(0, 60)}`);
  const parameters = { type: "object", ...(fieldsOf(inputSchema) as Record<string, Json>) };
  const length = jsonLength(parameters);
  if (length > LONGEST_SCHEMA)
    throw new Error(
      `it describes the arguments of ${name} with more than ${LONGEST_SCHEMA} characters`,
    );
  const about = typeof description === "string" ? cut(description, LONGEST_DESCRIPTION) : "";
  return {
    definition: { name, description: about, parameters },
    length: length + about.length,
  };
}

/** JSON can be read at any depth, and written only as deep as the stack goes. */
function jsonLength(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function contentText(part: unknown): string {
  const { type, text, mimeType, resource } = fieldsOf(part);
  if (type === "text" && typeof text === "string") return text;
  const inside = fieldsOf(resource);
  if (typeof inside.text === "string") return inside.text;
  return `(${String(type)}${typeof mimeType === "string" ? `, ${mimeType}` : ""}: cannot be shown)`;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
