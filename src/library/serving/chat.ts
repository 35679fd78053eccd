/**
 * @file A word with a model: messages in, its answer out.
 */
import { createEngine } from "../../generation/index.ts";
import { type ChatMessage, loadChat, loadModel } from "../../models/index.ts";
import { deriveSeed } from "../../torch/index.ts";
import { policyIn } from "../evaluate.ts";
import { fetchedModel } from "../hub/hub.ts";
import { audienceOf } from "../progress.ts";

export interface ChatOptions {
  /** Of the answer. Default 256. */
  readonly maximumTokens?: number;
  /** 0, the default, takes the most likely token. */
  readonly temperature?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

/** The answer of a model (its folder, its name on the Hub, or a run's folder: the best policy) to a text, or to messages. */
export async function chat(
  path: string,
  question: string | readonly ChatMessage[],
  options: ChatOptions = {},
): Promise<string> {
  const { maximumTokens = 256, temperature = 0, seed = 0, signal } = options;
  const messages =
    typeof question === "string" ? [{ role: "user", content: question } as const] : question;
  const place = await fetchedModel(path, audienceOf({ progress: process.stderr }), signal);
  const folder = policyIn(place);
  const talk = loadChat(folder);
  const model = loadModel(folder);
  const engine = createEngine(model, { tokenizer: talk.tokenizer });
  try {
    const prompt = talk.promptIds([...messages]);
    const room = model.config.maximumPositions - prompt.length;
    if (room < 1)
      throw new RangeError(
        `chat: the messages have ${prompt.length} tokens, the model takes ` +
          `${model.config.maximumPositions} with its answer; send fewer`,
      );
    const { ids } = await engine.generate({
      prompt,
      sampling: {
        maximumTokens: Math.min(maximumTokens, room),
        temperature,
        stopTokens: [talk.endOfTurnId],
      },
      seed: deriveSeed(seed, "chat"),
      ...(signal && { signal }),
    });
    return talk.tokenizer.decode(ids, { skipSpecialTokens: true });
  } finally {
    await engine.close();
    model.dispose();
  }
}
