/**
 * @file `openmanus-rl chat MODEL|RUN`: a talk with a model in the terminal, with its world's functions if it has some.
 */
import { createInterface } from "node:readline";
import { openTalk } from "../../library/index.ts";
import { visible } from "../../spelling/index.ts";
import { optionsAndWords, UsageError, wholeNumber } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { print, printPiece } from "../support/print.ts";

export const chatCommand: Command = {
  help: [
    "Usage: openmanus-rl chat MODEL|RUN [options]",
    "",
    "Talk to a model's folder, a name on the Hub, or a run's best policy. A line is what you say; :new begins anew,",
    ":quit ends, Ctrl-C stops an answer. A model that was trained in a world of functions may use them. Reads piped",
    "input too.",
    "",
    "  --system TEXT    said to the model before anything else",
    "  --temperature T  0 takes the most likely token (0.7)",
    "  --tokens N       tokens of an answer at most (512)",
    "  --seed N         the same words, the same answers",
    "  --no-tools       its world's functions are not offered",
    "",
    "Example: openmanus-rl chat models/smollm2-135m",
  ].join("\n"),
  async run(given) {
    const { values, words } = optionsAndWords(given, {
      system: { type: "string" },
      temperature: { type: "string" },
      tokens: { type: "string" },
      seed: { type: "string" },
      "no-tools": { type: "boolean", default: false },
    });
    const [model, ...others] = words;
    if (model === undefined || others.length > 0)
      throw new UsageError("chat takes one model: a folder, a name on the Hub, or a run's folder.");
    const temperature = values.temperature === undefined ? undefined : Number(values.temperature);
    if (temperature !== undefined && !(temperature >= 0 && temperature <= 100))
      throw new UsageError(`--temperature must be a number from 0, not "${values.temperature}".`);
    const talk = await openTalk({
      ...{ model, system: values.system, temperature, tools: !values["no-tools"] },
      maximumTokens:
        values.tokens === undefined ? undefined : wholeNumber("tokens", values.tokens, 1),
      seed: values.seed === undefined ? undefined : wholeNumber("seed", values.seed, 0),
    });
    const terminal = Boolean(process.stdin.isTTY);
    const lines = createInterface({
      input: process.stdin,
      ...(terminal && { output: process.stdout }),
      terminal,
    });
    let answering: AbortController | undefined;
    lines.on("SIGINT", () => (answering ? answering.abort(new Error("stopped")) : lines.close()));
    try {
      if (talk.tools.length > 0) print(`It may use ${talk.tools.join(", ")}.`);
      if (terminal) lines.setPrompt("> ");
      lines.prompt();
      for await (const line of lines) {
        const text = line.trim();
        if (text === ":quit") break;
        if (text === ":new") talk.forget();
        else if (text !== "") {
          answering = new AbortController();
          try {
            await talk.say(
              text,
              {
                onText: (piece) => printPiece(visible(piece)),
                onCall: ({ name, arguments: wanted }) => print(`\n[${name} ${wanted}]`),
                onResult: (result) => print(`[${result}]`),
              },
              answering.signal,
            );
            print();
          } catch (error) {
            if (
              !answering.signal.aborted &&
              !(error instanceof Error && error.name === "GatewayError")
            )
              throw error;
            print(`\n(${(error as Error).message})`);
          }
          answering = undefined;
        }
        lines.prompt();
      }
      return 0;
    } finally {
      lines.close();
      await talk.close();
    }
  },
};
