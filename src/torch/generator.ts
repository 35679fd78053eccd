/**
 * @file Randomness: generators with a seed, whose state can be saved and restored, and independent
 * streams derived from a seed and a name.
 *
 * Nothing in openmanus-rl draws from a hidden global generator: whatever is random takes one of these.
 */
import { adopt, releaseNow } from "./lifetime.ts";
import { type Handle, native } from "./native.ts";
import { deriveSeed } from "./seeds.ts";
import type { Device } from "./tensor/core.ts";
import { wrap } from "./tensor/core.ts";
import type { Tensor } from "./tensor/tensor.ts";

export class Generator {
  readonly handle: Handle;
  readonly device: Device;
  adoptedBytes: number | undefined = undefined;

  constructor(seed: number | bigint, device: Device = "cpu") {
    this.handle = native.newGenerator(device, seed);
    this.device = device;
    adopt(this, 0);
  }

  /** Starts the stream of another seed. */
  seed(seed: number | bigint): this {
    native.seedGenerator(this.handle, seed);
    return this;
  }

  /** A copy of the state, a uint8 tensor. */
  get state(): Tensor {
    return wrap(native.generatorState(this.handle));
  }

  set state(state: Tensor) {
    native.setGeneratorState(this.handle, state.handle);
  }

  /** The state as bytes, for a checkpoint. */
  save(): Uint8Array {
    const state = this.state;
    const bytes = state.toTypedArray() as Uint8Array;
    state.dispose();
    return bytes;
  }

  /** Goes on exactly where the generator that was saved would have. */
  restore(bytes: Uint8Array): this {
    const copy = new Uint8Array(bytes);
    const handle = native.fromBuffer(copy.buffer, 0, [copy.length], "uint8", false);
    try {
      native.setGeneratorState(this.handle, handle);
    } finally {
      native.release(handle);
    }
    return this;
  }

  dispose(): void {
    releaseNow(this);
  }
}

/** The generator of one stream, on a CPU: of a run's seed and the names of what draws. */
export function derivedGenerator(
  ...parts: readonly [seed: number | bigint, ...names: (string | number | bigint)[]]
): Generator {
  return new Generator(deriveSeed(...parts));
}
