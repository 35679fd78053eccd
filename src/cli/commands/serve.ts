/**
 * @file `openmanus-rl serve MODEL|RUN`: a model as a server that OpenAI's and Anthropic's clients can ask.
 */
import { once } from "node:events";
import { TOOL_STYLES } from "../../gateway/index.ts";
import { QUANTIZATIONS } from "../../generation/index.ts";
import { serve } from "../../library/index.ts";
import { keyAt, NetworkError } from "../../network/index.ts";
import { oneOf, optionsAndWords, UsageError, wholeNumber } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { print, printError } from "../support/print.ts";

export const serveCommand: Command = {
  help: [
    "Usage: openmanus-rl serve MODEL|RUN [options]",
    "",
    "Serves a model's folder, its name on the Hub, or a run's best policy: OpenAI's chat completions, completions",
    "and responses, Anthropic's messages, with streams, functions and JSON schemas. Any model name that a client",
    "sends will do. A call belongs to a session if the client says so: the key KEY:NAME, the header",
    "x-session-id: NAME, or the address URL/s/NAME/v1.",
    "",
    "  --port N           the port (8000); 0: any that is free",
    "  --host ADDRESS     127.0.0.1 unless told otherwise: only this machine",
    "  --allow-host NAME  a further name by which it may be asked; may be given several times",
    "  --api-key PLACE    clients must bring this key: env:NAME or file:PATH; may be given several times",
    "  --name NAME        by which the model is listed (its folder's name)",
    "  --record FOLDER    sessions are stored there as episodes when they end (trajectories list FOLDER)",
    "  --idle N           seconds after which a session that nobody asks ends (3600)",
    "  --reply-tokens N   tokens of a reply at most",
    "  --reply-seconds N  seconds for a reply (600)",
    "  --at-once N        replies that are drawn or wait at once (512)",
    `  --tool-style S     how the model writes calls: ${TOOL_STYLES.join(", ")} (what its template tells)`,
    `  --quantization Q   generates with a copy of the weights in fewer bytes: ${QUANTIZATIONS.join(", ")}`,
    "  --json             one line of JSON when it is ready",
    "",
    "Example: openmanus-rl serve runs/desk --port 8000",
  ].join("\n"),
  async run(given) {
    const { values, words } = optionsAndWords(given, {
      port: { type: "string", default: "8000" },
      host: { type: "string" },
      "allow-host": { type: "string", multiple: true },
      "api-key": { type: "string", multiple: true },
      name: { type: "string" },
      record: { type: "string" },
      idle: { type: "string" },
      "reply-tokens": { type: "string" },
      "reply-seconds": { type: "string" },
      "at-once": { type: "string" },
      "tool-style": { type: "string" },
      quantization: { type: "string" },
      json: { type: "boolean", default: false },
    });
    const [model, ...others] = words;
    if (model === undefined || others.length > 0)
      throw new UsageError(
        "serve takes one model: a folder, a name on the Hub, or a run's folder.",
      );
    const number = (option: "idle" | "reply-tokens" | "reply-seconds" | "at-once") => {
      const text = values[option];
      return text === undefined ? undefined : wholeNumber(option, text, 1, 1_000_000);
    };
    const { quantization } = values;
    const server = await serve({
      model,
      port: wholeNumber("port", values.port, 0, 65_535),
      host: values.host,
      allowedHosts: values["allow-host"],
      apiKeys: keysAt(values["api-key"] ?? []),
      name: values.name,
      record: values.record,
      idleSeconds: number("idle"),
      replyTokens: number("reply-tokens"),
      replySeconds: number("reply-seconds"),
      maximumReplies: number("at-once"),
      toolStyle: values["tool-style"],
      ...(quantization !== undefined && {
        quantization: oneOf(quantization, QUANTIZATIONS, "quantization"),
      }),
      say: (sentence) => printError(`openmanus-rl serve: ${sentence}`),
    });
    try {
      const { url, name } = server;
      if (values.json) print(JSON.stringify({ url, model: name }));
      else
        print(
          `${name} answers at ${url}\nOPENAI_BASE_URL=${url}/v1  ANTHROPIC_BASE_URL=${url}\nCtrl-C stops it.`,
        );
      await interruptible((signal) => once(signal, "abort"));
      return 0;
    } finally {
      await server.close();
    }
  },
};

function keysAt(places: readonly string[]): string[] {
  try {
    return places.map((place) => keyAt("--api-key", place));
  } catch (error) {
    if (error instanceof NetworkError) throw new UsageError(error.message);
    throw error;
  }
}
