/**
 * @file Attention over the cache on any device, in libtorch's operators: the rows that sequences read are gathered, and
 * what is beyond a query's place is masked. The twin of native/generation/cached_attention.cc.
 */
import { arange, emptyLike, type Tensor, tidy } from "../../torch/index.ts";
import type { DeviceLayout, Together } from "./layout.ts";

export interface AttentionSettings {
  readonly scale: number;
  /** How many keys a query sees at most, itself included; null: all before it. */
  readonly window: number | null;
}

/** queries [tokens, heads, head_dim], keys and values [tokens, kv_heads, head_dim]; the result as the queries. */
export function rowsAttention(
  queries: Tensor,
  keys: Tensor,
  values: Tensor,
  keyRows: Tensor,
  valueRows: Tensor,
  { slots, together }: DeviceLayout,
  settings: AttentionSettings,
): Tensor {
  keyRows.indexCopy_(0, slots, keys);
  valueRows.indexCopy_(0, slots, values);
  const output = emptyLike(queries);
  for (const group of together)
    tidy(() => {
      const { tokens } = group;
      const seen = attend(queries.indexSelect(0, tokens), keyRows, valueRows, group, settings);
      output.indexCopy_(0, tokens.to("int64"), seen);
    });
  return output;
}

/** query is [sequences · queries, heads, head_dim]. */
function attend(
  query: Tensor,
  keyRows: Tensor,
  valueRows: Tensor,
  { sequences, queries, keys, rows, positions }: Together,
  { scale, window }: AttentionSettings,
): Tensor {
  const [, heads, width] = query.shape as [number, number, number];
  const shared = keyRows.size(1);
  const sharing = heads / shared;
  /** [sequences, kv_heads, keys, head_dim] */
  const gathered = (all: Tensor) =>
    widened(all.indexSelect(0, rows)).view([sequences, keys, shared, width]).permute([0, 2, 1, 3]);
  const q = widened(query)
    .view([sequences, queries, shared, sharing, width])
    .permute([0, 2, 3, 1, 4])
    .reshape([sequences, shared, sharing * queries, width]);
  const at = arange(0, keys, 1, { device: query.device, dtype: "int32" });
  let hidden = at.gt(positions); // [sequences, queries, keys]
  if (window !== null) hidden = hidden.logicalOr(at.le(positions.sub(window)));
  const scores = q
    .matmul(gathered(keyRows).transpose(2, 3))
    .mul(scale)
    .view([sequences, shared * sharing, queries, keys])
    .maskedFill(hidden.unsqueeze(1), -Infinity)
    .softmax(-1)
    .view([sequences, shared, sharing * queries, keys]);
  // Beyond a sequence's end the rows may hold anything, and 0 times that may be NaN.
  const unseen = at.gt(positions.amax(1, true)).view([sequences, 1, keys, 1]);
  return scores
    .matmul(gathered(valueRows).maskedFill(unseen, 0))
    .view([sequences, shared, sharing, queries, width])
    .permute([0, 3, 1, 2, 4])
    .reshape([sequences * queries, heads, width])
    .to(query.dtype);
}

/** Short floats are summed in float32, as on the CPU. */
function widened(x: Tensor): Tensor {
  return x.dtype === "bfloat16" || x.dtype === "float16" ? x.to("float32") : x;
}
