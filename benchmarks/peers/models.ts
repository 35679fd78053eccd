/**
 * @file The real model that everybody runs, in the forms that they read: a Hugging Face folder, a GGUF file, and a
 * folder whose replies never end by themselves, so that all replies of an iteration have the same length.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../src/folders/index.ts";
import { fetchPublished, PUBLISHED_MODELS } from "../../src/library/index.ts";
import { exportGguf } from "../../src/models/index.ts";
import { peersFolder } from "./environments.ts";

/** Of SmolLM2: what ends a turn, and a special token of its vocabulary that it was never taught to say. */
const [END_OF_TURN, END_ID] = ["<|im_end|>", 2];
const [NEVER_SAID, NEVER_ID] = ["<reponame>", 4];

/** SmolLM2-135M-Instruct in float32, in the peers' folder. */
export async function modelFolder(say: (text: string) => void): Promise<string> {
  const folder = join(peersFolder(), "smollm2");
  const { source } = await fetchPublished(PUBLISHED_MODELS.smollm2!, folder, {
    onProgress: (doing, done) => done === undefined && say(`${doing} …`),
  });
  if (source !== null) say(`the model came from ${source}`);
  return folder;
}

/** The same weights for llama.cpp. */
export function ggufFile(folder: string): string {
  const file = join(peersFolder(), "smollm2-f32.gguf");
  if (!existsSync(file)) exportGguf(folder, file, { type: "f32" });
  return file;
}

/**
 * The same weights, with a chat in which another token ends a turn. A sampled <|im_end|> is then a word like any
 * other, for us and for TRL, and every reply is as long as it may be.
 */
export function endlessFolder(folder: string): string {
  const made = join(peersFolder(), "smollm2-endless");
  const done = join(made, "model.safetensors");
  if (existsSync(done)) return made;
  makeFolder(made);
  for (const name of readdirSync(folder))
    if (!name.endsWith(".safetensors") && name !== "tokenizer.json")
      writeFileSync(join(made, name), withoutEnd(name, readFileSync(join(folder, name), "utf8")));
  for (const name of ["tokenizer.json", "model.safetensors"])
    copyFileSync(join(folder, name), join(made, name));
  return made;
}

function withoutEnd(name: string, text: string): string {
  if (name.endsWith(".jinja")) return text.replaceAll(END_OF_TURN, NEVER_SAID);
  if (!name.endsWith("config.json")) return text;
  const config = JSON.parse(text) as Record<string, unknown>;
  for (const key of ["eos_token_id", "eos_token", "chat_template"] as const) {
    const value = config[key];
    if (value === END_ID) config[key] = NEVER_ID;
    if (typeof value === "string") config[key] = value.replaceAll(END_OF_TURN, NEVER_SAID);
  }
  return `${JSON.stringify(config, null, 2)}\n`;
}
