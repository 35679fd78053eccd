/**
 * @file Constrained replies in formats with thoughts: free up to the action, then an admissible one.
 */
import { expect, it } from "vitest";
import { defineFormat, type ReplyFormat, replyFormat } from "../../src/agents/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import { loadModel } from "../../src/models/index.ts";
import { modelPolicy } from "../../src/rollout/index.ts";
import { memory } from "../../src/torch/index.ts";
import { newModelFolder, openChat, temporaryFolder } from "./support.ts";

const folder = newModelFolder(temporaryFolder());
const admissible = ["open the box", "open the box again", "wait"];
const observation = { text: "A box.", anchor: "A box.", info: {}, admissible };

/** Draws replies of a model that likes to say the pieces of `likes`. */
async function replies(format: ReplyFormat, likes: readonly string[], maximumTokens: number) {
  const model = loadModel(folder);
  const chat = openChat(folder);
  const liked = likes.flatMap((text) => chat.tokenizer.encode(text));
  const generator = createEngine(model, { tokenizer: chat.tokenizer });
  const policy = modelPolicy({
    ...{ generator, chat, contextLength: 500, constrain: format },
    sampling: { maximumTokens, bias: new Map(liked.map((id) => [id, 12])) },
  });
  const drawn = [];
  for (let turn = 0; turn < 20; turn++) {
    const episode = `episode ${turn}`;
    const request = { episode, turn, messages: [], prompt: [5, 6, 7], observation, maximumTokens };
    const { signal } = new AbortController();
    const reply = await policy.reply({ ...request, seed: BigInt(turn), signal });
    policy.end(episode);
    const text = chat.tokenizer.decode(reply.ids, { skipSpecialTokens: true });
    drawn.push({ ...reply, text });
  }
  await generator.close();
  model.dispose();
  return drawn;
}

const ACTIONS = "(open the box|open the box again|wait)";

it.each([
  ["labels", "A", "A:", new RegExp(`A: ${ACTIONS}$`)],
  ["tags", "x", "<x>", new RegExp(`<x>${ACTIONS}</x>$`)],
] as const)(
  "%s: thoughts are free, the action is one of the list",
  async (style, name, opening, form) => {
    const fields = [
      { name: "T", about: "a thought" },
      { name, about: "an action" },
    ];
    const drawn = await replies(defineFormat({ name: "short", style, fields }), [...opening], 100);
    const acted = drawn.filter(({ text }) => text.includes(opening));
    expect(acted.length).toBeGreaterThan(10);
    for (const { text, ids, logprobs, sampledLogprobs, finish } of acted) {
      expect(text).toMatch(form);
      expect(finish).toBe("stop");
      expect(ids.length).toBe(logprobs.length);
      expect(ids.length).toBe(sampledLogprobs.length);
      // What was drawn among few is likelier than among all.
      expect(sampledLogprobs.at(-2)).toBeGreaterThanOrEqual(logprobs.at(-2)!);
    }
    expect(new Set(acted.map(({ text }) => form.exec(text)![1])).size).toBeGreaterThan(1);
    expect(memory().tensors).toBe(0);
  },
);

it("a reply that never comes to act ends as it is", async () => {
  const drawn = await replies(replyFormat("react"), ["box"], 30);
  expect(drawn.every(({ ids }) => ids.length < 30)).toBe(true);
  expect(drawn.some(({ finish }) => finish === "length")).toBe(true);
});

it("room is kept for the longest action, and too little of it is an error", async () => {
  await expect(replies(replyFormat("react"), [], 12)).rejects.toThrow(
    /maximumTokens is 12, but a thought and the longest choice take at least \d+/,
  );
});

it("a format that ends with something else than the action is refused", async () => {
  const fields = [
    { name: "Do", about: "an action" },
    { name: "Why", about: "the reason" },
  ];
  const format = defineFormat({ name: "why", style: "labels", fields, action: "Do" });
  await expect(replies(format, [], 60)).rejects.toThrow(
    /"why" demands "Why" after the action, where a reply ends/,
  );
});
