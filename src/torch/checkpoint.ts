/**
 * @file Segment checkpointing: a part of the forward pass that keeps only its inputs and outputs, and
 * is computed again when gradients come back to it. Memory for time.
 *
 * To libtorch, the outputs of a segment are leaves. The segments that are waiting for a gradient are
 * kept here, in the order in which they ran; autograd.ts walks them backwards.
 */
import type { Generator } from "./generator.ts";
import { keep, tidy } from "./lifetime.ts";
import { native } from "./native.ts";
import type { Tensor } from "./tensor/tensor.ts";

export interface CheckpointOptions {
  /** What the segment draws from (dropout): computing it again draws the same. */
  generators?: readonly Generator[];
}

/** A segment of the forward pass that waits for its gradient. */
export interface Segment {
  /** Leaves; the engine leaves gradients in their `grad`. */
  readonly outputs: readonly Tensor[];
  /** The inputs with their history, where backward goes on. */
  readonly entries: readonly Tensor[];
  /** Runs the segment with recording, on copies of the inputs without history. */
  recompute(): { outputs: Tensor[]; inputs: Tensor[] };
  /** Frees what the segment holds; it is no longer waiting. */
  release(): void;
}

let waiting: Segment[] = [];

/** The segments whose outputs are still alive, oldest first. The others are freed. */
export function pendingSegments(): Segment[] {
  for (const segment of waiting)
    if (segment.outputs.every((output) => output.isDisposed)) segment.release();
  return [...waiting];
}

const AUTOCAST_DEVICES = ["cpu", "cuda"] as const;

/** What a segment's result depends on besides its inputs: generators' states and autocast. */
function captureContext(generators: readonly Generator[]): <Result>(body: () => Result) => Result {
  const states = generators.map((generator) => generator.save());
  const casts = AUTOCAST_DEVICES.map((device) => {
    const setting = native.setAutocast(device, false, "bfloat16");
    native.setAutocast(device, ...setting);
    return setting;
  });
  return (body) => {
    const statesNow = generators.map((generator) => generator.save());
    const castsNow = casts.map((cast, i) => native.setAutocast(AUTOCAST_DEVICES[i]!, ...cast));
    for (const [i, generator] of generators.entries()) generator.restore(states[i]!);
    try {
      return body();
    } finally {
      for (const [i, generator] of generators.entries()) generator.restore(statesNow[i]!);
      for (const [i, cast] of castsNow.entries()) native.setAutocast(AUTOCAST_DEVICES[i]!, ...cast);
    }
  };
}

function recording<Result>(enabled: boolean, body: () => Result): Result {
  const before = native.setGradMode(enabled);
  try {
    return body();
  } finally {
    native.setGradMode(before);
  }
}

const FLOATING = new Set(["float32", "float64", "bfloat16", "float16"]);

/**
 * Runs `segment(inputs)` and keeps nothing of what it computed but its outputs; `backward` computes
 * it again. Parameters that the function uses without being inputs get their gradients too, and must
 * not change before backward. The function must compute the same both times.
 */
export function checkpoint<Outputs extends Tensor | Tensor[]>(
  segment: (...inputs: Tensor[]) => Outputs,
  inputs: readonly Tensor[],
  options: CheckpointOptions = {},
): Outputs {
  if (!native.gradMode()) return segment(...inputs);
  pendingSegments();
  const inContext = captureContext(options.generators ?? []);
  const result = recording(false, () => tidy(() => segment(...inputs)));
  const outputs: Tensor[] = Array.isArray(result) ? result : [result as Tensor];
  for (const [i, output] of outputs.entries()) {
    // An output that is an input itself must not become a leaf behind its owner's back.
    if (inputs.some((input) => input.handle === output.handle)) outputs[i] = output.detach();
    if (FLOATING.has(output.dtype)) outputs[i]!.requiresGrad_();
  }
  const entries = inputs.map((input) => keep(input.alias()));
  const entry: Segment = {
    outputs,
    entries,
    recompute: () =>
      inContext(() =>
        recording(true, () => {
          const copies = entries.map((input) => input.detach().requiresGrad_(input.requiresGrad));
          const again = segment(...copies);
          return { outputs: Array.isArray(again) ? again : [again as Tensor], inputs: copies };
        }),
      ),
    release: () => {
      for (const input of entries) input.dispose();
      waiting = waiting.filter((other) => other !== entry);
    },
  };
  waiting.push(entry);
  return result;
}
