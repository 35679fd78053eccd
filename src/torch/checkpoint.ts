/**
 * @file Segment checkpointing: a part of the forward pass that keeps only its inputs and outputs, and
 * is computed again when gradients come back to it. Memory for time.
 *
 * To libtorch, the outputs of a segment are leaves. The segments that may still get a gradient are
 * kept here, in the order in which they ran; autograd.ts walks them backwards.
 */
import type { Generator } from "./generator.ts";
import { withGradMode } from "./grad-mode.ts";
import { afterReleases, keep, tidy } from "./lifetime.ts";
import { AUTOCAST_KINDS } from "./devices/kinds.ts";
import { native } from "./native.ts";
import { wrap } from "./tensor/core.ts";
import type { Tensor } from "./tensor/tensor.ts";

export interface CheckpointOptions {
  /** What the segment draws from (dropout): computing it again draws the same. */
  generators?: readonly Generator[];
  /**
   * Fetches what the segment uses besides its inputs, and gives a function that lets it go: called after
   * the segment's forward, and in backward when its gradients are there. Weights that lie elsewhere
   * between their uses are had so.
   */
  hold?: Hold;
}

/** Before a segment runs, and in which direction; what it gives is called when it is done with. */
export type Hold = (direction: "forward" | "backward") => () => void;

/** A segment of the forward pass that waits for its gradient. */
export interface Segment {
  /** Leaves, by handles of the segment's own; the engine leaves gradients in their `grad`. */
  readonly outputs: readonly Tensor[];
  /** The inputs with their history, where backward goes on. */
  readonly entries: readonly Tensor[];
  /** Runs the segment with recording, on copies of the inputs without history. */
  recompute(): Recomputed;
  /** Frees what the segment holds for its backward. A second gradient is then an error. */
  spend(): void;
}

export interface Recomputed {
  outputs: readonly Tensor[];
  inputs: readonly Tensor[];
  /** Segments that the segment itself made on the way. */
  inner: readonly Segment[];
  /** To be called when its gradients are there, or will not come. */
  release(): void;
}

const waiting: Segment[] = [];
let walks = 0;

/**
 * Lets go of segments that no gradient can reach any more: nobody but the segment itself holds its
 * outputs, neither a handle nor a graph. Newest first, since a segment holds those before it.
 */
function sweep(): void {
  if (walks > 0 || waiting.length === 0) return;
  whileWalking(() => {
    for (const segment of waiting.toReversed()) releaseIfUnreachable(segment);
  });
}

/** Lets go of one segment, if nobody but itself holds its outputs. Returns whether it did. */
export function releaseIfUnreachable(segment: Segment): boolean {
  if (segment.outputs.some((output) => native.useCount(output.handle) > 1)) return false;
  segment.spend();
  for (const output of segment.outputs) output.dispose();
  waiting.splice(waiting.indexOf(segment), 1);
  return true;
}

afterReleases(sweep);

/** The segments that a gradient may reach, oldest first. */
export function pendingSegments(): readonly Segment[] {
  sweep();
  return waiting;
}

/** While backward walks the segments none is swept: their gradients are still on the way. */
export function whileWalking<Result>(body: () => Result): Result {
  walks++;
  try {
    return body();
  } finally {
    walks--;
  }
}

/** What a segment's result depends on besides its inputs: generators' states and autocast. */
function captureContext(generators: readonly Generator[]): <Result>(body: () => Result) => Result {
  const states = generators.map((generator) => generator.save());
  const kinds = [...AUTOCAST_KINDS];
  const casts = kinds.map((device) => {
    const setting = native.setAutocast(device, false, "bfloat16");
    native.setAutocast(device, ...setting);
    return setting;
  });
  return (body) => {
    const statesNow = generators.map((generator) => generator.save());
    const castsNow = casts.map((cast, i) => native.setAutocast(kinds[i]!, ...cast));
    for (const [i, generator] of generators.entries()) generator.restore(states[i]!);
    try {
      return body();
    } finally {
      for (const [i, generator] of generators.entries()) generator.restore(statesNow[i]!);
      for (const [i, cast] of castsNow.entries()) native.setAutocast(kinds[i]!, ...cast);
    }
  };
}

/** Runs a segment's forward with what it needs. */
function held<Result>(hold: Hold, body: () => Result): Result {
  const release = hold("forward");
  try {
    return body();
  } finally {
    release();
  }
}

const FLOATING = new Set(["float32", "float64", "bfloat16", "float16"]);

function asList(outputs: Tensor | readonly Tensor[]): readonly Tensor[] {
  return Array.isArray(outputs) ? outputs : [outputs as Tensor];
}

/** A second, kept handle to the very tensor. */
function ownHandle(tensor: Tensor): Tensor {
  return keep(wrap(native.duplicate(tensor.handle)));
}

/**
 * Runs `segment(inputs)` and keeps nothing of what it computed but its outputs; `backward` computes
 * it again. Parameters that the function uses without being inputs get their gradients too, and must
 * not change before backward. The function must compute the same both times.
 *
 * A residual connection belongs inside: `checkpoint((x) => x.add(block(x)), [x])`. Outside, every
 * segment's gradient takes the whole chain of additions again.
 */
export function checkpoint<Outputs extends Tensor | Tensor[]>(
  segment: (...inputs: Tensor[]) => Outputs,
  inputs: readonly Tensor[],
  options: CheckpointOptions = {},
): Outputs {
  const { hold = () => () => {} } = options;
  if (!native.gradMode()) return held(hold, () => tidy(() => segment(...inputs)));
  sweep();
  const inContext = captureContext(options.generators ?? []);
  const versions = inputs.map((input) => native.version(input.handle));
  // Detached, so that every output is a leaf of its own, also one that is an input or a parameter.
  const result = held(hold, () =>
    withGradMode(false, () =>
      tidy(() => {
        const outputs = segment(...inputs);
        return (
          Array.isArray(outputs) ? outputs.map((output) => output.detach()) : outputs.detach()
        ) as Outputs;
      }),
    ),
  );
  for (const output of asList(result)) if (FLOATING.has(output.dtype)) output.requiresGrad_();
  const entries = inputs.map((input) => keep(input.alias()));
  let spent = false;

  const recompute = (): Recomputed => {
    if (spent)
      throw new Error(
        "backward: a second time through a checkpointed segment; say retainGraph the first time",
      );
    for (const [i, input] of entries.entries())
      if (native.version(input.handle) !== versions[i])
        throw new Error(
          `backward: input ${i} of a checkpointed segment, ${input.dtype}[${input.shape}], was ` +
            "changed in place since the segment began: it cannot be computed again",
        );
    const known = new Set(waiting);
    return inContext(() =>
      withGradMode(true, () => {
        const copies = entries.map((input) => input.detach().requiresGrad_(input.requiresGrad));
        const release = hold("backward");
        try {
          const outputs = asList(segment(...copies));
          const inner = waiting.filter((other) => !known.has(other));
          return { outputs, inputs: copies, inner, release };
        } catch (error) {
          release();
          throw error;
        }
      }),
    );
  };
  const spend = () => {
    spent = true;
    for (const input of entries) input.dispose();
  };
  waiting.push({ outputs: asList(result).map(ownHandle), entries, recompute, spend });
  return result;
}
