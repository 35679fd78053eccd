/**
 * @file Models from folders and back: bit for bit, what is wrong by name, and in little memory.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  loadModel,
  type Model,
  newModel,
  openCheckpoint,
  parameterShapes,
  presetConfig,
  readModelConfig,
  saveModel,
  toConfigJson,
  writeCheckpoint,
} from "../../src/models/index.ts";
import { full, Generator, returnFreedMemory, type Tensor, tidy } from "../../src/torch/index.ts";
import { GOLDEN, goldenNames, isWithoutGolden, temporaryFolder, withoutLeaks } from "./files.ts";

function requireSame(a: Model, b: Model): void {
  const other = b.weights();
  for (const [name, weight] of a.weights()) {
    expect(other.get(name)!.dtype).toBe(weight.dtype);
    expect(weight.eq(other.get(name)!).all().item(), name).toBe(1);
  }
}

/** What a folder's weights are, by name. */
function infos(folder: string): Record<string, string> {
  const checkpoint = openCheckpoint(folder);
  const entries = checkpoint.names.map((name): [string, string] => {
    const { dtype, shape } = checkpoint.info(name);
    return [name, `${dtype} ${shape}`];
  });
  checkpoint.close();
  return Object.fromEntries(entries);
}

describe.skipIf(isWithoutGolden())("golden folders", () => {
  it.each(goldenNames())("%s: load, save, load", (name) => {
    const [folder, again] = [join(GOLDEN, name), join(temporaryFolder(), "model")];
    withoutLeaks(() =>
      tidy(() => {
        const first = loadModel(folder);
        saveModel(first, again);
        const second = loadModel(again);
        requireSame(first, second);
        expect(infos(again)).toEqual(infos(folder));
        const { dtype, ...config } = readModelConfig(folder);
        expect(readModelConfig(again)).toEqual({ ...config, dtype: expect.any(String) });
        first.dispose();
        second.dispose();
      }),
    );
  });

  it("converts on the way in and out", () => {
    const again = join(temporaryFolder(), "model");
    withoutLeaks(() =>
      tidy(() => {
        const long = loadModel(join(GOLDEN, "qwen2-tiny"), { dtype: "bfloat16" });
        expect([...long.parameters.values()].every(({ dtype }) => dtype === "bfloat16")).toBe(true);
        saveModel(long, again, { dtype: "float32" });
        expect(readModelConfig(again).dtype).toBe("float32");
        const back = loadModel(again, { dtype: "bfloat16" });
        requireSame(long, back);
        long.dispose();
        back.dispose();
      }),
    );
  });
});

describe("wrong weights", () => {
  const config = presetConfig("tiny");
  const write = (change: (weights: Map<string, Tensor>) => void): string => {
    const folder = temporaryFolder();
    tidy(() => {
      const weights = new Map(
        [...parameterShapes(config)].map(([name, shape]) => [name, full(shape, 0.5)]),
      );
      change(weights);
      writeCheckpoint(folder, weights);
    });
    writeFileSync(join(folder, "config.json"), JSON.stringify(toConfigJson(config)));
    return folder;
  };
  const down = "model.layers.1.mlp.down_proj.weight";

  it.each<[string, (weights: Map<string, Tensor>) => void, RegExp]>([
    ["missing", (weights) => weights.delete(down), /missing: model\.layers\.1\.mlp\.down_proj/],
    [
      "misshapen",
      (weights) => weights.set(down, full([3, 4], 1)),
      /down_proj\.weight has the shape \[3,4\] instead of \[64,128\]/,
    ],
    ["extra", (weights) => weights.set("other", full([1], 1)), /not expected: other/],
    [
      "not finite",
      (weights) => weights.set(down, full([64, 128], Number.NaN)),
      /down_proj\.weight" has .* not finite/,
    ],
  ])("%s: an error that names it", (_, change, message) => {
    const folder = write(change);
    withoutLeaks(() => expect(() => loadModel(folder)).toThrow(message));
  });

  it("may be loaded for a look", () => {
    const folder = write((weights) => weights.set(down, full([64, 128], Number.NaN)));
    withoutLeaks(() => loadModel(folder, { checkFinite: false }).dispose());
  });

  it("a folder that is not there", () => {
    expect(() => loadModel("/nowhere/model")).toThrow(
      /\/nowhere\/model: the folder does not exist/,
    );
  });
});

const RESET_PEAK = "/proc/self/clear_refs";

it.skipIf(!existsSync(RESET_PEAK))("loading takes at most 1.3 times the loaded size", () => {
  const resident = (key: "VmRSS" | "VmHWM"): number =>
    Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))![1]);
  const folder = join(temporaryFolder(), "model");
  const config = presetConfig("medium", { vocabularySize: 60_000 });
  const fresh = newModel(config, new Generator(1));
  saveModel(fresh, folder, { dtype: "bfloat16" });
  fresh.dispose();
  returnFreedMemory();
  writeFileSync(RESET_PEAK, "5");
  const before = resident("VmRSS");
  const model = loadModel(folder);
  const bytes = [...model.parameters.values()].reduce((sum, weight) => sum + weight.byteLength, 0);
  const ratio = ((resident("VmHWM") - before) * 1024) / bytes;
  model.dispose();
  console.log(`${(bytes / 1e6).toFixed(0)} MB loaded, peak ${ratio.toFixed(2)} times that`);
  expect(ratio).toBeLessThan(1.3);
});
