/**
 * @file GGUF files of somebody who means harm, or of a broken disk: cut off, with bytes changed, with claims
 * that no file could keep. `model import` gives the same folder, another one that is whole, or a sentence; it
 * takes seconds and little memory, and never leaves half a folder.
 */
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { seededRandom } from "../../src/environments/index.ts";
import { exportGguf, importGguf, loadModel, ModelFileError } from "../../src/models/index.ts";
import { memory } from "../../src/torch/index.ts";
import { smallFolder } from "../models/gguf/support.ts";
import { temporaryFolder } from "../rollout/support.ts";

const parent = temporaryFolder();
const good = join(parent, "good.gguf");
let bytes: Buffer;
let weights: Buffer;
beforeAll(() => {
  const folder = smallFolder("llama");
  exportGguf(folder, good, { type: "q8_0" });
  bytes = readFileSync(good);
  importGguf(good, join(parent, "good"));
  weights = readFileSync(join(parent, "good", "model.safetensors"));
  rmSync(dirname(folder), { recursive: true });
});

let shown: string[];
beforeEach(() => {
  shown = [];
  const keep = (text: unknown = "") => void shown.push(String(text));
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
});
afterEach(() => vi.restoreAllMocks());

const file = join(parent, "hostile.gguf");
const folder = join(parent, "imported");

/** Imports the bytes: the sentence that refuses them, or undefined if there is a whole folder now. */
function sentenceFor(content: Uint8Array): string | undefined {
  writeFileSync(file, content);
  const begun = performance.now();
  const tensors = memory().tensors;
  try {
    importGguf(file, folder);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ModelFileError);
    return (error as Error).message;
  } finally {
    expect(performance.now() - begun).toBeLessThan(5000);
    expect(memory().tensors).toBe(tensors);
  }
}

/** Nothing is left of an import that was refused. */
function requireNothingLeft(): void {
  const expected = ["good", "good.gguf", "hostile.gguf"];
  expect(readdirSync(parent).sort()).toEqual(expected);
}

describe("a file that is cut off", () => {
  it("anywhere is refused", () => {
    const random = seededRandom("cut", 1);
    const lengths = [0, 1, 4, 8, 23, 24, 25, bytes.length - 33];
    while (lengths.length < 60) lengths.push(random.integer(bytes.length - 32));
    for (const length of lengths) {
      expect(sentenceFor(bytes.subarray(0, length)), String(length)).toMatch(/hostile\.gguf: /);
      requireNothingLeft();
    }
  });
});

describe("a file with other bytes", () => {
  /** The folder that came of it can be used, or it was refused with a sentence. */
  function requireSound(content: Uint8Array, label: string): "same" | "other" | "refused" {
    const sentence = sentenceFor(content);
    if (sentence !== undefined) {
      expect(sentence.length, label).toBeLessThan(1000);
      requireNothingLeft();
      return "refused";
    }
    const found = readFileSync(join(folder, "model.safetensors"));
    loadModel(folder).dispose();
    rmSync(folder, { recursive: true });
    requireNothingLeft();
    return found.equals(weights) ? "same" : "other";
  }

  it("in its header", () => {
    const random = seededRandom("header", 2);
    const counts = { same: 0, other: 0, refused: 0 };
    for (let i = 0; i < 120; i++) {
      const copy = Buffer.from(bytes);
      const at = random.integer(12_000);
      copy[at] = random.integer(256);
      counts[requireSound(copy, `byte ${at} is ${copy[at]}`)]++;
    }
    expect(counts.refused).toBeGreaterThan(10);
  }, 120_000);

  it("in its first hundred bytes, each in turn the largest", () => {
    for (let at = 0; at < 100; at++) {
      const copy = Buffer.from(bytes);
      copy[at] = 255;
      requireSound(copy, `byte ${at} is 255`);
    }
  }, 120_000);

  it("with eight at a time, as counts, lengths and offsets have them", () => {
    const random = seededRandom("counts", 3);
    const numbers = [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];
    for (let i = 0; i < 120; i++) {
      const copy = Buffer.from(bytes);
      const at = i < 4 ? 8 * (1 + (i & 1)) : random.integer(12_000);
      copy.writeBigUInt64LE(numbers[i % numbers.length]!, at);
      requireSound(copy, `${numbers[i % numbers.length]} at ${at}`);
    }
  }, 120_000);
});

describe("the command", () => {
  it.each<[string, (copy: Buffer) => Buffer | undefined, RegExp]>([
    ["noise", () => Buffer.alloc(5000, 7), /does not begin as a GGUF file does/],
    [
      "a scale that is infinite",
      (copy) => {
        // The last matrix's last block: its scale is before its 32 numbers.
        const at = copy.lastIndexOf(Buffer.from("output_norm.weight"));
        expect(at).toBeGreaterThan(0);
        copy.writeUInt16LE(0x7c00, dataOf(copy));
        return copy;
      },
      /token_embd\.weight" has \d+ or more values that are not finite/,
    ],
    [
      "a tokenizer whose pattern takes for ever",
      (copy) => {
        const pattern = "'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)|";
        const at = copy.indexOf(pattern);
        expect(at).toBeGreaterThan(0);
        copy.write("(a+)+b|".padEnd(pattern.length - 1, "x"), at);
        return copy;
      },
      /its tokenizer cannot be used: the pattern .* could take for ever/,
    ],
    [
      "the name of a tensor that leads elsewhere",
      (copy) => {
        copy.write("blk.0/../../x_q", copy.indexOf("blk.0.attn_q.we"));
        return copy;
      },
      /attn_q\.weight is missing/,
    ],
  ])("%s", async (_, spoil, message) => {
    writeFileSync(file, spoil(Buffer.from(bytes))!);
    expect(await main(["model", "import", file, folder])).toBe(1);
    expect(shown.join("\n")).toMatch(message);
    expect(shown.join("\n")).not.toMatch(/^ {4}at /m);
    requireNothingLeft();
  });

  it("a device instead of a file", async () => {
    rmSync(file, { force: true });
    symlinkSync("/dev/zero", file);
    expect(await main(["model", "import", file, folder])).toBe(1);
    expect(shown.join("\n")).toMatch(/hostile\.gguf: is not a regular file/);
    rmSync(file);
    expect(existsSync(folder)).toBe(false);
  });
});

/** Where the first tensor's data begins: the embedding's first scale. */
function dataOf(content: Buffer): number {
  const at = content.indexOf("token_embd.weight");
  // Behind the name: dimensions, two sizes, type; then the offset, which is 0.
  expect(content.readBigUInt64LE(at + 17 + 4 + 16 + 4)).toBe(0n);
  // The header's end is the last tensor's description.
  const last = content.lastIndexOf("output_norm.weight") + 18 + 4 + 8 + 4 + 8;
  return Math.ceil(last / 32) * 32;
}
