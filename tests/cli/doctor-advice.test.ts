/**
 * @file What the doctor advises, by what it found.
 */
import { describe, expect, it } from "vitest";
import { adviceFor } from "../../src/cli/commands/doctor.ts";

const AVX512 = ["avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"];

function advice(kernel: string, flags: readonly string[]): string[] {
  return adviceFor(
    {
      ready: true,
      libtorch: {
        version: "1.13.0",
        origin: "system",
        root: "",
        cxx11Abi: true,
        cpuCapability: "",
      },
      cpu: { model: "", architecture: "x64", vectors: [] },
      blas: { library: "OpenBLAS 0.3.21", kernel },
      ...{ threads: 2, cores: 2, devices: ["cpu"], distributed: ["gloo"] },
      memory: { totalGb: 24, freeGb: 20 },
      ...{ gemmGflops: 200, operatorMicroseconds: 1 },
    },
    { flags },
    { hasCuda: false, cudaDevices: 0 },
  );
}

describe("the doctor's advice", () => {
  it("says when OpenBLAS was told slower kernels than the CPU has", () => {
    expect(advice("Haswell", AVX512)).toEqual([
      expect.stringContaining("Haswell kernels although the CPU has AVX-512"),
    ]);
    expect(advice("Prescott", ["avx2", "fma"])).toEqual([
      expect.stringContaining("Prescott kernels although the CPU has AVX2"),
    ]);
  });

  it("says nothing where the kernels are the CPU's", () => {
    expect(advice("SkylakeX", AVX512)).toEqual([]);
    expect(advice("Haswell", ["avx2", "fma"])).toEqual([]);
    expect(advice("Haswell", AVX512.slice(0, -1))).toEqual([]);
  });
});
