/**
 * @file What this machine's CPU can do, and which OpenBLAS kernels that calls for.
 *
 * The addon is compiled for the CPU it is built on, so the features are part of what a build is
 * remembered by; and OpenBLAS must be told its kernels before it loads, because an older OpenBLAS
 * does not recognise newer CPUs and falls back to its slowest.
 */

import { readFileSync } from "node:fs";
import { hashOf } from "../support/files.ts";

export interface CpuFeatures {
  /** Node's name for it: "x64", "arm64", … */
  readonly architecture: string;
  readonly vendor: string;
  readonly model: string;
  /** The kernel's names ("avx2", "fma", "asimd", …), sorted. */
  readonly flags: readonly string[];
}

/** Reads the first core's entry: the cores of one machine have the same flags. */
export function cpuFeatures(
  text: string = readFileSync("/proc/cpuinfo", "utf8"),
  architecture: string = process.arch,
): CpuFeatures {
  const field = (...names: string[]): string => {
    const pattern = new RegExp(`^(?:${names.join("|")})\\s*:\\s*(.*)$`, "m");
    return pattern.exec(text)?.[1]?.trim() ?? "";
  };
  return {
    architecture,
    vendor: field("vendor_id", "CPU implementer"),
    model: field("model name", "CPU part"),
    flags: field("flags", "Features").split(/\s+/).filter(Boolean).sort(),
  };
}

/** Two CPUs with the same key run each other's builds. */
export function cpuKey(features: CpuFeatures): string {
  return hashOf(features.architecture, ...features.flags);
}

/**
 * The value for OPENBLAS_CORETYPE, or undefined where OpenBLAS's own choice stands.
 *
 * Measured with OpenBLAS 0.3.21 on an AMD EPYC (Zen 3), sgemm 1024³, two threads: Zen and Haswell
 * are the same within noise (they share kernels), Sandybridge is a quarter slower, and SkylakeX on
 * a CPU without AVX-512 dies of an illegal instruction. So AMD needs no name of its own.
 */
export function openblasCoreType(features: CpuFeatures): string | undefined {
  if (features.architecture !== "x64") return undefined;
  if (hasAvx512(features.flags)) return "SkylakeX";
  if (["avx2", "fma"].every((name) => features.flags.includes(name))) return "Haswell";
  return undefined;
}

/** Every part of AVX-512 that OpenBLAS's SkylakeX kernels use. */
export function hasAvx512(flags: readonly string[]): boolean {
  const parts = ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"];
  return parts.every((name) => flags.includes(name));
}
