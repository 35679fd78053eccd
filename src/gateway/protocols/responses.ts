/**
 * @file OpenAI's /v1/responses, as far as agents use it: texts, functions and their outputs, schemas, streams. What a
 * server would have to remember (previous_response_id, conversations, files) is refused: clients send the whole input.
 */
import { z } from "zod";
import type { GivenReply, ReplyAsk } from "../conversation/asked.ts";
import type { GatewayMessage, ToolCall } from "../conversation/messages.ts";
import type { Session } from "../conversation/session.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { type EventStream, streamed } from "./events.ts";
import {
  formatSchema,
  formatWish,
  MOST_TOOLS,
  nameSchema,
  newId,
  parametersSchema,
  readBody,
  samplingFields,
  samplingOf,
  textIn,
  textParts,
  tokenCount,
  toolOf,
  toolWish,
} from "./read.ts";
import { openaiError } from "./refusal.ts";

const itemSchema = z.looseObject({
  type: z.string().optional(),
  role: z.enum(["system", "developer", "user", "assistant"]).optional(),
  content: textParts.nullish(),
  call_id: z.string().max(200).optional(),
  name: z.string().max(200).optional(),
  arguments: z.string().optional(),
  output: textParts.optional(),
});

const bodySchema = z.looseObject({
  model: z.string().max(500).optional(),
  input: z.union([z.string(), z.array(itemSchema).min(1).max(10_000)]),
  instructions: z.string().nullish(),
  previous_response_id: z.null().optional(),
  tools: z
    .array(
      z.looseObject({
        type: z.string(),
        name: nameSchema.optional(),
        description: z.string().nullish(),
        parameters: parametersSchema.nullish(),
      }),
    )
    .max(MOST_TOOLS)
    .nullish(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.looseObject({ type: z.literal("function"), name: nameSchema }),
    ])
    .nullish(),
  text: z.looseObject({ format: formatSchema.nullish() }).nullish(),
  max_output_tokens: tokenCount.nullish(),
  stream: z.boolean().nullish(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
});

type Body = z.output<typeof bodySchema>;

export async function responses(
  gateway: Gateway,
  session: Session | undefined,
  request: Request,
): Promise<Response> {
  const body = await readBody(request, bodySchema);
  const other = body.tools?.find(({ type }) => type !== "function");
  if (other)
    throw new GatewayError(
      "invalid_request",
      `tools: there is no ${other.type.slice(0, 40)} here; functions can be offered.`,
      { field: "tools" },
    );
  const messages = messagesOf(body);
  if (messages.at(-1)?.role === "assistant" || messages.length === 0)
    throw new GatewayError("invalid_request", "input: the last item is the assistant's.", {
      field: "input",
    });
  const tools = (body.tools ?? []).map(({ name, description, parameters }) =>
    toolOf({ name: name ?? "", description, parameters }),
  );
  const choice = body.tool_choice ?? "auto";
  const wish = toolWish(gateway, tools, choice);
  const ask: ReplyAsk = {
    messages,
    tools,
    readsCalls: wish.readsCalls,
    sampling: {
      ...samplingOf(body, body.max_output_tokens),
      ...formatWish(gateway, body.text?.format, "text.format"),
      ...wish.sampling,
    },
    signal: request.signal,
  };
  const made = { id: newId("resp_"), created_at: Math.floor(Date.now() / 1000) };
  if (body.stream)
    return streamed(
      request.signal,
      (stream) => sendEvents(gateway, session, body, ask, made, stream),
      (error) => ({
        event: "error",
        data: { type: "error", ...(openaiError(error).body as object) },
      }),
    );
  const reply = await gateway.reply(session, ask);
  return Response.json(responseOf(gateway, body, made, reply, itemsOf(reply)));
}

function messagesOf({ input, instructions }: Body): GatewayMessage[] {
  const first: GatewayMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
  if (typeof input === "string") return [...first, { role: "user", content: input }];
  const messages: GatewayMessage[] = [...first];
  for (const [i, item] of input.entries()) {
    const field = `input.${i}`;
    if (item.type === "function_call") {
      const call = {
        id: item.call_id ?? "",
        name: item.name ?? "",
        arguments: item.arguments ?? "{}",
      };
      const last = messages.at(-1);
      // Calls are items of their own; of one reply they are one message.
      if (last?.role === "assistant")
        messages[messages.length - 1] = { ...last, calls: [...(last.calls ?? []), call] };
      else messages.push({ role: "assistant", content: "", calls: [call] });
    } else if (item.type === "function_call_output")
      messages.push({ role: "tool", content: textIn(item.output, field), callId: item.call_id });
    else if (item.role !== undefined)
      messages.push({
        role: item.role === "developer" ? "system" : item.role,
        content: textIn(item.content, field),
      });
    else if (item.type !== "reasoning")
      throw new GatewayError(
        "invalid_request",
        `${field}: there is no ${item.type ?? "such item"} here.`,
        {
          field,
        },
      );
  }
  return messages;
}

interface Item {
  readonly id: string;
  readonly type: "message" | "function_call";
  readonly [key: string]: unknown;
}

function messageItem(id: string, text: string, status: string): Item {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  return { id, type: "message", role: "assistant", status, content };
}

function callItem(
  id: string,
  { id: call_id, name, arguments: given }: ToolCall,
  status: string,
): Item {
  return { id, type: "function_call", call_id, name, arguments: given, status };
}

function itemsOf({ content, calls }: GivenReply): Item[] {
  return [
    ...(content !== "" || calls.length === 0
      ? [messageItem(newId("msg_"), content, "completed")]
      : []),
    ...calls.map((call) => callItem(newId("fc_"), call, "completed")),
  ];
}

function responseOf(
  gateway: Gateway,
  body: Body,
  made: { id: string; created_at: number },
  reply: GivenReply | undefined,
  output: readonly Item[],
) {
  const isWhole = !reply || reply.finish === "stop" || reply.calls.length > 0;
  return {
    ...made,
    object: "response",
    model: gateway.model,
    status: reply ? (isWhole ? "completed" : "incomplete") : "in_progress",
    incomplete_details: isWhole ? null : { reason: "max_output_tokens" },
    error: null,
    instructions: body.instructions ?? null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    output,
    usage: reply
      ? {
          input_tokens: reply.promptIds.length,
          input_tokens_details: { cached_tokens: reply.completion.cachedTokens },
          output_tokens: reply.completion.ids.length,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: reply.promptIds.length + reply.completion.ids.length,
        }
      : null,
  };
}

async function sendEvents(
  gateway: Gateway,
  session: Session | undefined,
  body: Body,
  ask: ReplyAsk,
  made: { id: string; created_at: number },
  { signal, send }: EventStream,
): Promise<void> {
  let sequence_number = 0;
  const say = (type: string, data: object) =>
    send({ event: type, data: { type, sequence_number: sequence_number++, ...data } });
  const output: Item[] = [];
  let open: { id: string; text: string } | undefined;
  let begun = false;
  const begin = () => {
    if (begun) return;
    begun = true;
    const response = responseOf(gateway, body, made, undefined, []);
    say("response.created", { response });
    say("response.in_progress", { response });
  };
  const endText = () => {
    if (!open) return;
    const { id, text } = open;
    const place = { item_id: id, output_index: output.length, content_index: 0 };
    const item = messageItem(id, text, "completed");
    say("response.output_text.done", { ...place, text, logprobs: [] });
    say("response.content_part.done", { ...place, part: (item.content as object[])[0] });
    say("response.output_item.done", { output_index: output.length, item });
    output.push(item);
    open = undefined;
  };
  const addText = (delta: string) => {
    if (!open) {
      open = { id: newId("msg_"), text: "" };
      const item = { ...messageItem(open.id, "", "in_progress"), content: [] };
      say("response.output_item.added", { output_index: output.length, item });
      say("response.content_part.added", {
        ...{ item_id: open.id, output_index: output.length, content_index: 0 },
        part: { type: "output_text", text: "", annotations: [], logprobs: [] },
      });
    }
    open.text += delta;
    const place = { item_id: open.id, output_index: output.length, content_index: 0 };
    say("response.output_text.delta", { ...place, delta, logprobs: [] });
  };
  const reply = await gateway.reply(session, {
    ...ask,
    signal,
    onPiece({ text, calls }) {
      begin();
      if (text !== "") addText(text);
      for (const call of calls) {
        endText();
        const id = newId("fc_");
        const output_index = output.length;
        const item = callItem(id, { ...call, arguments: "" }, "in_progress");
        say("response.output_item.added", { output_index, item });
        const whole = { item_id: id, output_index };
        say("response.function_call_arguments.delta", { ...whole, delta: call.arguments });
        say("response.function_call_arguments.done", {
          ...{ ...whole, name: call.name, arguments: call.arguments },
        });
        const done = callItem(id, call, "completed");
        say("response.output_item.done", { output_index, item: done });
        output.push(done);
      }
    },
  });
  begin();
  if (reply.content === "" && reply.calls.length === 0) addText("");
  endText();
  const response = responseOf(gateway, body, made, reply, output);
  say(response.status === "incomplete" ? "response.incomplete" : "response.completed", {
    response,
  });
}
