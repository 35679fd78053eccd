/**
 * @file GGUF files and their peers. A real model (SmolLM2, fetched as a user does) is the same to us and to
 * transformers; what we export is read by the gguf package, bit for bit, and by llama.cpp, which goes on with
 * the same tokens.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { createEngine } from "../../../src/generation/index.ts";
import { ggufName, reorderedHeads } from "../../../src/models/gguf/names.ts";
import {
  type ChatMessage,
  exportGguf,
  importGguf,
  loadChat,
  loadModel,
  parameterShapes,
  readModelConfig,
} from "../../../src/models/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import { comparedLogits, newModelFolder, ourLogits } from "../models.ts";
import type { Peers } from "../peers.ts";
import {
  comparedChats,
  comparedTexts,
  type SomeChat,
  someTexts,
  type TextAnswer,
} from "../texts.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Spoken by the real model, and gone on with. */
const QUESTIONS = [
  "What is the capital of France?",
  "Write two sentences about the sea.",
  "How many legs does a spider have?",
  "Explain in one sentence what a compiler does.",
];
/** Tokens of a continuation. */
const LENGTH = 32;

const check: InteropCheck = {
  name: "gguf",
  async run(peers, place) {
    const folder = join(place, "smollm2");
    execFileSync(process.execPath, ["bin/openmanus-rl.mjs", "model", "fetch", "smollm2", folder], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const own = ["llama", "qwen2", "qwen3"].map((family) => newModelFolder(place, family));
    return [
      ...(await transformersAgrees(peers, place, folder)),
      await packageAgrees(peers, place, folder),
      ...(await llamaCppAgrees(peers, place, [folder, ...own])),
    ];
  },
};

export default check;

async function transformersAgrees(peers: Peers, place: string, folder: string): Promise<Finding[]> {
  const sequences = prompts(folder);
  const [texts, chats] = [someTexts(660), someChats()];
  const answer = await peers.ask<{
    models: [{ logits: number[][]; kind: string }];
    texts: [TextAnswer];
  }>("transformers_reads.py", place, {
    models: [{ folder, sequences }],
    texts: [{ folder, texts, chats, automatic: true }],
  });
  const model = loadModel(folder);
  const ours = ourLogits(model, sequences);
  model.dispose();
  return [
    comparedLogits("SmolLM2: logits of transformers", ours, answer.models[0].logits),
    comparedTexts(folder, "SmolLM2", texts, answer.texts[0]),
    comparedChats(folder, "SmolLM2", chats, answer.texts[0].chats),
  ];
}

function prompts(folder: string): number[][] {
  const chat = loadChat(folder);
  return QUESTIONS.map((content) => chat.promptIds([{ role: "user", content }]));
}

/** Conversations of up to seven messages, the same in every run. */
function someChats(): SomeChat[] {
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 80 }),
    fc.lorem({ maxCount: 20 }),
    fc.string({ unit: fc.constantFrom(..."abc XYZ  019.,'\n-é日<|>"), maxLength: 60 }),
  );
  const turns = fc.array(fc.tuple(text, text), { minLength: 0, maxLength: 2 });
  const chat = fc.tuple(fc.option(text), turns, text).map(([system, pairs, last]): SomeChat => {
    const between = pairs.flatMap(([asked, said]): ChatMessage[] => [
      { role: "user", content: asked },
      { role: "assistant", content: said },
    ]);
    const first: ChatMessage[] = system === null ? [] : [{ role: "system", content: system }];
    return { messages: [...first, ...between, { role: "user", content: last }] };
  });
  return fc.sample(chat, { seed: 3, numRuns: 200 });
}

async function packageAgrees(peers: Peers, place: string, folder: string): Promise<Finding> {
  const [plain, other] = [join(place, "plain.gguf"), join(place, "q8.gguf")];
  exportGguf(folder, plain, { type: "f32" });
  exportGguf(folder, other, { type: "q8_0" });
  const imported = join(place, "again");
  importGguf(other, imported);
  const config = readModelConfig(folder);
  const names = [...parameterShapes(config).keys()].map((name) => [
    ggufName(name),
    { name, heads: reorderedHeads(name, config) ?? 0 },
  ]);
  const { wrong, count, architecture, tokens } = await peers.ask<{
    wrong: string[];
    count: number;
    architecture: string;
    tokens: number;
  }>("gguf_reads.py", place, {
    ...{ plain, other, folder: imported },
    names: Object.fromEntries(names),
  });
  const isRead = architecture === "llama" && tokens === config.vocabularySize;
  return {
    what: "SmolLM2: Q8_0 and back, by the gguf package",
    detail: `${count} numbers, the same bits`,
    problem: isRead
      ? wrong.slice(0, 3).join("\n") || undefined
      : `${architecture}, ${tokens} tokens`,
  };
}

async function llamaCppAgrees(
  peers: Peers,
  place: string,
  folders: readonly string[],
): Promise<Finding[]> {
  const texts = someTexts(30);
  const cases = folders.map((folder, i) => {
    const file = join(place, `export-${i}.gguf`);
    exportGguf(folder, file, { type: "f32" });
    return { file, texts, prompts: prompts(folder), count: LENGTH };
  });
  const answers = await peers.ask<{ ids: number[][]; continuations: number[][] }[]>(
    "llama_cpp_reads.py",
    place,
    { cases },
  );
  const findings: Finding[] = [];
  for (const [i, folder] of folders.entries()) {
    const { ids, continuations } = answers[i]!;
    const { family } = readModelConfig(folder);
    const name = i === 0 ? "SmolLM2" : family;
    findings.push(comparedContinuations(name, await ourContinuations(folder), continuations));
    if (i === 0) findings.push(comparedTokens(folder, texts, ids));
  }
  return findings;
}

async function ourContinuations(folder: string): Promise<number[][]> {
  const { tokenizer } = loadChat(folder);
  const model = loadModel(folder);
  const engine = createEngine(model, { tokenizer });
  try {
    // llama.cpp ends at some tokens because of their names.
    const end = tokenizer.tokenToId("<|endoftext|>") ?? [];
    const sampling = {
      ...{ maximumTokens: LENGTH, temperature: 0 },
      stopTokens: [model.config.eosTokenIds, end].flat(),
    };
    const results = prompts(folder).map((prompt) => engine.generate({ prompt, sampling, seed: 0 }));
    return (await Promise.all(results)).map(({ ids }) => [...ids]);
  } finally {
    await engine.close();
    model.dispose();
  }
}

function comparedContinuations(name: string, ours: number[][], theirs: number[][]): Finding {
  const wrong = ours.flatMap((ids, i) =>
    String(ids) === String(theirs[i]) ? [] : [`[${ids}], llama.cpp's [${theirs[i]}]`],
  );
  const count = ours.reduce((sum, ids) => sum + ids.length, 0);
  return {
    what: `${name}: goes on as in llama.cpp`,
    detail: `${ours.length} prompts, ${count} tokens`,
    problem: wrong.join("\n") || (count > 0 ? undefined : "there are no tokens"),
  };
}

function comparedTokens(folder: string, texts: readonly string[], theirs: number[][]): Finding {
  const { tokenizer } = loadChat(folder);
  const wrong = texts.flatMap((text, i) => {
    const ids = tokenizer.encode(text);
    return String(ids) === String(theirs[i])
      ? []
      : [`${JSON.stringify(text)} is [${ids}], llama.cpp's [${theirs[i]}]`];
  });
  return {
    what: "SmolLM2: token ids of llama.cpp",
    detail: `${texts.length} texts`,
    problem:
      wrong.length > 0 ? `${wrong.length} differ:\n${wrong.slice(0, 3).join("\n")}` : undefined,
  };
}
