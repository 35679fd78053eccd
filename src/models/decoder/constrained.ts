/**
 * @file Log-probabilities where not every token could be drawn: of the distribution over those that could. Few
 * could, mostly, so only their logits are computed; where only one could, there was no choice, and nothing to
 * learn.
 */
import {
  fromTypedArray,
  type Tensor,
  type TokenLogprob,
  type TokenLogprobOptions,
  tidy,
  tokenLogprob,
  zeros,
} from "../../torch/index.ts";

/** As tokenLogprob, of hidden states [selected, hidden]; `allowed` by selected token. */
export function constrainedLogprob(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  allowed: ReadonlyMap<number, readonly number[]>,
  options: Required<TokenLogprobOptions>,
): TokenLogprob {
  return tidy(() => {
    const count = hidden.size(0);
    const all = Array.from({ length: count }, (_, i) => i);
    const free = all.filter((i) => !allowed.has(i));
    const choosing = all.filter((i) => (allowed.get(i)?.length ?? 0) > 1);
    requireTargets(targets, allowed);
    const dtype = hidden.dtype === "float64" ? "float64" : "float32";
    const device = hidden.device;
    let logprob = zeros([count], { dtype, device });
    let entropy = options.entropy ? zeros([count], { dtype, device }) : null;
    const put = (rows: readonly number[], part: TokenLogprob) => {
      const index = indices(rows, hidden);
      logprob = logprob.indexAdd(0, index, part.logprob);
      if (entropy) entropy = entropy.indexAdd(0, index, part.entropy!);
    };
    if (free.length > 0) {
      const index = indices(free, hidden);
      const [own, wanted] = [hidden.indexSelect(0, index), targets.indexSelect(0, index)];
      put(free, tokenLogprob(own, weight, wanted, options));
    }
    if (choosing.length > 0)
      put(choosing, amongAllowed(hidden, weight, targets, choosing, allowed, options));
    return { logprob, entropy };
  });
}

/** The logits of what could be drawn, one after the other for all places, and their softmax at each. */
function amongAllowed(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  places: readonly number[],
  allowed: ReadonlyMap<number, readonly number[]>,
  { temperature, entropy }: Required<TokenLogprobOptions>,
): TokenLogprob {
  const ids = targets.toNumbers();
  const pairs = places.flatMap((place, row) =>
    allowed.get(place)!.map((id) => ({ place, row, id })),
  );
  const list = (pick: (pair: (typeof pairs)[number]) => number) => indices(pairs.map(pick), hidden);
  const rows = list(({ row }) => row);
  const dtype = hidden.dtype === "float64" ? "float64" : "float32";
  const states = hidden.indexSelect(
    0,
    list(({ place }) => place),
  );
  const columns = weight.indexSelect(
    0,
    list(({ id }) => id),
  );
  const logits = states.to(dtype).mul(columns.to(dtype)).sum(-1).div(temperature);
  // Relative to the largest of each place: no exponential overflows.
  const values = logits.detach().toNumbers();
  const largest = new Float64Array(places.length).fill(-Infinity);
  for (const [i, { row }] of pairs.entries()) largest[row] = Math.max(largest[row]!, values[i]!);
  const shifts = fromTypedArray(
    Float64Array.from(pairs, ({ row }) => largest[row]!),
    undefined,
    { dtype, device: hidden.device },
  );
  const shifted = logits.sub(shifts);
  const perPlace = (x: Tensor) =>
    zeros([places.length], { dtype, device: hidden.device }).indexAdd(0, rows, x);
  const logprobs = shifted.sub(perPlace(shifted.exp()).log().indexSelect(0, rows));
  const chosen = pairs.flatMap(({ place, id }, i) => (ids[place] === id ? [i] : []));
  return {
    logprob: logprobs.indexSelect(0, indices(chosen, hidden)),
    entropy: entropy ? perPlace(logprobs.exp().mul(logprobs)).neg() : null,
  };
}

/** Each target once among what could be drawn, or nothing that follows makes sense. */
function requireTargets(targets: Tensor, allowed: ReadonlyMap<number, readonly number[]>): void {
  const ids = targets.toNumbers();
  for (const [place, list] of allowed)
    if (list.filter((id) => id === ids[place]).length !== 1 || new Set(list).size !== list.length)
      throw new RangeError(
        `tokenOutputs: target ${ids[place]} at place ${place} must be once among the ids that are ` +
          `allowed there, each of them once; got ${list.slice(0, 20).join(", ")}`,
      );
}

function indices(values: readonly number[], like: Tensor): Tensor {
  return fromTypedArray(BigInt64Array.from(values, BigInt), undefined, { device: like.device });
}
