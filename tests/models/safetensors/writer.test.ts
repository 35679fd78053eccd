/**
 * @file Writing weights: bytes, dtypes, shards, and what is left when it fails.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCheckpoint } from "../../../src/models/safetensors/checkpoint.ts";
import { openSafetensors } from "../../../src/models/safetensors/file.ts";
import { writeCheckpoint } from "../../../src/models/safetensors/shards.ts";
import { writeSafetensors } from "../../../src/models/safetensors/writer.ts";
import {
  arange,
  Generator,
  ones,
  randn,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../../src/torch/index.ts";
import { GOLDEN, isWithoutGolden, temporaryFolder, withoutLeaks } from "../files.ts";

/** Every tensor's dtype, shape and bytes. */
function contents(folder: string): Map<string, string> {
  const checkpoint = openCheckpoint(folder);
  const found = tidy(
    () =>
      new Map(
        [...checkpoint.names].sort().map((name) => {
          const loaded = checkpoint.load(name);
          const bytes =
            loaded.numel === 0 ? [] : loaded.reshape([-1]).viewAs("uint8").toTypedArray();
          return [
            name,
            `${loaded.dtype} [${loaded.shape}] ${Buffer.from(bytes as Uint8Array).toString("hex")}`,
          ];
        }),
      ),
  );
  checkpoint.close();
  return found;
}

describe("writeSafetensors", () => {
  it("writes the reference's bytes", () => {
    const folder = temporaryFolder();
    const path = join(folder, "x.safetensors");
    tidy(() =>
      writeSafetensors(path, [
        ["b", tensor([1, 2], { dtype: "bfloat16" })],
        ["a", tensor([true])],
        ["é", tensor([7n])],
      ]),
    );
    // Larger elements first, spaces up to a multiple of 8: as safetensors' save_file writes it.
    const header =
      '{"__metadata__":{"format":"pt"},"é":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},' +
      '"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},"a":{"dtype":"BOOL","shape":[1],"data_offsets":[12,13]}}';
    const bytes = readFileSync(path);
    const length = Number(bytes.readBigUInt64LE(0));
    expect(length % 8).toBe(0);
    expect(
      bytes
        .subarray(8, 8 + length)
        .toString("utf8")
        .trimEnd(),
    ).toBe(header);
    expect([...bytes.subarray(8 + length)]).toEqual([
      7, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0x40, 1,
    ]);
    expect(readdirSync(folder)).toEqual(["x.safetensors"]);
  });

  it("writes the same bytes in whatever order the tensors come", () => {
    const folder = temporaryFolder();
    tidy(() => {
      const generator = new Generator(1);
      const tensors = ["x", "y", "a.b"].map((name): [string, Tensor] => [
        name,
        randn([5, 3], generator),
      ]);
      writeSafetensors(join(folder, "1"), tensors);
      writeSafetensors(join(folder, "2"), [...tensors].reverse());
    });
    expect(readFileSync(join(folder, "1"))).toEqual(readFileSync(join(folder, "2")));
  });

  it("converts floating-point tensors, and takes any strides and gradients", () => {
    withoutLeaks(() => {
      const path = join(temporaryFolder(), "x.safetensors");
      tidy(() => {
        const matrix = arange(0, 6, 1, { dtype: "float32" }).view([2, 3]);
        writeSafetensors(
          path,
          [
            ["turned", matrix.t()],
            ["parameter", ones([2], { requiresGrad: true })],
            ["ids", arange(0, 3)],
          ],
          { dtype: "float16" },
        );
        const file = openSafetensors(path);
        expect(file.load("turned").dtype).toBe("float16");
        expect(file.load("turned").toArray()).toEqual([
          [0, 3],
          [1, 4],
          [2, 5],
        ]);
        expect(file.load("parameter").toArray()).toEqual([1, 1]);
        expect(file.load("ids").dtype).toBe("int64");
        file.close();
      });
    });
  });

  it("leaves the older file alone when it fails", () => {
    withoutLeaks(() => {
      const folder = temporaryFolder();
      const path = join(folder, "x.safetensors");
      writeFileSync(path, "older");
      tidy(() => {
        const twice: [string, Tensor][] = [
          ["a", zeros([1])],
          ["a", zeros([1])],
        ];
        expect(() => writeSafetensors(path, twice)).toThrow("second tensor a");
        const gone = zeros([1]);
        const lost: [string, Tensor][] = [["gone", gone]];
        gone.dispose();
        expect(() => writeSafetensors(path, lost)).toThrow();
      });
      expect(readFileSync(path, "utf8")).toBe("older");
      expect(readdirSync(folder)).toEqual(["x.safetensors"]);
    });
  });
});

describe("writeCheckpoint", () => {
  const tensors = (): [string, Tensor][] => [
    ["model.embed_tokens.weight", ones([10, 4])],
    ["model.layers.0.weight", ones([4, 4])],
    ["model.layers.1.weight", ones([4, 4])],
    ["model.norm.weight", ones([4])],
  ];

  it("fills shards up to the limit and writes an index", () => {
    const folder = temporaryFolder();
    tidy(() => writeCheckpoint(folder, tensors(), { maximumShardBytes: 130 }));
    expect(readdirSync(folder).sort()).toEqual([
      "model-00001-of-00003.safetensors",
      "model-00002-of-00003.safetensors",
      "model-00003-of-00003.safetensors",
      "model.safetensors.index.json",
    ]);
    expect(JSON.parse(readFileSync(join(folder, "model.safetensors.index.json"), "utf8"))).toEqual({
      metadata: { total_size: 304 },
      weight_map: {
        // Larger than the limit: a shard of its own.
        "model.embed_tokens.weight": "model-00001-of-00003.safetensors",
        "model.layers.0.weight": "model-00002-of-00003.safetensors",
        "model.layers.1.weight": "model-00002-of-00003.safetensors",
        "model.norm.weight": "model-00003-of-00003.safetensors",
      },
    });
    const single = temporaryFolder();
    tidy(() => writeCheckpoint(single, tensors()));
    expect(readdirSync(single)).toEqual(["model.safetensors"]);
    expect(contents(folder)).toEqual(contents(single));
  });

  it("does not mix with weights that are there", () => {
    const folder = temporaryFolder();
    tidy(() => {
      writeCheckpoint(folder, tensors());
      expect(() => writeCheckpoint(folder, tensors())).toThrow("has weights already");
      expect(() => writeCheckpoint(temporaryFolder(), tensors(), { maximumShardBytes: 0 })).toThrow(
        "positive number",
      );
    });
  });

  it.skipIf(isWithoutGolden())("load, save, load is bitwise", () => {
    withoutLeaks(() => {
      for (const name of readdirSync(GOLDEN)) {
        const folder = temporaryFolder();
        const checkpoint = openCheckpoint(join(GOLDEN, name));
        tidy(() => {
          const all = checkpoint.names.map((key): [string, Tensor] => [key, checkpoint.load(key)]);
          writeCheckpoint(folder, all, { maximumShardBytes: 60_000 });
        });
        checkpoint.close();
        expect(contents(folder)).toEqual(contents(join(GOLDEN, name)));
      }
    });
  });
});
