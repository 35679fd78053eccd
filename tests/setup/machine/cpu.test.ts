/** @file CPU features and the OpenBLAS kernels they call for. */

import { describe, expect, it } from "vitest";
import {
  type CpuFeatures,
  cpuFeatures,
  cpuKey,
  openblasCoreType,
} from "../../../src/setup/machine/cpu.ts";

const EPYC = `processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC
flags\t\t: fpu sse2 fma avx avx2

processor\t: 1
vendor_id\t: AuthenticAMD
flags\t\t: fpu sse2 fma avx avx2
`;
const GRAVITON = `processor\t: 0
Features\t: fp asimd asimddp sve
CPU implementer\t: 0x41
CPU part\t: 0xd40
`;
const with_ = (flags: string, architecture = "x64"): CpuFeatures => ({
  architecture,
  vendor: "",
  model: "",
  flags: flags.split(" "),
});

describe("cpuFeatures", () => {
  it("reads x86", () => {
    expect(cpuFeatures(EPYC, "x64")).toEqual({
      architecture: "x64",
      vendor: "AuthenticAMD",
      model: "AMD EPYC",
      flags: ["avx", "avx2", "fma", "fpu", "sse2"],
    });
  });
  it("reads arm64", () => {
    const features = cpuFeatures(GRAVITON, "arm64");
    expect(features).toMatchObject({ vendor: "0x41", model: "0xd40" });
    expect(features.flags).toContain("sve");
  });
  it("reads this machine", () => {
    expect(cpuFeatures().flags.length).toBeGreaterThan(3);
  });
});

describe("cpuKey", () => {
  it("differs with the flags and the architecture, not with the model", () => {
    const key = cpuKey(with_("avx avx2"));
    expect(cpuKey({ ...with_("avx avx2"), model: "another" })).toBe(key);
    expect(cpuKey(with_("avx"))).not.toBe(key);
    expect(cpuKey(with_("avx avx2", "arm64"))).not.toBe(key);
  });
});

describe("openblasCoreType", () => {
  it.each([
    ["avx avx2 fma avx512f avx512bw avx512dq avx512vl avx512cd", "SkylakeX"],
    ["avx avx2 fma avx512f avx512cd", "Haswell"], // Knights Landing: not all of AVX-512
    ["avx avx2 fma", "Haswell"],
    ["avx avx2", undefined],
    ["sse2", undefined],
  ])("%s: %s", (flags, expected) => {
    expect(openblasCoreType(with_(flags))).toBe(expected);
  });
  it("leaves arm64 to OpenBLAS", () => {
    expect(openblasCoreType(with_("avx2 fma", "arm64"))).toBeUndefined();
  });
});
