/**
 * @file The header of GGUF files: what is read, and a sentence for everything that is wrong.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openGguf } from "../../../src/models/gguf/format/file.ts";
import { VALUE } from "../../../src/models/gguf/format/types.ts";
import { ModelFileError } from "../../../src/models/index.ts";
import { temporaryFolder, withoutLeaks } from "../files.ts";
import { fileOf, ggufBytes, type RawFile, raw } from "./support.ts";

const value = (key: string, type: number, ...bytes: Buffer[]): Buffer =>
  Buffer.concat([raw.text(key), raw.uint32(type), ...bytes]);
const list = (key: string, type: number, count: number | bigint, ...bytes: Buffer[]): Buffer =>
  value(key, VALUE.array, raw.uint32(type), raw.uint64(count), ...bytes);
const float32 = (number: number): Buffer => Buffer.from(Float32Array.of(number).buffer);

describe("a header", () => {
  it.each([2, 3])("of version %d: values of every type", (version) => {
    const entries = [
      value("small", VALUE.int8, Buffer.from([0xfe])),
      value("word", VALUE.uint16, Buffer.from([1, 2])),
      value("negative", VALUE.int32, Buffer.from([0xff, 0xff, 0xff, 0xff])),
      value("long", VALUE.uint64, raw.uint64(2 ** 40)),
      value("epsilon", VALUE.float32, float32(1e-5)),
      value("exact", VALUE.float64, Buffer.from(Float64Array.of(0.1).buffer)),
      value("yes", VALUE.bool, Buffer.from([1])),
      raw.entry("text", "größe \u{1f642}"),
      list("texts", VALUE.string, 2, raw.text("\ufeffa"), raw.text("")),
      list("numbers", VALUE.uint16, 2, Buffer.from([1, 0, 2, 0])),
      list("choices", VALUE.bool, 2, Buffer.from([1, 0])),
    ];
    const gguf = openGguf(fileOf(ggufBytes({ version, entries })));
    gguf.close();
    expect(gguf).toMatchObject({ version, tensors: new Map() });
    expect(gguf.metadata).toEqual({
      ...{ small: -2, word: 513, negative: -1, long: 2 ** 40, epsilon: 1e-5, exact: 0.1 },
      ...{ yes: true, text: "größe \u{1f642}", texts: ["\ufeffa", ""], choices: [true, false] },
      numbers: Float64Array.of(1, 2),
    });
  });

  it("gives tensors in torch's order of sizes, and their values", () => {
    const bytes = ggufBytes({ tensors: [{ name: "a", sizes: [3, 2] }], data: 24 });
    for (let i = 0; i < 6; i++) bytes.writeFloatLE(i, bytes.length - 24 + 4 * i);
    withoutLeaks(() => {
      const gguf = openGguf(fileOf(bytes));
      const tensor = gguf.load("a", "float32");
      gguf.close();
      const expected = [
        [0, 1, 2],
        [3, 4, 5],
      ];
      expect(tensor.toArray()).toEqual(expected);
      tensor.dispose();
    });
  });

  it("names the tensor with a value that is no number", () => {
    const bytes = ggufBytes({ tensors: [{ name: "a", sizes: [2] }], data: 8 });
    bytes.writeFloatLE(Number.NaN, bytes.length - 4);
    withoutLeaks(() => {
      const gguf = openGguf(fileOf(bytes));
      expect(() => gguf.load("a", "float32")).toThrow(
        /tensor "a" has 1 or more values that are not/,
      );
      gguf.close();
    });
  });
});

const entries = [raw.entry("a", "b")];
const tensor = { name: "a", sizes: [32] };
const twice = (start: number) => [tensor, { name: "b", sizes: [32], start }];

describe("a file that is wrong", () => {
  it.each<[string, RawFile | Buffer, RegExp]>([
    ["empty", Buffer.alloc(0), /does not begin as a GGUF file/],
    ["another kind", Buffer.alloc(100, "x"), /does not begin as a GGUF file/],
    ["version 1", { version: 1 }, /is of version 1; versions 2 and 3 are read/],
    ["version 4", { version: 4 }, /is of version 4/],
    ["the other end first", { version: 3 << 24 }, /most significant byte first/],
    [
      "2⁶⁴ − 1 tensors",
      { tensorCount: 2n ** 64n - 1n },
      /number of tensors claims 18446744073709551615/,
    ],
    [
      "more tensors than bytes",
      { tensorCount: 1000 },
      /tensors claims 1000 entries, but only 16 bytes follow: truncated/,
    ],
    ["2⁶³ entries", { entryCount: 2n ** 63n }, /number of metadata entries claims/],
    ["more entries than bytes", { entries, entryCount: 9 }, /truncated/],
    [
      "a key without an end",
      { entries: [raw.uint64(2n ** 60n), Buffer.alloc(9)] },
      /claims a text of/,
    ],
    ["a key beyond the file", { entries: [raw.uint64(5000), Buffer.alloc(9)] }, /truncated/],
    ["a key that is no text", { entries: [raw.text(Buffer.from([0xff])), raw.uint32(0)] }, /UTF-8/],
    ["an unknown type of value", { entries: [value("a", 13)] }, /value of "a" has the type 13/],
    ["a key twice", { entries: [...entries, ...entries] }, /key "a" appears twice/],
    [
      "a truth of 7",
      { entries: [value("a", VALUE.bool, Buffer.from([7]))] },
      /is 7; expected 0 or 1/,
    ],
    [
      "a list of 2⁴⁰",
      { entries: [list("a", VALUE.uint8, 2 ** 40)] },
      /value of "a" claims 1099511627776/,
    ],
    [
      "a list beyond the file",
      { entries: [list("a", VALUE.uint64, 1000)] },
      /value of "a" claims 1000 entries, but only/,
    ],
    [
      "texts beyond the file",
      { entries: [list("a", VALUE.string, 1000)] },
      /value of "a" claims 1000 entries, but only/,
    ],
    ["lists in lists", { entries: [list("a", VALUE.array, 1)] }, /is a list of lists/],
    ["no dimensions", { tensors: [{ name: "a", sizes: [] }], data: 64 }, /has 0 dimensions/],
    ["five dimensions", { tensors: [{ name: "a", sizes: [1, 1, 1, 1, 1] }] }, /has 5 dimensions/],
    ["a size of 0", { tensors: [{ name: "a", sizes: [3, 0] }], data: 64 }, /has 0 elements/],
    [
      "sizes whose product overflows",
      { tensors: [{ name: "a", sizes: [2n ** 32n, 2n ** 32n] }], data: 64 },
      /has 18446744073709551616 elements/,
    ],
    [
      "a type of nobody",
      { tensors: [{ ...tensor, type: 99 }], data: 64 },
      /the type 99 is unknown/,
    ],
    [
      "a type that is not read",
      { tensors: [{ ...tensor, type: 10 }], data: 64 },
      /Q2_K is not read/,
    ],
    [
      "half a block",
      { tensors: [{ name: "a", sizes: [33], type: 8 }], data: 64 },
      /no whole blocks/,
    ],
    ["a start beyond", { tensors: [{ ...tensor, start: 2n ** 62n }] }, /beyond any file/],
    ["a start aside", { tensors: [{ ...tensor, start: 4 }], data: 256 }, /no multiple of 32/],
    [
      "too little data",
      { tensors: [tensor], data: 127 },
      /ends at byte \d+, the file at \d+: truncated/,
    ],
    [
      "too much data",
      { tensors: [tensor], data: 400 },
      /bytes after tensor "a" belong to no tensor/,
    ],
    [
      "tensors over each other",
      { tensors: twice(96), data: 256 },
      /tensor "b" overlaps tensor "a"/,
    ],
    ["tensors far apart", { tensors: twice(256), data: 512 }, /128 bytes between tensor "a" and/],
    [
      "the same name",
      { tensors: [tensor, { ...tensor, start: 128 }], data: 256 },
      /"a" appears twice/,
    ],
    [
      "an alignment of 3",
      { entries: [value("general.alignment", VALUE.uint32, raw.uint32(3))] },
      /general\.alignment is 3; expected a power of two/,
    ],
    [
      "an alignment of 2³⁰",
      { entries: [value("general.alignment", VALUE.uint32, raw.uint32(2 ** 30))] },
      /general\.alignment is 1073741824/,
    ],
    ["an alignment in words", { entries: [raw.entry("general.alignment", "32")] }, /is "32"/],
  ])("%s", (_, wrong, message) => {
    const file = fileOf(Buffer.isBuffer(wrong) ? wrong : ggufBytes(wrong));
    const begun = performance.now();
    expect(() => openGguf(file)).toThrow(ModelFileError);
    expect(() => openGguf(file)).toThrow(message);
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it("cut off anywhere", () => {
    const whole = ggufBytes({
      entries: [...entries, list("texts", VALUE.string, 2, raw.text("x"), raw.text("yy"))],
      ...{ tensors: twice(128), data: 256 },
    });
    openGguf(fileOf(whole)).close();
    const folder = temporaryFolder();
    for (let length = 0; length < whole.length; length++) {
      const file = join(folder, "cut.gguf");
      writeFileSync(file, whole.subarray(0, length));
      expect(() => openGguf(file), String(length)).toThrow(ModelFileError);
    }
  });

  it("a folder, or nothing", () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "a.gguf"));
    expect(() => openGguf(join(folder, "a.gguf"))).toThrow(/is not a regular file/);
    expect(() => openGguf(join(folder, "b.gguf"))).toThrow(/the file does not exist/);
  });
});
