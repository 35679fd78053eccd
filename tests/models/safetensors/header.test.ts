/**
 * @file Corrupt and hostile safetensors files: each refused with its name and the reason.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelFileError } from "../../../src/models/checkpoint/errors.ts";
import { openSafetensors } from "../../../src/models/safetensors/file.ts";
import { tidy } from "../../../src/torch/index.ts";
import { safetensorsBytes, temporaryFolder, withoutLeaks, writeBytes } from "../files.ts";

const entry = (dtype: unknown, shape: unknown, data_offsets: unknown) => ({
  dtype,
  shape,
  data_offsets,
});

/** Opens the bytes as a file, loads everything, closes. */
function useAll(bytes: Uint8Array): void {
  const path = writeBytes(temporaryFolder(), "model.safetensors", bytes);
  const file = openSafetensors(path);
  try {
    tidy(() => {
      for (const name of file.tensors.keys()) {
        file.load(name).toTypedArray();
        file.load(name, { copy: true, dtype: "float32" }).toTypedArray();
      }
    });
  } finally {
    file.close();
  }
}

describe("a header that is right", () => {
  it.each([
    ["one tensor", { a: entry("F32", [2], [0, 8]) }, 8],
    ["without tensors", {}, 0],
    ["with notes", { __metadata__: { format: "pt" }, a: entry("U8", [3], [0, 3]) }, 3],
    ["a scalar", { a: entry("F64", [], [0, 8]) }, 8],
    ["an empty tensor", { a: entry("F32", [0, 5], [0, 0]), b: entry("I8", [1], [0, 1]) }, 1],
    ["any order", { b: entry("F32", [1], [4, 8]), a: entry("F32", [1], [0, 4]) }, 8],
    ["data that is not aligned", { a: entry("U8", [1], [0, 1]), b: entry("F32", [2], [1, 9]) }, 9],
    ["a name like a prototype's", { constructor: entry("U8", [1], [0, 1]) }, 1],
  ])("%s", (_, header, bytes) => {
    withoutLeaks(() => useAll(safetensorsBytes(header, bytes)));
  });
});

describe("a file is refused", () => {
  const huge = Buffer.alloc(16);
  huge.writeBigUInt64LE(2n ** 63n);
  const longer = Buffer.alloc(16);
  longer.writeBigUInt64LE(9n);
  const whole = safetensorsBytes({ a: entry("F32", [2], [0, 8]) }, 8);
  const cases: [string, Uint8Array, RegExp][] = [
    ["empty", new Uint8Array(), /has 0 bytes.*truncated/],
    ["shorter than its length field", new Uint8Array(5), /has 5 bytes/],
    ["with a header above the limit", huge, /claims a header of 9223372036854775808 bytes/],
    ["with a header longer than itself", longer, /header of 9 bytes, but only 8 follow/],
    ["truncated in the data", whole.slice(0, -1), /"a" ends at byte \d+.*truncated/],
    ["truncated in the header", whole.slice(0, 30), /but only 22 follow/],
    ["with bytes left over", Buffer.concat([whole, new Uint8Array(1)]), /1 bytes after tensor "a"/],
    ["not UTF-8", safetensorsBytes("{}", 0).fill(0xff, 8), /not valid UTF-8/],
    ["not JSON", safetensorsBytes('{"a":', 0), /not valid JSON/],
    ["a JSON list", safetensorsBytes("[]", 0), /does not begin with \{/],
    ["JSON after a space", safetensorsBytes(" {}", 0), /does not begin with \{/],
  ];
  const headers: [string, unknown, number, RegExp][] = [
    ["a tensor that is a list", { a: [] }, 0, /"a": expected an object/],
    ["an unknown dtype", { a: entry("F31", [1], [0, 4]) }, 4, /"a": dtype "F31" is unknown/],
    ["no dtype", { a: { shape: [1], data_offsets: [0, 4] } }, 4, /dtype undefined is unknown/],
    ["a dtype we lack", { a: entry("F8_E4M3", [1], [0, 1]) }, 1, /F8_E4M3 is not supported here/],
    ["a negative size", { a: entry("F32", [-1], [0, 4]) }, 4, /shape must be/],
    ["a fractional size", { a: entry("F32", [1.5], [0, 6]) }, 6, /shape must be/],
    ["a size as text", { a: entry("F32", ["1"], [0, 4]) }, 4, /shape must be/],
    ["a shape that overflows", { a: entry("F32", [2 ** 40, 2 ** 40], [0, 4]) }, 4, /too large/],
    [
      "a product that overflows to the right size",
      { a: entry("U8", [2 ** 32, 2 ** 32, 0], [0, 4]) },
      4,
      /needs 0 bytes, data_offsets give 4/,
    ],
    ["a size that is not exact", { a: entry("U8", [2 ** 53], [0, 4]) }, 4, /shape must be/],
    ["the wrong byte count", { a: entry("F32", [2], [0, 4]) }, 4, /needs 8 bytes/],
    ["offsets backwards", { a: entry("F32", [1], [4, 0]) }, 4, /go backwards/],
    ["one offset", { a: entry("F32", [1], [0]) }, 4, /two non-negative integers/],
    ["a negative offset", { a: entry("F32", [1], [-4, 0]) }, 4, /two non-negative/],
    ["an end outside", { a: entry("F32", [4], [0, 16]) }, 8, /ends at byte .*truncated/],
    [
      "an overlap",
      { a: entry("F32", [2], [0, 8]), b: entry("F32", [1], [4, 8]) },
      8,
      /"b" overlaps tensor "a"/,
    ],
    [
      "the same bytes twice",
      { a: entry("F32", [1], [0, 4]), b: entry("F32", [1], [0, 4]) },
      4,
      /overlaps/,
    ],
    ["a hole at the start", { a: entry("F32", [1], [4, 8]) }, 8, /4 bytes between the header/],
    [
      "a hole",
      { a: entry("U8", [1], [0, 1]), b: entry("U8", [1], [2, 3]) },
      3,
      /1 bytes between tensor "a" and tensor "b"/,
    ],
    ["notes that are no strings", { __metadata__: { a: 1 } }, 0, /__metadata__ must be/],
    ["an unknown key", { a: { ...entry("U8", [1], [0, 1]), x: 1 } }, 1, /key "x" is unknown/],
    [
      "a name twice",
      '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
      1,
      /the key "a" appears twice/,
    ],
    [
      "a key twice inside",
      '{"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}}',
      1,
      /the key "shape" appears twice/,
    ],
  ];
  for (const [name, header, bytes, reason] of headers)
    cases.push([`with ${name}`, safetensorsBytes(header, bytes), reason]);

  it.each(cases)("%s", (_, bytes, reason) => {
    withoutLeaks(() => {
      const folder = temporaryFolder();
      const path = writeBytes(folder, "model.safetensors", bytes);
      expect(() => openSafetensors(path)).toThrow(reason);
      expect(() => openSafetensors(path)).toThrow(ModelFileError);
      expect(() => openSafetensors(path)).toThrow(path);
    });
  });

  it("that does not exist, is a folder, or is a pipe", () => {
    const folder = temporaryFolder();
    expect(() => openSafetensors(join(folder, "none"))).toThrow("does not exist");
    mkdirSync(join(folder, "folder"));
    expect(() => openSafetensors(join(folder, "folder"))).toThrow("not a regular file");
    if (spawnSync("mkfifo", [join(folder, "pipe")]).status === 0)
      expect(() => openSafetensors(join(folder, "pipe"))).toThrow("not a regular file");
  });

  it("and leaves no open file behind", () => {
    if (!existsSync("/proc/self/fd")) return;
    const path = writeBytes(temporaryFolder(), "x", new Uint8Array(4));
    const before = readdirSync("/proc/self/fd").length;
    for (let i = 0; i < 20; i++) expect(() => openSafetensors(path)).toThrow();
    expect(readdirSync("/proc/self/fd").length).toBe(before);
  });
});

describe("whatever the bytes are", () => {
  /** Either everything loads, or the file is refused; nothing else happens. */
  const usedOrRefused = (bytes: Uint8Array): void =>
    withoutLeaks(() => {
      try {
        useAll(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(ModelFileError);
      }
    });

  it("random bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), usedOrRefused), { numRuns: 200 });
  });

  it("random headers", () => {
    const size = fc.oneof(fc.nat(6), fc.constantFrom(-1, 1.5, 2 ** 31, 2 ** 53, 1e300, "1", null));
    const tensor = fc.record({
      dtype: fc.constantFrom("F32", "BF16", "F16", "I64", "U8", "BOOL", "F8_E4M3", "X", 1),
      shape: fc.oneof(fc.array(size, { maxLength: 4 }), fc.constant(null)),
      data_offsets: fc.oneof(fc.array(size, { maxLength: 3 }), fc.tuple(fc.nat(64), fc.nat(64))),
    });
    const header = fc.oneof(
      fc.dictionary(fc.string({ maxLength: 4 }), fc.oneof(tensor, fc.jsonValue()), { maxKeys: 4 }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(header, fc.nat(64), (json, bytes) =>
        usedOrRefused(safetensorsBytes(json, bytes)),
      ),
      { numRuns: 500 },
    );
  });

  it("a good file with some bytes changed or cut off", () => {
    const header = {
      __metadata__: { format: "pt" },
      "model.norm.weight": entry("F32", [4], [0, 16]),
      "lm_head.weight": entry("BF16", [2, 3], [16, 28]),
      flags: entry("BOOL", [4], [28, 32]),
    };
    const good = safetensorsBytes(header, 32);
    usedOrRefused(good);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 3 }),
        fc.nat(good.length),
        (changes, length) => {
          const bytes = Uint8Array.from(good);
          for (const [place, value] of changes) bytes[place] = value;
          usedOrRefused(bytes.subarray(0, length % 3 === 0 ? length : bytes.length));
        },
      ),
      { numRuns: 500 },
    );
  });
});
