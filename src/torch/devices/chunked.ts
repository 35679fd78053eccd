/**
 * @file Where our own kernels do not run, and attention and log-probabilities would take memory for all tokens with
 * all tokens, or with the whole vocabulary: in libtorch's operators, a part at a time, and again in backward
 * (native/devices).
 */
import type { AdamWStep, AttentionOptions, TokenLogprob, TokenLogprobOptions } from "../fused.ts";
import { tidy } from "../lifetime.ts";
import * as stock from "../stock.ts";
import { invoke, invokeMany, openmanus } from "../tensor/invoke.ts";
import type { Tensor } from "../tensor/tensor.ts";

const op = {
  attention: openmanus("chunked_attention"),
  logprob: openmanus("chunked_logprob"),
};

/** As `attention` in fused.ts; lengths and parents are on the host. */
export function chunkedAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  cumulativeLengths: Tensor,
  { scale = 1 / Math.sqrt(query.size(-1)), window = -1, parents }: AttentionOptions = {},
): Tensor {
  return invoke(
    op.attention,
    query.handle,
    key.handle,
    value.handle,
    cumulativeLengths.handle,
    scale,
    window,
    parents?.handle ?? null,
  );
}

/** As `tokenLogprob` in fused.ts. */
export function chunkedLogprob(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  { temperature = 1, entropy: wanted = true }: TokenLogprobOptions = {},
): TokenLogprob {
  const [logprob, entropy] = invokeMany(
    op.logprob,
    hidden.handle,
    weight.handle,
    targets.handle,
    temperature,
  );
  if (wanted) return { logprob: logprob!, entropy: entropy! };
  entropy!.dispose();
  return { logprob: logprob!, entropy: null };
}

/** As `adamwStep` in fused.ts. Moments that lie on the host come for their step, and go back. */
export function adamwStepElsewhere(
  parameters: readonly Tensor[],
  gradients: readonly Tensor[],
  firstMoments: readonly Tensor[],
  secondMoments: readonly Tensor[],
  options: AdamWStep,
): void {
  for (const [i, parameter] of parameters.entries())
    tidy(() => {
      const homes = [firstMoments[i]!, secondMoments[i]!] as const;
      const away = homes[0].device !== parameter.device;
      const [first, second] = away
        ? (homes.map((home) => home.toDevice(parameter.device)) as [Tensor, Tensor])
        : homes;
      stock.adamwStep([parameter], [gradients[i]!], [first], [second], options);
      if (!away) return;
      homes[0].copy_(first);
      homes[1].copy_(second);
    });
}
