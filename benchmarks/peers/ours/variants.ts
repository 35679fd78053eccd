/**
 * @file In which ways our engine is measured: one line each. The first is what is compared with the peers.
 */
import type { EngineOptions } from "../../../src/generation/index.ts";
import type { Dtype } from "../../../src/torch/index.ts";

export interface Variant {
  readonly name: string;
  readonly dtype: Dtype;
  readonly engine: EngineOptions;
}

export const VARIANTS: readonly Variant[] = [
  { name: "ours", dtype: "float32", engine: { speculation: false } },
  { name: "ours, guessing", dtype: "float32", engine: { speculation: true } },
  {
    name: "ours, bfloat16",
    dtype: "float32",
    engine: { speculation: false, quantization: "bfloat16" },
  },
  { name: "ours, int8", dtype: "float32", engine: { speculation: false, quantization: "int8" } },
];
