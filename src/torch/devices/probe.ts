/**
 * @file Whether an operator of libtorch gives what it should on this device. Its schema may be as expected and its
 * meaning not: how a causal mask lies when there are more keys than queries has changed between versions. So each is
 * tried once for each device, dtype and size of heads, forward and backward, beside the form that computes a part at
 * a time; one that fails or differs is not used.
 */
import { enableGrad } from "../autograd.ts";
import { fromTypedArray } from "../creation.ts";
import type { AttentionOptions } from "../fused.ts";
import { tidy } from "../lifetime.ts";
import { native } from "../native.ts";
import { wrap } from "../tensor/core.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { chunkedAttention } from "./chunked.ts";
import type { VariableLength } from "./variable-length.ts";

const found = new Map<string, boolean>();

/** What an operator must be tried for again if it changes. */
export function isTrusted(
  operator: VariableLength,
  query: Tensor,
  key: Tensor,
  { window, parents }: AttentionOptions,
): boolean {
  const sizes = [query.size(1), key.size(1), query.size(2)];
  const kind = [window !== undefined, parents !== undefined];
  const name = [operator.name, query.device, query.dtype, ...sizes, ...kind].join(" ");
  let trusted = found.get(name);
  if (trusted === undefined) {
    trusted = agrees(operator, query, key, window !== undefined, parents !== undefined);
    found.set(name, trusted);
  }
  return trusted;
}

const LENGTHS = [5, 3, 40, 1, 7];
/** Two runs go on from the third, one from one of these. */
const PARENTS = [-1, -1, -1, 2, 3, 2];
const WINDOW = 4;
/** Largest difference, of numbers around 1. */
const TOLERANCE: Record<string, number> = { float32: 1e-3, float16: 0.02, bfloat16: 0.1 };

function agrees(
  operator: VariableLength,
  query: Tensor,
  key: Tensor,
  windowed: boolean,
  branched: boolean,
): boolean {
  const [heads, shared, width] = [query.size(1), key.size(1), query.size(2)];
  const { device, dtype } = query;
  const lengths = branched ? [...LENGTHS, 2] : LENGTHS;
  const bounds = [0];
  for (const length of lengths) bounds.push(bounds.at(-1)! + length);
  const tokens = bounds.at(-1)!;
  const waves = (count: number, step: number) =>
    fromTypedArray(
      Float32Array.from({ length: tokens * count * width }, (_, i) => Math.sin(i * step)),
      [tokens, count, width],
      { device, dtype },
    );
  const integers = (values: readonly number[]) =>
    fromTypedArray(BigInt64Array.from(values, BigInt));
  try {
    return tidy(() =>
      enableGrad(() => {
        const options: AttentionOptions = {
          ...(windowed && { window: WINDOW }),
          ...(branched && { parents: integers(PARENTS) }),
        };
        const weights = waves(heads, 0.37);
        const results = [operator.attend, chunkedAttention].map((attend) => {
          const inputs = [waves(heads, 0.71), waves(shared, 0.53), waves(shared, 0.29)];
          for (const input of inputs) input.requiresGrad_();
          const [q, k, v] = inputs as [Tensor, Tensor, Tensor];
          const output = attend.call(operator, q, k, v, integers(bounds), options);
          const gradients = native.gradients(
            [output.handle],
            inputs.map(({ handle }) => handle),
            [weights.handle],
            false,
            false,
            false,
          );
          return [output.detach(), ...gradients.map((handle) => wrap(handle!))];
        });
        return results[0]!.every((one, i) => {
          const difference = one.to("float32").sub(results[1]![i]!.to("float32")).abs().amax();
          return difference.item() <= (TOLERANCE[dtype] ?? 0);
        });
      }),
    );
  } catch {
    return false;
  }
}
