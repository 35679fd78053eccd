/**
 * @file Files mapped into memory as tensors.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { mapFile, tidy } from "../../src/torch/index.ts";
import { collectGarbage } from "./support/garbage.ts";
import { expectTensor } from "./support/values.ts";

const folder = mkdtempSync(join(tmpdir(), "openmanus-map-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function fileWith(bytes: Uint8Array): string {
  const path = join(folder, `${files++}.bin`);
  writeFileSync(path, bytes);
  return path;
}

it("shows the bytes, and values within them", () => {
  const values = Float32Array.of(1.5, -2, 3);
  const path = fileWith(Buffer.concat([Buffer.from([9, 9, 9, 9]), Buffer.from(values.buffer)]));
  tidy(() => {
    const bytes = mapFile(path);
    expect([bytes.dtype, bytes.shape]).toEqual(["uint8", [16]]);
    expectTensor(bytes.narrow(0, 4, 12).viewAs("float32"), [1.5, -2, 3]);
  });
});

it("private: writes stay in this process", () => {
  const path = fileWith(Uint8Array.of(1, 2, 3));
  tidy(() => {
    const bytes = mapFile(path);
    bytes.fill_(7);
    expectTensor(bytes, [7, 7, 7]);
  });
  expect([...readFileSync(path)]).toEqual([1, 2, 3]);
});

it("shared: writes go to the file", () => {
  const path = fileWith(Uint8Array.of(1, 2, 3));
  tidy(() => mapFile(path, "shared").narrow(0, 1, 1).fill_(7));
  expect([...readFileSync(path)]).toEqual([1, 7, 3]);
});

it("a view keeps the mapping, and a deleted file its bytes", async () => {
  const path = fileWith(new Uint8Array(10_000).fill(5));
  const part = tidy(() => mapFile(path).narrow(0, 9_000, 1_000));
  rmSync(path);
  await collectGarbage();
  expect(part.sum().item()).toBe(5_000);
  part.dispose();
});

it("an empty file is an empty tensor", () => {
  const path = fileWith(new Uint8Array(0));
  tidy(() => {
    for (const mode of ["private", "shared"] as const)
      expectTensor(mapFile(path, mode), [], { shape: [0] });
  });
});

it("what cannot be mapped is an error with the path", () => {
  const missing = join(folder, "missing.bin");
  expect(() => mapFile(missing)).toThrow(`cannot open ${missing}: No such file or directory`);
  expect(() => mapFile(folder)).toThrow(`cannot map ${folder}: not a regular file`);
  expect(() => mapFile(folder, "shared")).toThrow(folder);
  expect(() => mapFile("/dev/zero")).toThrow("not a regular file");
  expect(() => mapFile(fileWith(Uint8Array.of(1)), "both" as "shared")).toThrow(
    'expected "private" or "shared", got "both"',
  );
});
