/**
 * @file Gradients: backward, gradients of outputs with respect to inputs, and the modes that say
 * what is recorded.
 *
 * Both walk through checkpointed segments (checkpoint.ts): libtorch's engine goes back to a segment's
 * outputs, which are leaves to it; the segment is then computed again with recording on, the engine
 * goes back through that, and on from the segment's inputs. No JavaScript runs inside the engine, so
 * this works on any device and from any of its threads.
 */
import { pendingSegments, releaseIfUnreachable, type Segment, whileWalking } from "./checkpoint.ts";
import { AUTOCAST_KINDS, kindOf } from "./devices/kinds.ts";
import { withGradMode } from "./grad-mode.ts";
import { tidy } from "./lifetime.ts";
import { type Handle, native } from "./native.ts";
import type { Device, Dtype } from "./tensor/core.ts";
import { wrap } from "./tensor/core.ts";
import type { Tensor } from "./tensor/tensor.ts";

/** Runs a function without recording for gradients. */
export function noGrad<Result>(body: () => Result): Result {
  return withGradMode(false, body);
}

/** Runs a function with recording on, also inside `noGrad`. */
export function enableGrad<Result>(body: () => Result): Result {
  return withGradMode(true, body);
}

export function isGradEnabled(): boolean {
  return native.gradMode();
}

export interface BackwardOptions {
  /** Gradients of the outputs; needed unless the outputs are scalars. */
  gradients?: readonly Tensor[];
  /** Keep the graph for another backward. */
  retainGraph?: boolean;
}

/** Adds the gradients of the outputs to `grad` of every leaf that they depend on. */
export function backward(outputs: Tensor | readonly Tensor[], options: BackwardOptions = {}): void {
  const given = options.gradients ? handlesOf(options.gradients) : null;
  const segments = [...pendingSegments()];
  const retain = options.retainGraph === true;
  if (segments.length === 0) native.backward(handlesOf(outputs), given, retain, null);
  else whileWalking(() => backThrough(handlesOf(outputs), given, segments, retain));
}

/** The engine's backward, and then through the segments that it reached. */
function backThrough(
  outputs: Handle[],
  gradients: Handle[] | null,
  segments: readonly Segment[],
  retain: boolean,
): void {
  const left = new Set(segments);
  try {
    // Retained: a segment's way back may go on into parts of this graph.
    native.backward(outputs, gradients, true, null);
    for (const segment of segments.toReversed()) {
      tidy(() => backThroughSegment(segment, retain));
      // What lies between segments is freed as the gradient passes it, not all at the end.
      if (!retain && releaseIfUnreachable(segment)) left.delete(segment);
    }
  } finally {
    for (const segment of left) for (const output of segment.outputs) output.grad = null;
  }
}

function backThroughSegment(segment: Segment, retain: boolean): void {
  const gradients = segment.outputs.map((output) => output.grad);
  if (gradients.every((gradient) => gradient === null)) return;
  const { outputs, inputs, inner, release } = segment.recompute();
  const [from, given] = reached(outputs, gradients);
  try {
    if (from.length > 0) backThrough(from, given, inner, false);
  } finally {
    release();
  }
  // What came back to the copies of the inputs goes on into the graph before the segment.
  const entries: Tensor[] = [];
  const entryGradients: Handle[] = [];
  for (const [i, input] of inputs.entries()) {
    const gradient = input.requiresGrad ? input.grad : null;
    if (gradient === null) continue;
    entries.push(segment.entries[i]!);
    entryGradients.push(gradient.handle);
  }
  if (entries.length > 0) native.backward(handlesOf(entries), entryGradients, true, null);
  if (!retain) segment.spend();
}

/** Outputs that a gradient reached, with those gradients. */
function reached(
  outputs: readonly Tensor[],
  gradients: readonly (Tensor | null)[],
): [Handle[], Handle[]] {
  const kept: [Handle[], Handle[]] = [[], []];
  for (const [i, gradient] of gradients.entries()) {
    const output = outputs[i]!;
    if (gradient === null || !output.requiresGrad) continue;
    kept[0].push(output.handle);
    kept[1].push(gradient.handle);
  }
  return kept;
}

export interface GradOptions {
  gradients?: readonly Tensor[];
  retainGraph?: boolean;
  /** Record the gradients' own computation, for second derivatives (not through checkpoints). */
  createGraph?: boolean;
  /** Give null for inputs that the outputs do not depend on, instead of an error. */
  allowUnused?: boolean;
}

/** The gradients of the outputs with respect to the inputs; nobody's `grad` changes. */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: GradOptions & { allowUnused: true },
): (Tensor | null)[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options?: GradOptions,
): Tensor[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: GradOptions = {},
): (Tensor | null)[] {
  const given = options.gradients ? handlesOf(options.gradients) : null;
  const create = options.createGraph === true;
  const segments = pendingSegments();
  if (segments.length === 0)
    return native
      .gradients(
        handlesOf(outputs),
        handlesOf(inputs),
        given,
        options.retainGraph === true || create,
        create,
        options.allowUnused === true,
      )
      .map((handle) => (handle === null ? null : wrap(handle)));
  if (create) throw new Error("grad: second derivatives do not go through checkpointed segments");
  return tidy(() => {
    const retain = options.retainGraph === true;
    const found = whileWalking(() =>
      gradThrough(handlesOf(outputs), given, inputs, segments, retain),
    );
    if (options.allowUnused !== true && found.includes(null))
      throw new Error(
        `grad: input ${found.indexOf(null)} is not used by the outputs; say allowUnused for null`,
      );
    return found;
  });
}

/** The engine's gradients with respect to the targets, and those that come through segments. */
function gradThrough(
  outputs: Handle[],
  given: Handle[] | null,
  targets: readonly Tensor[],
  segments: readonly Segment[],
  retain: boolean,
): (Tensor | null)[] {
  const totals = new Map<Tensor, Tensor>();
  const collect = (of: readonly Tensor[], found: readonly (Tensor | null)[]) => {
    for (const [i, gradient] of found.entries()) {
      if (gradient === null) continue;
      const before = totals.get(of[i]!);
      totals.set(of[i]!, before ? before.add(gradient) : gradient);
    }
  };
  const wanted = [...new Set([...targets, ...segments.flatMap((segment) => segment.outputs)])];
  collect(wanted, engineGradients(outputs, given, wanted));
  for (const segment of segments.toReversed()) {
    const gradients = segment.outputs.map((output) => totals.get(output) ?? null);
    if (gradients.every((gradient) => gradient === null)) continue;
    const again = segment.recompute();
    const [from, fromGradients] = reached(again.outputs, gradients);
    try {
      if (from.length > 0) {
        const sources = [...wanted, ...again.inputs.filter((input) => input.requiresGrad)];
        collect(sources, gradThrough(from, fromGradients, sources, again.inner, false));
      }
    } finally {
      again.release();
    }
    for (const [i, input] of again.inputs.entries()) {
      const gradient = totals.get(input);
      if (!gradient) continue;
      const entry = segment.entries[i]!.handle;
      collect(wanted, engineGradients([entry], [gradient.handle], wanted));
    }
    if (!retain) segment.spend();
  }
  return targets.map((target) => totals.get(target) ?? null);
}

function engineGradients(
  outputs: Handle[],
  given: Handle[] | null,
  inputs: readonly Tensor[],
): (Tensor | null)[] {
  return native
    .gradients(outputs, handlesOf(inputs), given, true, false, true)
    .map((handle) => (handle === null ? null : wrap(handle)));
}

function handlesOf(tensors: Tensor | readonly Tensor[]): Handle[] {
  return Array.isArray(tensors)
    ? tensors.map((tensor: Tensor) => tensor.handle)
    : [(tensors as Tensor).handle];
}

export interface AutocastOptions {
  dtype?: Extract<Dtype, "bfloat16" | "float16">;
  /** Where products are computed in the lower dtype. Default: on the CPU. */
  device?: Device;
  enabled?: boolean;
}

/**
 * Runs a function in mixed precision: matrix products in the lower dtype, what needs range or
 * precision in float32. Backward belongs outside.
 */
export function autocast<Result>(options: AutocastOptions, body: () => Result): Result {
  const device = kindOf(options.device ?? "cpu");
  AUTOCAST_KINDS.add(device);
  const before = native.setAutocast(device, options.enabled ?? true, options.dtype ?? "bfloat16");
  try {
    return body();
  } finally {
    native.setAutocast(device, ...before);
    if (!before[0]) native.clearAutocastCache();
  }
}

/**
 * Runs a function and stops at the operator that first produces a NaN, forward or backward, with an
 * error that names it. Every result is looked at: for finding a fault, not for every day.
 */
export function detectAnomaly<Result>(body: () => Result): Result {
  const before = native.setAnomalyMode(true);
  try {
    return body();
  } finally {
    native.setAnomalyMode(before);
  }
}
