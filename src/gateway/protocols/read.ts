/**
 * @file What protocols read alike: a body checked field by field, texts in their many forms, functions, and how a
 * reply is drawn.
 */
import { z } from "zod";
import type { Json, ToolDefinition } from "../../environments/index.ts";
import type { ReplySampling } from "../conversation/asked.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";

/** The body of a request, as `schema` wants it; what is wrong is said with the field's name. */
export async function readBody<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
): Promise<z.output<Schema>> {
  let value: unknown;
  try {
    value = await request.json();
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    throw new GatewayError("invalid_request", `the body is no JSON: ${(error as Error).message}`);
  }
  let result: z.ZodSafeParseResult<z.output<Schema>>;
  try {
    result = schema.safeParse(value);
  } catch {
    // Nested as deeply as no request is.
    throw new GatewayError("invalid_request", "the body is nested too deeply.");
  }
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const field = issue.path.join(".").slice(0, 100);
  throw new GatewayError("invalid_request", `${field || "the body"}: ${issue.message}`, { field });
}

/** JSON Schema of a function's arguments. It is written into prompts, so it must be possible to write it. */
const parameters = z.custom<{ readonly [key: string]: Json }>((value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  try {
    return JSON.stringify(value).length <= 200_000;
  } catch {
    return false;
  }
}, "expected an object of JSON Schema, of 200,000 characters at most");

const functionName = z.string().regex(/^[\w.:/-]{1,128}$/, "expected a function's name");
const functionParts = {
  name: functionName,
  description: z.string().nullish(),
  parameters: parameters.nullish(),
};

export const functionSchema = z.object(functionParts);
/** A list of functions is written into a prompt. */
export const MOST_TOOLS = 256;

export function toolOf(given: z.output<typeof functionSchema>): ToolDefinition {
  const { name, description, parameters: schema } = given;
  return {
    name,
    description: description ?? "",
    parameters: schema ?? { type: "object", properties: {} },
  };
}

export const parametersSchema = parameters;
export const nameSchema = functionName;

/** A text, or parts that are texts. */
export const textParts = z.union([
  z.string(),
  z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().nullish(),
      refusal: z.string().nullish(),
    }),
  ),
]);

export function textIn(
  content: z.output<typeof textParts> | null | undefined,
  field: string,
): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content
    .map(({ type, text, refusal }) => {
      const known = text ?? refusal;
      if (known != null) return known;
      throw new GatewayError("invalid_request", `${field}: the model reads text, not ${type}.`, {
        field,
      });
    })
    .join("");
}

const number = (least: number, most: number) => z.number().min(least).max(most).nullish();

/** How a reply is drawn, in OpenAI's words and vLLM's. */
export const samplingFields = {
  temperature: number(0, 100),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.number().int().min(-1).max(1_000_000).nullish(),
  min_p: number(0, 1),
  repetition_penalty: z.number().gt(0).max(100).nullish(),
  min_tokens: z.number().int().min(0).max(1_000_000).nullish(),
  frequency_penalty: number(-2, 2),
  presence_penalty: number(-2, 2),
  logit_bias: z.record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100)).nullish(),
  stop: z
    .union([z.string().min(1).max(1000), z.array(z.string().min(1).max(1000)).max(16)])
    .nullish(),
  seed: z.number().int().nullish(),
};

type SamplingFields = {
  [Key in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Key]>;
};

export function samplingOf(
  given: SamplingFields,
  maximumTokens: number | null | undefined,
): ReplySampling {
  for (const field of ["frequency_penalty", "presence_penalty"] as const)
    if (given[field])
      throw new GatewayError(
        "invalid_request",
        `${field}: the engine has no such penalty; leave it out, or use repetition_penalty.`,
        { field },
      );
  const { temperature, top_p, top_k, min_p, repetition_penalty, min_tokens, logit_bias, stop } =
    given;
  return {
    ...(temperature != null && { temperature }),
    ...(top_p != null && { topP: top_p }),
    ...(top_k != null && top_k > 0 && { topK: top_k }),
    ...(min_p != null && { minP: min_p }),
    ...(repetition_penalty != null && { repetitionPenalty: repetition_penalty }),
    ...(min_tokens != null && { minimumTokens: min_tokens }),
    ...(logit_bias != null && {
      // OpenAI's -100 means never.
      bias: new Map(
        Object.entries(logit_bias).map(([id, bias]) => [
          Number(id),
          bias <= -100 ? -Infinity : bias,
        ]),
      ),
    }),
    ...(stop != null && { stopStrings: typeof stop === "string" ? [stop] : stop }),
    ...(maximumTokens != null && { maximumTokens }),
  };
}

/** What a client says of functions: any or none, some, this one. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** Which functions are shown, whether calls are read, and what the reply must be. */
export function toolWish(
  gateway: Gateway,
  tools: readonly ToolDefinition[],
  choice: ToolChoice,
): { readonly readsCalls: boolean; readonly sampling: ReplySampling } {
  if (choice === "auto") return { readsCalls: tools.length > 0, sampling: {} };
  if (choice === "none") return { readsCalls: false, sampling: {} };
  const wanted = choice === "required" ? tools : tools.filter(({ name }) => name === choice.name);
  if (wanted.length === 0)
    throw new GatewayError(
      "invalid_request",
      "tool_choice: a call is wanted, and there is no such function.",
      { field: "tool_choice" },
    );
  const { style } = gateway.templates;
  return {
    readsCalls: true,
    sampling: { constraint: gateway.wishes.constraint({ kind: "call", tools: wanted, style }) },
  };
}

/** A value of a schema, or any object; undefined: any text. */
export const formatSchema = z.looseObject({
  type: z.enum(["text", "json_object", "json_schema"]),
  schema: z.json().optional(),
  json_schema: z.looseObject({ schema: z.json().optional() }).optional(),
});

export function formatWish(
  gateway: Gateway,
  format: z.output<typeof formatSchema> | null | undefined,
  field: string,
): ReplySampling {
  if (!format || format.type === "text") return {};
  if (format.type === "json_object")
    return { constraint: gateway.wishes.constraint({ kind: "object" }) };
  const schema = format.json_schema?.schema ?? format.schema;
  if (schema === undefined)
    throw new GatewayError("invalid_request", `${field}: a json_schema needs its schema.`, {
      field,
    });
  return {
    constraint: gateway.wishes.constraint({ kind: "schema", schema: schema as Json, field }),
  };
}

/** Tokens of a reply that a client may ask for. */
export const tokenCount = z.number().int().min(1).max(10_000_000);

export function newId(kind: string): string {
  return `${kind}${crypto.randomUUID().replaceAll("-", "")}`;
}
