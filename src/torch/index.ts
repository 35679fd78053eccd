/**
 * @file The door of the torch room: tensors, autograd, randomness, optimisers, process groups.
 */
export * from "./autograd.ts";
export { type CheckpointOptions, checkpoint, type Hold } from "./checkpoint.ts";
export * from "./creation.ts";
export { attentionOperator } from "./devices/attention.ts";
export {
  type DeviceCopies,
  deviceCopies,
  releaseMemory,
  restoreMemory,
  useDevice,
} from "./devices/copies.ts";
export { kindOf } from "./devices/kinds.ts";
export * from "./distributed/index.ts";
export * from "./functions.ts";
export * from "./fused.ts";
export { derivedGenerator, Generator } from "./generator.ts";
export { dispose, keep, memory, type TensorTree, tidy } from "./lifetime.ts";
export { best, measureGemm, measureOperator } from "./measure.ts";
export type { OperatorDescription, RuntimeInfo, TypedArray } from "./native.ts";
export {
  joinNccl,
  type NcclChannel,
  type NcclOptions,
  ncclProblem,
  newNcclId,
} from "./nccl.ts";
export { type Argument, call, describeOperator, operatorNames, type Result } from "./operator.ts";
export * from "./optimizers/index.ts";
export { returnFreedMemory, runtimeInfo, setThreads, threads } from "./runtime.ts";
export { deriveSeed } from "./seeds.ts";
export type { Operand } from "./tensor/arithmetic.ts";
export type { Device, Dtype, Nested } from "./tensor/core.ts";
export type { Indices } from "./tensor/indexing.ts";
export { invoke, invokeMany, type Operator, openmanus } from "./tensor/invoke.ts";
export type { Reduction } from "./tensor/network.ts";
export type { Dimensions, ValuesAndIndices } from "./tensor/reduction.ts";
export { Tensor } from "./tensor/tensor.ts";
