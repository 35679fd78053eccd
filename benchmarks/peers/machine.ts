/**
 * @file On which machine figures were made: they are worth nothing without it.
 */
import { availableThreads, cpuFeatures } from "../../src/setup/index.ts";
import { measureGemm, runtimeInfo } from "../../src/torch/index.ts";

export interface Machine {
  readonly cpu: string;
  /** The widest vectors that it has: "AVX-512", "AVX2", or its architecture. */
  readonly vectors: string;
  readonly cores: number;
  /** Of a 1024³ float32 product in our libtorch. */
  readonly gemmGflops: number;
  readonly libtorch: string;
}

export function thisMachine(): Machine {
  const { model, flags, architecture } = cpuFeatures();
  const vectors = flags.includes("avx512f")
    ? `AVX-512${flags.includes("avx512_bf16") ? " (bfloat16)" : ""}`
    : flags.includes("avx2")
      ? "AVX2"
      : architecture;
  return {
    ...{ cpu: model, vectors, cores: availableThreads() },
    ...{ gemmGflops: measureGemm(), libtorch: runtimeInfo().version },
  };
}

export function describeMachine({ cpu, vectors, cores, gemmGflops, libtorch }: Machine): string {
  return (
    `${cpu}, ${vectors}, ${cores} cores, ${gemmGflops.toFixed(0)} GFLOPS (1024³); ` +
    `libtorch ${libtorch}`
  );
}
