/**
 * @file One connection of an OpenEnv server: an environment of its own, asked in OpenEnv's messages.
 */

import type { HostedEnvironments } from "../../agentgym/server/hosted.ts";
import { Refusal } from "../../agentgym/server/hosted.ts";
import type { Observation, StepResult } from "../../environment.ts";
import { messageOf } from "../../foreign/message.ts";
import { type ErrorCode, question } from "../messages.ts";

/** As MCP's tool, for clients that act by calling functions. */
export const ACT = {
  name: "act",
  description: "Acts in the world: any text is an action.",
  input_schema: {
    type: "object",
    properties: { text: { type: "string", description: "the action" } },
    required: ["text"],
  },
} as const;

class Wrong extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export class Session {
  readonly #hosted: HostedEnvironments;
  /** Made when it is first needed: a connection alone costs nothing. */
  #id: number | undefined;
  #steps = 0;
  #episode: string | null = null;
  #isEnded = false;

  constructor(hosted: HostedEnvironments) {
    this.#hosted = hosted;
  }

  async answer(text: string): Promise<string | undefined> {
    try {
      const answer = await this.#answerTo(text);
      return answer && JSON.stringify(answer);
    } catch (error) {
      return JSON.stringify({ type: "error", data: errorOf(error) });
    }
  }

  ended(): void {
    this.#isEnded = true;
    if (this.#id !== undefined) void this.#hosted.close(this.#id).catch(() => {});
    this.#id = undefined;
  }

  async #answerTo(text: string): Promise<object | undefined> {
    let said: unknown;
    try {
      said = JSON.parse(text);
    } catch {
      throw new Wrong("INVALID_JSON", "a message must be JSON.");
    }
    const { success, data: asked } = question.safeParse(said);
    if (!success) {
      const type = (said as { type?: unknown } | null)?.type;
      throw ["reset", "step", "state", "close", "mcp"].includes(String(type))
        ? new Wrong("VALIDATION_ERROR", `"${String(type)}" needs data, an object.`)
        : new Wrong("UNKNOWN_TYPE", "there are reset, step, state, close and mcp.");
    }
    switch (asked.type) {
      case "reset":
        return { type: "observation", data: await this.reset(asked.data) };
      case "step":
        return { type: "observation", data: await this.step(asked.data) };
      case "state":
        return { type: "state", data: this.state() };
      case "mcp":
        return { type: "mcp", data: await this.#mcp(asked.data) };
      case "close":
        return undefined;
    }
  }

  /** `task` is a number of ours; a seed is taken for one, round and round. */
  async reset(data: Readonly<Record<string, unknown>>): Promise<object> {
    const whole = (name: string): number | undefined => {
      const value = data[name];
      if (value === undefined || value === null) return undefined;
      if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
      throw new Wrong("VALIDATION_ERROR", `${name} must be a whole number from 0 on.`);
    };
    const wanted = whole("task") ?? whole("seed");
    if (this.#isEnded) throw new Wrong("SESSION_ERROR", "the session has ended.");
    this.#id ??= this.#hosted.create();
    const { observation, task } = await this.#hosted.reset(this.#id, wanted);
    this.#steps = 0;
    this.#episode = typeof data.episode_id === "string" ? data.episode_id.slice(0, 255) : task.id;
    return {
      observation: { ...shownTo(observation), task_id: task.id },
      reward: null,
      done: false,
    };
  }

  async step(data: Readonly<Record<string, unknown>>): Promise<object> {
    if (data.type === "list_tools")
      return { observation: { tools: [ACT] }, reward: null, done: false };
    if (data.type === "call_tool") return this.#called(data.tool_name, data.arguments);
    return stepped(await this.#act(data.text));
  }

  state(): object {
    return { episode_id: this.#episode, step_count: this.#steps };
  }

  async #act(text: unknown): Promise<StepResult> {
    if (typeof text !== "string")
      throw new Wrong("VALIDATION_ERROR", 'an action is {"text": "…"}; see /schema.');
    if (this.#id === undefined) throw new Wrong("EXECUTION_ERROR", "reset first.");
    const result = await this.#hosted.step(this.#id, text);
    this.#steps++;
    return result;
  }

  async #called(name: unknown, given: unknown): Promise<object> {
    if (name !== ACT.name) {
      const error = { error_type: "tool_not_found", message: `there is only ${ACT.name}.` };
      return { observation: { tool_name: name, result: null, error }, reward: null, done: false };
    }
    const result = await this.#act((given as { text?: unknown } | null | undefined)?.text);
    const { observation, ...rest } = stepped(result);
    return { ...rest, observation: { tool_name: name, error: null, result: observation } };
  }

  /** tools/list and tools/call as JSON-RPC. */
  async #mcp(request: Readonly<Record<string, unknown>>): Promise<object> {
    const reply = (more: object): object => ({ jsonrpc: "2.0", id: request.id ?? null, ...more });
    const params = (request.params ?? {}) as { name?: unknown; arguments?: { text?: unknown } };
    if (request.method === "tools/list")
      return reply({
        result: {
          tools: [{ name: ACT.name, description: ACT.description, inputSchema: ACT.input_schema }],
        },
      });
    if (request.method !== "tools/call" || params.name !== ACT.name)
      return reply({
        error: { code: -32601, message: "there are tools/list, and tools/call of act." },
      });
    const result = await this.#act(params.arguments?.text);
    const structuredContent = stepped(result);
    return reply({
      result: {
        ...{ content: [{ type: "text", text: result.observation.text }], structuredContent },
        isError: false,
      },
    });
  }
}

function shownTo({ text, instruction, admissible }: Observation): Record<string, unknown> {
  return { text, instruction: instruction ?? null, admissible_actions: admissible ?? null };
}

function stepped({ observation, reward, done, won, score }: StepResult) {
  return { observation: { ...shownTo(observation), won, score }, reward, done };
}

function errorOf(error: unknown): { message: string; code: ErrorCode } {
  if (error instanceof Wrong) return { message: error.message, code: error.code };
  const message = messageOf(error);
  const isBusy = error instanceof Refusal && error.busy;
  return { message, code: isBusy ? "CAPACITY_REACHED" : "EXECUTION_ERROR" };
}
