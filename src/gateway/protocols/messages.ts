/**
 * @file Anthropic's /v1/messages: a request into the gateway's form, and a reply out of it, whole or as events.
 */
import { z } from "zod";
import type { GivenReply, ReplyAsk } from "../conversation/asked.ts";
import type { GatewayMessage } from "../conversation/messages.ts";
import type { Session } from "../conversation/session.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { type EventStream, streamed } from "./events.ts";
import {
  MOST_TOOLS,
  nameSchema,
  newId,
  parametersSchema,
  readBody,
  samplingFields,
  samplingOf,
  type ToolChoice,
  textIn,
  textParts,
  tokenCount,
  toolOf,
  toolWish,
} from "./read.ts";
import { anthropicError } from "./refusal.ts";

const blockSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  id: z.string().max(200).optional(),
  name: z.string().max(200).optional(),
  input: z.json().optional(),
  tool_use_id: z.string().max(200).optional(),
  content: textParts.nullish(),
});

const bodySchema = z.looseObject({
  model: z.string().max(500).optional(),
  max_tokens: tokenCount,
  system: textParts.nullish(),
  messages: z
    .array(
      z.looseObject({
        role: z.enum(["user", "assistant", "system"]),
        content: z.union([z.string(), z.array(blockSchema).max(10_000)]),
      }),
    )
    .min(1)
    .max(10_000),
  tools: z
    .array(
      z.looseObject({
        name: nameSchema,
        description: z.string().nullish(),
        input_schema: parametersSchema.nullish(),
      }),
    )
    .max(MOST_TOOLS)
    .nullish(),
  tool_choice: z
    .looseObject({ type: z.enum(["auto", "any", "tool", "none"]), name: nameSchema.optional() })
    .nullish(),
  stop_sequences: z.array(z.string().min(1).max(1000)).max(16).nullish(),
  stream: z.boolean().nullish(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  top_k: samplingFields.top_k,
});

type Body = z.output<typeof bodySchema>;
const countSchema = bodySchema.omit({ max_tokens: true });

export async function anthropicMessages(
  gateway: Gateway,
  session: Session | undefined,
  request: Request,
): Promise<Response> {
  const body = await readBody(request, bodySchema);
  const messages = messagesOf(body);
  if (messages.at(-1)!.role === "assistant")
    throw new GatewayError(
      "invalid_request",
      "messages: the last one is the assistant's; a reply answers somebody else.",
    );
  const tools = toolsOf(body);
  const wish = toolWish(gateway, tools, choiceOf(body));
  const ask: ReplyAsk = {
    messages,
    tools,
    readsCalls: wish.readsCalls,
    sampling: {
      ...samplingOf({ ...body, stop: body.stop_sequences }, body.max_tokens),
      ...wish.sampling,
    },
    signal: request.signal,
  };
  const id = newId("msg_");
  if (body.stream)
    return streamed(
      request.signal,
      (stream) => sendEvents(gateway, session, ask, id, stream),
      (error) => ({ event: "error", data: anthropicError(error).body }),
    );
  const reply = await gateway.reply(session, ask);
  return Response.json({
    ...messageOf(gateway, id),
    content: [
      ...(reply.content === "" ? [] : [{ type: "text", text: reply.content }]),
      ...reply.calls.map((call) => ({
        ...{ type: "tool_use", id: call.id, name: call.name, input: JSON.parse(call.arguments) },
      })),
    ],
    ...endOf(reply),
    usage: usageOf(reply),
  });
}

/** How many tokens the messages are. */
export async function countTokens(gateway: Gateway, request: Request): Promise<Response> {
  const body = await readBody(request, countSchema);
  const tools = toolsOf(body);
  const messages = gateway.templates.messagesFor(messagesOf(body), tools);
  try {
    const ids = gateway.templates.chatFor(tools).promptIds(messages);
    return Response.json({ input_tokens: ids.length });
  } catch (error) {
    throw new GatewayError("invalid_request", (error as Error).message, { field: "messages" });
  }
}

function toolsOf({ tools }: Pick<Body, "tools">) {
  return (tools ?? []).map(({ name, description, input_schema }) =>
    toolOf({ name, description, parameters: input_schema }),
  );
}

function choiceOf({ tool_choice: choice }: Body): ToolChoice {
  if (!choice || choice.type === "auto") return "auto";
  if (choice.type === "none") return "none";
  return choice.type === "any" ? "required" : { name: choice.name ?? "" };
}

/** Blocks of one message may be several messages of ours: a tool's answers come in a user's. */
function messagesOf({ system, messages }: Pick<Body, "system" | "messages">): GatewayMessage[] {
  const told = textIn(system, "system");
  const first: GatewayMessage[] = told === "" ? [] : [{ role: "system", content: told }];
  return [
    ...first,
    ...messages.flatMap(({ role, content }, i): GatewayMessage[] => {
      if (typeof content === "string") return [{ role, content }];
      const field = `messages.${i}.content`;
      const answers = content
        .filter(({ type }) => type === "tool_result")
        .map(
          ({ tool_use_id, content: said }): GatewayMessage => ({
            role: "tool",
            content: textIn(said, field),
            callId: tool_use_id,
          }),
        );
      const calls = content
        .filter(({ type }) => type === "tool_use")
        .map(({ id = "", name = "", input }) => ({
          ...{ id, name, arguments: JSON.stringify(input ?? {}) },
        }));
      const texts = content.filter(({ type }) => !["tool_result", "tool_use"].includes(type));
      const text = textIn(
        texts.map(({ type, text: said, thinking }) => ({ type, text: said ?? thinking })),
        field,
      );
      const own: GatewayMessage = { role, content: text, ...(calls.length > 0 && { calls }) };
      return [
        ...answers,
        ...(text === "" && calls.length === 0 && answers.length > 0 ? [] : [own]),
      ];
    }),
  ];
}

function messageOf(gateway: Gateway, id: string) {
  return { id, type: "message", role: "assistant", model: gateway.model };
}

function endOf({ calls, finish, stop }: GivenReply) {
  if (calls.length > 0) return { stop_reason: "tool_use", stop_sequence: null };
  if (stop !== null) return { stop_reason: "stop_sequence", stop_sequence: stop };
  return { stop_reason: finish === "stop" ? "end_turn" : "max_tokens", stop_sequence: null };
}

function usageOf({ promptIds, completion }: GivenReply) {
  return {
    input_tokens: promptIds.length - completion.cachedTokens,
    cache_read_input_tokens: completion.cachedTokens,
    cache_creation_input_tokens: 0,
    output_tokens: completion.ids.length,
  };
}

async function sendEvents(
  gateway: Gateway,
  session: Session | undefined,
  ask: ReplyAsk,
  id: string,
  { signal, send }: EventStream,
): Promise<void> {
  const say = (type: string, data: object) => send({ event: type, data: { type, ...data } });
  let index = -1;
  let begun = false;
  let isText = false;
  const begin = () => {
    if (begun) return;
    begun = true;
    const usage = { input_tokens: 0, output_tokens: 0 };
    const message = {
      ...messageOf(gateway, id),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    say("message_start", { message });
  };
  const endText = () => {
    if (isText) say("content_block_stop", { index });
    isText = false;
  };
  const reply = await gateway.reply(session, {
    ...ask,
    signal,
    onPiece({ text, calls }) {
      begin();
      if (text !== "") {
        if (!isText)
          say("content_block_start", { index: ++index, content_block: { type: "text", text: "" } });
        isText = true;
        say("content_block_delta", { index, delta: { type: "text_delta", text } });
      }
      for (const call of calls) {
        endText();
        const content_block = { type: "tool_use", id: call.id, name: call.name, input: {} };
        say("content_block_start", { index: ++index, content_block });
        const delta = { type: "input_json_delta", partial_json: call.arguments };
        say("content_block_delta", { index, delta });
        say("content_block_stop", { index });
      }
    },
  });
  begin();
  endText();
  say("message_delta", { delta: endOf(reply), usage: usageOf(reply) });
  say("message_stop", {});
}
