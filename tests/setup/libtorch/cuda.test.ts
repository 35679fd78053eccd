/**
 * @file Where CUDA's headers are looked for, and when it is linked.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cudaHeaders, wantsCuda } from "../../../src/setup/libtorch/cuda.ts";
import { temporaryFolder } from "../fakes.ts";

it("headers are beside a wheel's torch, and in CUDA_HOME", () => {
  const folder = temporaryFolder();
  const [nccl, runtime] = ["nccl", "cu13"].map((name) => join(folder, "nvidia", name, "include"));
  const home = join(folder, "home");
  for (const path of [nccl!, runtime!, join(home, "include"), join(folder, "nvidia/empty")])
    mkdirSync(path, { recursive: true });
  const found = cudaHeaders({ root: join(folder, "torch") }, { CUDA_HOME: home });
  expect(found.slice(0, 3)).toEqual([runtime, nccl, join(home, "include")]);
  expect(cudaHeaders({ root: join(folder, "torch") }, {})).not.toContain(join(home, "include"));
});

it("it is linked where there is a GPU or somebody asks, and libtorch has it", () => {
  expect(wantsCuda({ cuda: true }, true, {})).toBe(true);
  expect(wantsCuda({ cuda: true }, false, {})).toBe(false);
  expect(wantsCuda({ cuda: true }, false, { OPENMANUS_CUDA: "1" })).toBe(true);
  expect(wantsCuda({ cuda: false }, true, { OPENMANUS_CUDA: "1" })).toBe(false);
});
