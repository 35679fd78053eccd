/**
 * @file A world whose episode is a program that asks the gateway twice, in one conversation.
 */
import { agentProgram } from "../../../src/gateway/index.ts";

interface Answer {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}

export default agentProgram({
  name: "asking",
  tasks: Array.from({ length: 12 }, (_, number) => ({ number })),
  maximumCalls: 4,
  async function({ id }, { baseURL, apiKey }) {
    const messages = [{ role: "user", content: `It is ${id}.` }];
    for (let turn = 0; turn < 2; turn++) {
      const answer = await fetch(`${baseURL}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ model: "m", messages }),
      });
      const { choices } = (await answer.json()) as Answer;
      messages.push({ role: "assistant", content: choices[0]!.message.content });
      messages.push({ role: "user", content: "Yes. It is blue." });
    }
    return messages[1]!.content.length % 4;
  },
});
