/**
 * @file Model folders of somebody who means harm: weights that lie about their size, numbers that no model
 * has, tokenizers and templates that would take for ever, links to devices, programs to be run. `model info`
 * and `eval` say what is wrong, in seconds, in little memory, and run nothing.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { patternProblem } from "../../src/models/tokenizer/patterns.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { LIGHTS, newTinyFolder } from "../training/support/runs.ts";

const parent = temporaryFolder();
let good: string;
let count = 0;
beforeAll(() => {
  good = newTinyFolder(parent);
});

let shown: string[];
beforeEach(() => {
  shown = [];
  const keep = (text: unknown = "") => void shown.push(String(text));
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation(() => true);
});
afterEach(() => vi.restoreAllMocks());

/** A copy of the good folder, spoiled. */
function folderWith(spoil: (folder: string) => void): string {
  const folder = join(parent, `hostile-${count++}`);
  cpSync(good, folder, { recursive: true });
  spoil(folder);
  return folder;
}

/** What both commands say about it. Neither throws, takes long, or takes much. */
async function saidOf(
  folder: string,
  ...more: string[]
): Promise<{ codes: number[]; said: string }> {
  const codes: number[] = [];
  for (const words of [
    ["model", "info", folder],
    ["eval", folder, "--tasks", "1", "--greedy", `env.env_name=${LIGHTS}`, ...more],
  ]) {
    const [before, start] = [process.memoryUsage().rss, performance.now()];
    codes.push(await main(words));
    expect(performance.now() - start).toBeLessThan(15_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(900e6);
  }
  const said = shown.join("\n");
  expect(said).not.toMatch(/^ {4}at /m);
  return { codes, said };
}

type Json = Record<string, unknown>;
const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Json;
const inConfig = (changes: Json) => (folder: string) => {
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ ...readJson(file), ...changes }));
};
const inTokenizer = (change: (tokenizer: Json) => Json) => (folder: string) => {
  const file = join(folder, "tokenizer.json");
  writeFileSync(file, JSON.stringify(change(readJson(file))));
};
const file = (name: string, text: string | Buffer) => (folder: string) =>
  writeFileSync(join(folder, name), text);
const link = (name: string, target: string) => (folder: string) => {
  rmSync(join(folder, name));
  symlinkSync(target, join(folder, name));
};

type Header = Record<string, { dtype: string; shape: number[]; data_offsets: number[] } | null>;

/** The weights with another header, or with another beginning. */
const inWeights = (change: (header: Header, first: string) => void) => (folder: string) => {
  const path = join(folder, "model.safetensors");
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + length)) as Header;
  change(header, Object.keys(header).find((name) => name !== "__metadata__")!);
  writeFileSync(path, weightsOf(JSON.stringify(header), bytes.subarray(8 + length)));
};
function weightsOf(header: string | Buffer, body: Buffer | string = "", claimed?: bigint): Buffer {
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(claimed ?? BigInt(Buffer.byteLength(header)));
  return Buffer.concat([start, Buffer.from(header), Buffer.from(body)]);
}
const claiming = (length: bigint) => (folder: string) => {
  const path = join(folder, "model.safetensors");
  writeFileSync(path, weightsOf(readFileSync(path).subarray(8), "", length));
};

const split = (pattern: string) => ({
  pre_tokenizer: {
    type: "Sequence",
    pretokenizers: [
      { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
      { type: "ByteLevel", add_prefix_space: false, use_regex: false },
    ],
  },
});
const grown = { type: "Replace", pattern: { String: "e" }, content: "e".repeat(100) };

describe("a model folder", () => {
  it.each<[string, (folder: string) => void, RegExp]>([
    ["a header of 2⁶³ bytes", claiming(2n ** 63n), /model\.safetensors: .*header/],
    ["a header of a terabyte", claiming(2n ** 40n), /model\.safetensors: .*header/],
    [
      "weights that are cut off",
      (folder) => {
        const path = join(folder, "model.safetensors");
        writeFileSync(path, readFileSync(path).subarray(0, 9000));
      },
      /model\.safetensors: /,
    ],
    ["empty weights", file("model.safetensors", ""), /model\.safetensors: /],
    [
      "a header of brackets",
      file("model.safetensors", weightsOf('{"a":'.repeat(200_000))),
      /not valid JSON/,
    ],
    [
      "a header that is no text",
      file("model.safetensors", weightsOf(Buffer.alloc(100, 255))),
      /UTF-8/,
    ],
    [
      "a header of 90 MB of spaces",
      file("model.safetensors", weightsOf(Buffer.alloc(90_000_000, 32))),
      /model\.safetensors: /,
    ],
    [
      "an unknown dtype",
      inWeights((header, first) => void Object.assign(header[first]!, { dtype: "F99" })),
      /F99/,
    ],
    [
      "a shape beyond all numbers",
      inWeights((header, first) => void Object.assign(header[first]!, { shape: [1e15, 1e15] })),
      /shape|bytes/,
    ],
    [
      "a negative place",
      inWeights((header, first) => void Object.assign(header[first]!, { data_offsets: [-5, 10] })),
      /data_offsets|bytes/,
    ],
    [
      "a place far away",
      inWeights((header, first) => void Object.assign(header[first]!, { data_offsets: [0, 1e18] })),
      /data_offsets|bytes/,
    ],
    [
      "tensors that share their bytes",
      inWeights((header, first) => {
        const { data_offsets } = header[first]!;
        for (const tensor of Object.values(header))
          if (tensor?.data_offsets) tensor.data_offsets = data_offsets;
      }),
      /model\.safetensors: /,
    ],
    [
      "no tensor where one is named",
      inWeights((header, first) => {
        header[first] = null;
      }),
      /model\.safetensors: /,
    ],
    [
      "weights that are a link to a device",
      link("model.safetensors", "/dev/zero"),
      /model\.safetensors: /,
    ],
    ["weights that are a link to themselves", link("model.safetensors", "model.safetensors"), /./],
    [
      "shards from elsewhere",
      (folder) => {
        renameSync(join(folder, "model.safetensors"), join(folder, "other.safetensors"));
        writeFileSync(
          join(folder, "model.safetensors.index.json"),
          '{"weight_map":{"a":"../../../etc/passwd"}}',
        );
      },
      /passwd/,
    ],
    [
      "pickled weights",
      (folder) => {
        renameSync(join(folder, "model.safetensors"), join(folder, "pytorch_model.bin"));
      },
      /pickle|pytorch_model\.bin/,
    ],
    ["a billion layers", inConfig({ num_hidden_layers: 1e9 }), /num_hidden_layers|layers/],
    ["a width of 10¹²", inConfig({ hidden_size: 1e12 }), /hidden_size|weights/],
    ["10¹² words", inConfig({ vocab_size: 1e12 }), /vocab_size|weights/],
    ["no heads", inConfig({ num_attention_heads: 0 }), /num_attention_heads/],
    ["heads as a text", inConfig({ num_attention_heads: "4" }), /num_attention_heads/],
    ["half a width", inConfig({ hidden_size: 64.5 }), /hidden_size/],
    ["heads of 10⁹ numbers", inConfig({ head_dim: 1e9 }), /head_dim|weights/],
    [
      "a config of brackets",
      file("config.json", `{"a":${"[".repeat(500_000)}`),
      /config\.json: is not valid JSON/,
    ],
    ["a config that is a device", link("config.json", "/dev/zero"), /config\.json: is no file/],
    [
      "a config that is a pipe",
      (folder) => {
        rmSync(join(folder, "config.json"));
        execFileSync("mkfifo", [join(folder, "config.json")]);
      },
      /config\.json: is no file/,
    ],
    [
      "a tokenizer that is a device",
      link("tokenizer.json", "/dev/zero"),
      /tokenizer\.json: is no file/,
    ],
    [
      "a tokenizer of brackets",
      file("tokenizer.json", '{"model":{"vocab":'.repeat(100_000)),
      /tokenizer\.json: is not valid JSON/,
    ],
    [
      "an id of 10⁹",
      inTokenizer((json) => {
        Object.assign((json.model as { vocab: Json }).vocab, { zzz: 1e9 });
        return json;
      }),
      /the id 1000000000/,
    ],
    [
      "a pattern that takes for ever",
      inTokenizer((json) => ({ ...json, ...split("(.*)*x|([ a-zA-Z.]+)*$") })),
      /could take for ever: it repeats a repetition/,
    ],
    [
      "a pattern of many repetitions",
      inTokenizer((json) => ({ ...json, ...split(".*.*.*.*.*.*.*.*x") })),
      /could take for ever/,
    ],
    [
      "a normalizer that takes for ever",
      inTokenizer((json) => ({
        ...json,
        normalizer: { type: "Replace", pattern: { Regex: "(.+)+x" }, content: "" },
      })),
      /could take for ever/,
    ],
    [
      "a normalizer that makes much of little",
      inTokenizer((json) => ({
        ...json,
        normalizer: { type: "Sequence", normalizers: Array(30).fill(grown) },
      })),
      /times longer/,
    ],
    [
      "a broken pattern",
      inTokenizer((json) => ({ ...json, ...split("(((") })),
      /cannot be used as a tokenizer/,
    ],
    [
      "merges that are none",
      inTokenizer((json) => {
        Object.assign(json.model as Json, { merges: [5, null] });
        return json;
      }),
      /cannot be used as a tokenizer/,
    ],
    [
      "a template without end",
      file("chat_template.jinja", "{% for i in range(1000000000) %}x{% endfor %}"),
      /chat_template\.jinja: the chat template makes a list of more than 1000000 items/,
    ],
    [
      "a template that doubles",
      file("chat_template.jinja", `{% set x = 'a' %}${"{% set x = x ~ x %}".repeat(60)}{{ x }}`),
      /makes a text of more than/,
    ],
    [
      "a template of megabytes",
      file("chat_template.jinja", "{{ 1 }}".repeat(200_000)),
      /expected at most 1000000/,
    ],
    [
      "a template that is a device",
      link("chat_template.jinja", "/dev/zero"),
      /chat_template\.jinja: is no file/,
    ],
  ])(
    "with %s is refused",
    async (_, spoil, message) => {
      const folder = folderWith(spoil);
      const { codes, said } = await saidOf(folder);
      expect(codes[1]).toBe(1);
      expect(said).toMatch(message);
      expect(said).toContain(folder);
    },
    60_000,
  );

  it("whose adapter has a rank of 10⁹ is refused", async () => {
    const folder = folderWith((place) => {
      rmSync(join(place, "config.json"));
      renameSync(join(place, "model.safetensors"), join(place, "adapter_model.safetensors"));
      writeFileSync(
        join(place, "adapter_config.json"),
        JSON.stringify({
          peft_type: "LORA",
          r: 1e9,
          lora_alpha: 8,
          target_modules: ["q_proj"],
          base_model_name_or_path: good,
        }),
      );
    });
    const { codes } = await saidOf(folder);
    expect(codes[1]).toBe(1);
  });
});

describe("what a model folder says of its world", () => {
  const noted = (note: unknown) => (folder: string) =>
    writeFileSync(join(folder, "openmanus-rl.json"), JSON.stringify(note));
  const proof = join(parent, "was-run");
  const evil = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(proof)}, "");`;

  it.each<[string, (folder: string) => unknown, RegExp]>([
    [
      "a world",
      (folder) => ({ env: { env_name: join(folder, "evil.ts") } }),
      /evil\.ts" is a program in the folder itself.*env\.env_name=/,
    ],
    [
      "a format",
      (folder) => ({ env: { env_name: LIGHTS, format: join(folder, "evil.ts") } }),
      /program in the folder itself.*env\.format=/,
    ],
    [
      "tools",
      (folder) => ({ env: { env_name: LIGHTS, tools: [join(folder, "x/../evil.ts")] } }),
      /program in the folder itself.*env\.tools=/,
    ],
    [
      "a command",
      () => ({ env: { env_name: "tools", options: { mcp: [`touch ${proof}`] } } }),
      /is a command, and is not run.*env\.options\.mcp=/,
    ],
    ["no settings", () => [5], /openmanus-rl\.json: expected settings/],
    ["another prototype", () => JSON.parse('{"__proto__":{"x":1}}'), /no setting __proto__/],
  ])("is not obeyed: %s", async (_, note, message) => {
    const folder = folderWith((place) => {
      writeFileSync(join(place, "evil.ts"), evil);
      noted(note(place))(place);
    });
    for (const words of [
      ["eval", folder, "--tasks", "1"],
      ["play", "--model", folder],
    ]) {
      expect(await main(words)).toBe(1);
      expect(shown.join("\n")).toMatch(message);
      shown = [];
    }
    expect(existsSync(proof)).toBe(false);
  });

  it("is no matter to who has another world: train takes the form alone", async () => {
    const folder = folderWith(
      noted({ env: { env_name: "tools", options: { mcp: [`touch ${proof}`] } } }),
    );
    const words = ["train", "--dry-run", "--model", folder, `env.env_name=${LIGHTS}`];
    expect(await main(words), shown.join("\n")).toBe(0);
    expect(existsSync(proof)).toBe(false);
  });

  it("is obeyed where it is said again, and for files elsewhere", async () => {
    const folder = folderWith(noted({ env: { env_name: LIGHTS, options: {} } }));
    expect(await main(["eval", folder, "--tasks", "1"]), shown.join("\n")).toBe(0);
  });
});

describe("patterns of tokenizers", () => {
  it.each([
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}]*[\\p{Ll}\\p{M}]+(?i:'s|'t|'re)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+",
    "\\p{N}{1,3}(?=(?:\\p{N}{3})*(?:\\P{N}|$))",
    "[\\s\\S]++|a*+|(?:a+)?b+|\\+\\++|[+*]+x{2}",
  ])("%s is good", (pattern) => {
    expect(patternProblem(pattern)).toBeUndefined();
  });

  it.each([
    "(a+)+",
    "(?:a*b?)*c",
    "((a|b+)c)+",
    "(a+){2,}",
    "(a+){500}",
    "(\\+)+(\\d{3,})*",
    ".*.*.*.*.*",
    "(a)\\1",
  ])("%s is not", (pattern) => {
    expect(patternProblem(pattern)).toBeDefined();
  });
});
