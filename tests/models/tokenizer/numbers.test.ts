/**
 * @file Numbers in new tokenizers: digit by digit, with the space before, or with the name before; what is
 * encoded comes back, and a name of one token begins as what it is made of.
 */
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  initModelFolder,
  loadModel,
  loadTokenizer,
  NUMBERS,
  type Numbers,
  presetConfig,
} from "../../../src/models/index.ts";
import { memory, tidy } from "../../../src/torch/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";

const texts = Array.from(
  { length: 40 },
  (_, i) => `You open the drawer ${1 + (i % 12)}. You see a pen ${1 + (i % 3)}, and a lamp 1234.`,
);

function made(numbers: Numbers): string {
  const folder = join(temporaryFolder(), numbers);
  const config = presetConfig("tiny");
  initModelFolder(folder, { config, texts, vocabularySize: 400, seed: 3, numbers });
  return folder;
}

it.each([
  ["apart", [" drawer", " ", "1", "2"]],
  ["joined", [" drawer", " 12"]],
  ["named", [" drawer 12"]],
] as const)("%s", (numbers, pieces) => {
  const tokenizer = loadTokenizer(made(numbers));
  const ids = tokenizer.encode(" drawer 12");
  expect(ids.map((id) => tokenizer.decode([id]))).toEqual(pieces);
});

it("a code is one token, and the same one wherever it stands; a mark is one, too", () => {
  const folder = join(temporaryFolder(), "codes");
  const config = presetConfig("tiny");
  const texts = Array.from(
    { length: 40 },
    (_, i) => `See B07X${i % 2}Q [SEP] click[B07X${i % 2}Q]`,
  );
  initModelFolder(folder, { config, texts, vocabularySize: 400, seed: 3, numbers: "named" });
  const tokenizer = loadTokenizer(folder);
  const pieces = (text: string) => tokenizer.encode(text).map((id) => tokenizer.decode([id]));
  expect(pieces("See B07X1Q")).toEqual(["See", " ", "B07X1Q"]);
  expect(pieces("B07X1Q [SEP]")).toEqual(["B07X1Q", " [SEP]"]);
  expect(pieces("click[B07X1Q]").slice(-3)).toEqual(["[", "B07X1Q", "]"]);
});

it.each(NUMBERS)("%s: what is encoded comes back", (numbers) => {
  const tokenizer = loadTokenizer(made(numbers));
  for (const text of [
    "drawer 12",
    "pen 9999 0 1",
    "1 2  3",
    "x1 y 22z",
    "[AB12] 3C4D-x1y2z3",
    "pen\n3",
    "№ 5 ½ 7",
  ])
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
});

it("a name with a number begins as the name and the number together", () => {
  const folder = made("named");
  const tokenizer = loadTokenizer(folder);
  const model = loadModel(folder);
  const width = model.config.hiddenSize;
  const all = tidy(() => [...model.output.detach().toNumbers()]);
  const embedding = (text: string) => {
    const ids = tokenizer.encode(text);
    expect(ids).toHaveLength(1);
    return all.slice(ids[0]! * width, (ids[0]! + 1) * width);
  };
  const likeness = (a: string, b: string) => {
    const [x, y] = [embedding(a), embedding(b)];
    const dot = (u: readonly number[], v: readonly number[]) =>
      u.reduce((sum, value, i) => sum + value * v[i]!, 0);
    return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
  };
  // Half of it is the name, half the number; 0.5 and less by chance, in 64 dimensions.
  expect(likeness(" drawer 7", " drawer")).toBeCloseTo(Math.SQRT1_2, 0);
  expect(likeness(" drawer 7", " drawer 8")).toBeCloseTo(0.5, 0);
  expect(likeness(" drawer 2", " pen 2")).toBeCloseTo(0.5, 0);
  expect(Math.abs(likeness(" drawer 7", " pen 2"))).toBeLessThan(0.4);
  model.dispose();
  expect(memory().tensors).toBe(0);
});
