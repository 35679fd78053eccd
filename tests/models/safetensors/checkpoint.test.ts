/**
 * @file Reading weights: values, dtypes, sharing, shards and their index.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyCheckpoint } from "../../../src/models/checkpoint/verify.ts";
import { readModelConfig } from "../../../src/models/config/parse.ts";
import { INDEX_FILE, openCheckpoint } from "../../../src/models/safetensors/checkpoint.ts";
import { openSafetensors } from "../../../src/models/safetensors/file.ts";
import { writeSafetensors } from "../../../src/models/safetensors/writer.ts";
import {
  arange,
  type Dtype,
  dispose,
  Generator,
  memory,
  randn,
  tensor,
  tidy,
  zeros,
} from "../../../src/torch/index.ts";
import {
  GOLDEN,
  goldenNames,
  isWithoutGolden,
  safetensorsBytes,
  temporaryFolder,
  withoutLeaks,
  writeBytes,
} from "../files.ts";

/** A file with one tensor of each dtype and awkward shapes. */
function sample(folder: string): string {
  const path = join(folder, "model.safetensors");
  tidy(() => {
    const generator = new Generator(7);
    writeSafetensors(path, [
      ["float", randn([3, 5], generator)],
      ["bfloat", randn([7], generator).to("bfloat16")],
      ["half", randn([2, 2, 2], generator).to("float16")],
      ["long", arange(-2, 3)],
      ["flags", tensor([true, false, true])],
      ["scalar", tensor(2.5)],
      ["none", zeros([0, 4])],
    ]);
  });
  return path;
}

describe("load", () => {
  it("gives views of the file, which outlive it and never change it", () => {
    withoutLeaks(() => {
      const path = sample(temporaryFolder());
      const file = openSafetensors(path);
      const first = file.load("float");
      const second = file.load("float");
      expect(first.sharesStorageWith(second)).toBe(true);
      const before = first.toNumbers();
      file.close();
      second.fill_(9);
      expect(first.toNumbers()).toEqual(new Float64Array(15).fill(9));
      dispose([first, second]);
      const again = openSafetensors(path);
      tidy(() => expect(again.load("float").toNumbers()).toEqual(before));
      again.close();
    });
  });

  it("gives memory of its own when asked, or for another dtype", () => {
    const file = openSafetensors(sample(temporaryFolder()));
    tidy(() => {
      const shared = file.load("float");
      for (const dtype of ["float32", "float64", "bfloat16", "float16"] as Dtype[]) {
        const copied = file.load("float", { dtype, copy: true });
        expect(copied.dtype).toBe(dtype);
        expect(copied.sharesStorageWith(shared)).toBe(false);
        expect(copied.toNumbers()).toEqual(shared.to(dtype).toNumbers());
      }
      expect(file.load("bfloat", { dtype: "float32" }).toNumbers()).toEqual(
        file.load("bfloat").toNumbers(),
      );
      expect(file.load("flags").toArray()).toEqual([true, false, true]);
      expect(file.load("scalar").toArray()).toBe(2.5);
      expect(file.load("none").shape).toEqual([0, 4]);
      expect(file.load("long", { copy: true }).toArray()).toEqual([-2, -1, 0, 1, 2]);
    });
    file.close();
  });

  it("copies what is not aligned", () => {
    const values = new Uint8Array([1, ...new Uint8Array(new Float32Array([1.5, -2]).buffer)]);
    const header = {
      a: { dtype: "U8", shape: [1], data_offsets: [0, 1] },
      b: { dtype: "F32", shape: [2], data_offsets: [1, 9] },
    };
    const file = openSafetensors(
      writeBytes(temporaryFolder(), "x.safetensors", safetensorsBytes(header, values)),
    );
    tidy(() => expect(file.load("b").toArray()).toEqual([1.5, -2]));
    file.close();
  });

  it("reads large tensors in portions", () => {
    const path = join(temporaryFolder(), "large.safetensors");
    tidy(() => {
      // More than one portion of 16 MB, and not a multiple of it.
      const large = arange(0, 9_000_001, 1, { dtype: "float32" });
      writeSafetensors(path, [["large", large]]);
      const file = openSafetensors(path);
      expect(file.load("large", { copy: true }).eq(large).all().item()).toBe(1);
      expect(file.load("large").eq(large).all().item()).toBe(1);
      const doubled = file.load("large", { dtype: "float64" });
      expect(doubled.eq(large.to("float64")).all().item()).toBe(1);
      file.close();
    });
  });

  it("belongs to the scope around it, the map does not", () => {
    withoutLeaks(() => {
      const file = openSafetensors(sample(temporaryFolder()));
      const before = memory().tensors;
      tidy(() => {
        file.load("float");
      });
      expect(memory().tensors).toBe(before + 1);
      tidy(() => expect(file.load("float").shape).toEqual([3, 5]));
      file.close();
    });
  });

  it("finds weights that are no numbers, on request", () => {
    withoutLeaks(() => {
      const path = join(temporaryFolder(), "x.safetensors");
      tidy(() =>
        writeSafetensors(path, [
          ["good", tensor([1, 2])],
          [
            "bad",
            tensor([
              [0, 1],
              [Number.NaN, Number.POSITIVE_INFINITY],
            ]),
          ],
          ["low", tensor([1, Number.NEGATIVE_INFINITY], { dtype: "bfloat16" })],
        ]),
      );
      const file = openSafetensors(path);
      tidy(() => {
        file.load("good", { checkFinite: true });
        file.load("bad");
        expect(() => file.load("bad", { checkFinite: true })).toThrow(
          /"bad" has 2 .*first is NaN at element 2 of shape \[2,2\]/,
        );
        expect(() => file.load("low", { checkFinite: true, dtype: "float32" })).toThrow(
          /"low".*-Infinity at element 1/,
        );
      });
      file.close();
    });
  });

  it("says what is wrong with the request", () => {
    const file = openSafetensors(sample(temporaryFolder()));
    expect(() => file.load("absent")).toThrow('has no tensor "absent"');
    file.close();
    file.close();
    expect(() => file.load("float")).toThrow("was closed");
  });

  it("still reads the file that was opened after another took its name", () => {
    const folder = temporaryFolder();
    const path = sample(folder);
    const file = openSafetensors(path);
    tidy(() => {
      writeSafetensors(path, [["float", zeros([3, 5])]]);
      expect(file.load("float").abs().sum().item()).toBeGreaterThan(0);
      expect(file.load("float", { copy: true }).abs().sum().item()).toBeGreaterThan(0);
    });
    file.close();
  });
});

describe("shards", () => {
  /** Two shards, a and b in the first, c in the second. */
  function shards(folder: string): void {
    tidy(() => {
      writeSafetensors(join(folder, "one.safetensors"), [
        ["a", zeros([2])],
        ["b", zeros([1])],
      ]);
      writeSafetensors(join(folder, "two.safetensors"), [["c", zeros([3])]]);
    });
  }
  const good = { a: "one.safetensors", b: "one.safetensors", c: "two.safetensors" };
  const index = (folder: string, weight_map: unknown): void =>
    writeFileSync(join(folder, INDEX_FILE), JSON.stringify({ metadata: {}, weight_map }));

  it("are one set of tensors", () => {
    withoutLeaks(() => {
      const folder = temporaryFolder();
      shards(folder);
      index(folder, good);
      const checkpoint = openCheckpoint(folder);
      expect(checkpoint.names).toEqual(["a", "b", "c"]);
      expect(checkpoint.info("c")).toEqual({
        dtype: "float32",
        shape: [3],
        byteLength: 12,
        file: join(folder, "two.safetensors"),
      });
      tidy(() => expect(checkpoint.load("c").toArray()).toEqual([0, 0, 0]));
      expect(() => checkpoint.load("d")).toThrow('no tensor "d"');
      checkpoint.close();
    });
  });

  it.each<[string, unknown, RegExp]>([
    [
      "a shard that is not there",
      { ...good, d: "three.safetensors" },
      /three\.safetensors, which does not exist/,
    ],
    [
      "a tensor that no shard has",
      { ...good, d: "two.safetensors" },
      /says that two\.safetensors holds "d"/,
    ],
    [
      "a tensor in the wrong shard",
      { ...good, c: "one.safetensors" },
      /one\.safetensors holds "c"; it does not/,
    ],
    [
      "a tensor left out",
      { a: "one.safetensors", c: "two.safetensors" },
      /holds "b", which the index does not name/,
    ],
    [
      "a path out of the folder",
      { ...good, a: "../one.safetensors" },
      /expected the name of a \.safetensors file/,
    ],
    ["an absolute path", { ...good, a: "/etc/one.safetensors" }, /expected the name/],
    ["a path in Windows' way", { ...good, a: "..\\one.safetensors" }, /expected the name/],
    ["another kind of file", { ...good, a: "config.json" }, /expected the name/],
    ["a number", { ...good, a: 1 }, /expected the name/],
    ["a list", [], /weight_map must be an object/],
    ["nothing", {}, /weight_map is empty/],
  ])("an index with %s is refused", (_, weight_map, reason) => {
    withoutLeaks(() => {
      const folder = temporaryFolder();
      shards(folder);
      index(folder, weight_map);
      expect(() => openCheckpoint(folder)).toThrow(reason);
      expect(() => openCheckpoint(folder)).toThrow(folder);
    });
  });

  it("with a tensor twice are refused", () => {
    const folder = temporaryFolder();
    shards(folder);
    tidy(() =>
      writeSafetensors(join(folder, "two.safetensors"), [
        ["c", zeros([3])],
        ["a", zeros([2])],
      ]),
    );
    index(folder, good);
    expect(() => openCheckpoint(folder)).toThrow(/holds "a".*places in one\.safetensors.*twice/);
  });

  it("with a truncated one are refused", () => {
    const folder = temporaryFolder();
    shards(folder);
    writeBytes(folder, "two.safetensors", new Uint8Array(20));
    index(folder, good);
    expect(() => openCheckpoint(folder)).toThrow(/two\.safetensors/);
  });
});

describe("a folder without weights", () => {
  it("says what is missing", () => {
    const folder = temporaryFolder();
    expect(() => openCheckpoint(join(folder, "none"))).toThrow("does not exist");
    expect(() => openCheckpoint(folder)).toThrow("neither model.safetensors nor");
    writeFileSync(join(folder, "pytorch_model.bin"), "");
    expect(() => openCheckpoint(folder)).toThrow("pytorch_model.bin is not read");
  });
});

describe.skipIf(isWithoutGolden())("golden models", () => {
  it.each(goldenNames())("%s has exactly the tensors of its config", (name) => {
    withoutLeaks(() => {
      const config = readModelConfig(join(GOLDEN, name));
      const checkpoint = openCheckpoint(join(GOLDEN, name));
      const names = verifyCheckpoint(checkpoint, config);
      expect([...names].sort()).toEqual([...checkpoint.names].sort());
      tidy(() => {
        for (const tensorName of names) {
          const loaded = checkpoint.load(tensorName, { checkFinite: true });
          expect(loaded.dtype).toBe(config.dtype);
          expect(loaded.shape).toEqual(checkpoint.info(tensorName).shape);
        }
      });
      checkpoint.close();
    });
  });
});
