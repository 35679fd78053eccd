/**
 * @file The addon's functions as TypeScript sees them, and its loading.
 *
 * Nothing outside src/torch calls these: tensors are bare handles here, and lifetimes are the
 * caller's business.
 */
import { createRequire } from "node:module";
import {
  availableThreads,
  cpuFeatures,
  locateAddon,
  openblasCoreType,
  SETUP_COMMAND,
  SetupError,
} from "../setup/index.ts";
import type { NcclAddon, ProcessGroupAddon } from "./distributed/addon.ts";

/** A tensor or generator on the native side: a number from a range that no computation uses. */
export type Handle = number;

/** What an operator takes, as its schema says. */
export interface OperatorDescription {
  /** With the overload: `aten::add.Tensor`. */
  name: string;
  schema: string;
  arguments: { name: string; type: string; hasDefault: boolean; keywordOnly: boolean }[];
  /** Types of the results, as the schema writes them. */
  returns: string[];
}

export interface RuntimeInfo {
  version: string;
  config: string;
  parallel: string;
  openblasKernel?: string;
  openblasConfig?: string;
  hasMkl: boolean;
  hasOneDnn: boolean;
  hasCuda: boolean;
  cudaDevices: number;
  /** Process-group backends that this build has. */
  hasGloo: boolean;
  hasNccl: boolean;
  cxx11Abi: boolean;
}

export type TypedArray =
  | Float32Array
  | Float64Array
  | BigInt64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint8Array;

export interface NativeAddon extends ProcessGroupAddon, NcclAddon {
  // The door.
  findOperator(name: string, overload: string): number;
  describeOperator(operator: number): OperatorDescription;
  operatorNames(): string[];
  call(operator: number, ...values: unknown[]): unknown;

  // Lifetimes.
  release(handle: Handle): boolean;
  keep(handle: Handle): boolean;
  isLive(handle: Handle): boolean;
  /** A second handle to the very tensor, not a view of it. */
  duplicate(handle: Handle): Handle;
  /** How many handles and graphs hold the tensor. */
  useCount(handle: Handle): number;
  beginScope(): void;
  endScope(survivors?: Handle[]): void;
  liveTensors(): number;
  liveBytes(): number;
  adjustExternalMemory(bytes: number): number;

  // Facts and data.
  shape(handle: Handle): number[];
  strides(handle: Handle): number[];
  dtype(handle: Handle): string;
  device(handle: Handle): string;
  elementCount(handle: Handle): number;
  isContiguous(handle: Handle): boolean;
  sharesStorage(a: Handle, b: Handle): boolean;
  fromBuffer(
    buffer: ArrayBufferLike,
    byteOffset: number,
    shape: readonly number[],
    dtype: string,
    share: boolean,
    device?: string | null,
    as?: string,
  ): Handle;
  mapFile(path: string, mode: "private" | "shared"): Handle;
  readValues(handle: Handle): TypedArray;
  shareValues(handle: Handle): TypedArray;
  readNumbers(handle: Handle): Float64Array;

  // Devices.
  /** To devices, to the host, bytes to devices, bytes to the host, since the beginning. */
  deviceCopies(): [number, number, number, number];
  hasKernel(name: string, overload: string, device: string): boolean;
  useDevice(device: string): void;
  releaseStorage(handle: Handle): void;
  restoreStorage(handle: Handle): void;

  // Autograd.
  backward(
    outputs: Handle[],
    gradients: (Handle | null)[] | null,
    retainGraph: boolean,
    inputs: Handle[] | null,
  ): void;
  gradients(
    outputs: Handle[],
    inputs: Handle[],
    outputGradients: (Handle | null)[] | null,
    retainGraph: boolean,
    createGraph: boolean,
    allowUnused: boolean,
  ): (Handle | null)[];
  requiresGrad(handle: Handle): boolean;
  setRequiresGrad(handle: Handle, value: boolean): void;
  isLeaf(handle: Handle): boolean;
  /** How often the values were changed in place. */
  version(handle: Handle): number;
  gradient(handle: Handle): Handle | null;
  setGradient(handle: Handle, gradient: Handle | null): void;
  setGradMode(enabled: boolean): boolean;
  gradMode(): boolean;
  setAutocast(device: string, enabled: boolean, dtype: string): [boolean, string];
  clearAutocastCache(): void;
  setAnomalyMode(enabled: boolean): boolean;

  // Randomness.
  newGenerator(device: string, seed: number | bigint): Handle;
  seedGenerator(handle: Handle, seed: number | bigint): void;
  seedDefaultGenerators(seed: number | bigint): void;
  generatorState(handle: Handle): Handle;
  setGeneratorState(handle: Handle, state: Handle): void;

  // The machine.
  setThreads(count: number): void;
  threads(): number;
  runtimeInfo(): RuntimeInfo;
  returnFreedMemory(): void;
}

/**
 * What the libraries read from the environment once, when they are loaded; a user's own setting
 * stands.
 */
function prepareEnvironment(): void {
  const coreType = openblasCoreType(cpuFeatures());
  if (coreType !== undefined) process.env.OPENBLAS_CORETYPE ??= coreType;
  // OpenMP's idle threads spin for a millisecond by default before they sleep. That is fast on an
  // idle machine, but when cores are shared the spinning threads take the time of those that would
  // work: a training step became 30 times slower beside one compiler. A short spin loses neither.
  if (process.env.OMP_WAIT_POLICY === undefined) process.env.GOMP_SPINCOUNT ??= "10000";
  // The same of OpenBLAS's own threads: they would wait 2²⁶ cycles, on the cores of OpenMP's threads.
  process.env.OPENBLAS_THREAD_TIMEOUT ??= "18";
}

/** Loads the addon, and with it libtorch. */
function load(): NativeAddon {
  const { addon } = locateAddon();
  prepareEnvironment();
  let loaded: NativeAddon;
  try {
    loaded = createRequire(import.meta.url)(addon) as NativeAddon;
  } catch (error) {
    // libtorch was updated or removed since: set-up sees that and builds for what is there now.
    const reason = (error as Error).message.split("\n")[0];
    throw new SetupError(`the native addon does not load (${reason}). Run: ${SETUP_COMMAND}`);
  }
  const threads = Number(process.env.OMP_NUM_THREADS);
  loaded.setThreads(Number.isInteger(threads) && threads > 0 ? threads : availableThreads());
  return loaded;
}

/**
 * The addon, loaded when something is first asked of it: what needs no tensors (help, worlds, lists of
 * episodes) works without set-up and does not wait for libtorch. The first use puts the addon itself
 * here, so that no later call pays for this.
 */
export let native: NativeAddon = new Proxy({} as NativeAddon, {
  get(_, name: keyof NativeAddon) {
    native = load();
    return native[name];
  },
});

// A rank's addon ends it together with its launcher, from the very beginning.
if (process.env.OPENMANUS_LAUNCHER !== undefined) native = load();
