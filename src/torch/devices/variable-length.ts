/**
 * @file libtorch's operators for attention over sequences of different lengths: FlashAttention for short floats, and
 * the memory-efficient one. CUDA has them (from libtorch 2.2 on), and their gradients are libtorch's.
 *
 * Runs that go on from others (`parents`) are sequences whose keys are more than their queries: keys and values of
 * what they go on from are gathered before their own.
 */
import { fromTypedArray } from "../creation.ts";
import type { AttentionOptions } from "../fused.ts";
import { tidy } from "../lifetime.ts";
import { native } from "../native.ts";
import { call, describeOperator } from "../operator.ts";
import type { Device } from "../tensor/core.ts";
import type { Tensor } from "../tensor/tensor.ts";

export interface VariableLength {
  readonly name: string;
  /** By what is known without computing: the device has a kernel, dtype and sizes are its own. */
  suits(query: Tensor, options: AttentionOptions): boolean;
  attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cumulativeLengths: Tensor,
    options: AttentionOptions,
  ): Tensor;
}

/** Where queries and keys of each run begin, as the operators want it. */
interface Runs {
  /** int32 [runs + 1] on the device. */
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly mostQueries: number;
  readonly mostKeys: number;
  /** int64 on the device: which keys the runs see, one run after the other. Undefined: all, in order. */
  readonly gathered: Tensor | undefined;
}

function runsOf(cumulativeLengths: Tensor, parents: Tensor | undefined, device: Device): Runs {
  const bounds = cumulativeLengths.toNumbers();
  const from = parents?.toNumbers();
  const queries: number[] = [0];
  const keys: number[] = [0];
  const order: number[] = [];
  const paths: (readonly [number, number])[][] = [];
  let [mostQueries, mostKeys] = [0, 0];
  for (let run = 0; run + 1 < bounds.length; run++) {
    const [begin, end] = [bounds[run]!, bounds[run + 1]!];
    const parent = from?.[run] ?? -1;
    const path = [...(parent >= 0 ? paths[parent]! : []), [begin, end] as const];
    paths.push(path);
    // A run without tokens may still be gone on from.
    if (end === begin) continue;
    let seen = 0;
    for (const [first, last] of path) {
      seen += last - first;
      if (from) for (let token = first; token < last; token++) order.push(token);
    }
    queries.push(end);
    keys.push(keys.at(-1)! + seen);
    mostQueries = Math.max(mostQueries, end - begin);
    mostKeys = Math.max(mostKeys, seen);
  }
  const upload = (values: readonly number[]) =>
    fromTypedArray(Int32Array.from(values), undefined, { device });
  return {
    queries: upload(queries),
    keys: from ? upload(keys) : upload(queries),
    mostQueries,
    mostKeys,
    gathered: from
      ? fromTypedArray(BigInt64Array.from(order, BigInt), undefined, { device })
      : undefined,
  };
}

/** Whether the operator is there as it is written here, with a kernel for the device. */
function has(name: string, device: Device, needed: readonly string[]): boolean {
  if (!native.hasKernel(name, "", device)) return false;
  const known = new Set(describeOperator(name).arguments.map((argument) => argument.name));
  return needed.every((argument) => known.has(argument));
}

const HALF = new Set(["float16", "bfloat16"]);

const flash: VariableLength = {
  name: "aten::_flash_attention_forward",
  suits(query, { window }) {
    const width = query.size(-1);
    const needed = ["cum_seq_q", "max_q", "is_causal", "scale"];
    return (
      HALF.has(query.dtype) &&
      width % 8 === 0 &&
      width <= 256 &&
      has(this.name, query.device, window === undefined ? needed : [...needed, "window_size_left"])
    );
  },
  attend(query, key, value, cumulativeLengths, { scale, window, parents }) {
    return tidy(() => {
      const runs = runsOf(cumulativeLengths, parents, query.device);
      const seen = (x: Tensor) => (runs.gathered ? x.indexSelect(0, runs.gathered) : x);
      const results = call(
        this.name,
        [query.contiguous(), seen(key).contiguous(), seen(value).contiguous()],
        {
          cum_seq_q: runs.queries,
          cum_seq_k: runs.keys,
          max_q: runs.mostQueries,
          max_k: runs.mostKeys,
          dropout_p: 0,
          is_causal: true,
          return_debug_mask: false,
          scale: scale ?? 1 / Math.sqrt(query.size(-1)),
          // The keys to the left of a query's own.
          ...(window !== undefined && { window_size_left: window - 1, window_size_right: 0 }),
        },
      ) as Tensor[];
      return results[0]!;
    });
  },
};

/** A query sees the keys up to its own, counted from the first, or from the last of both. */
const CAUSAL_FROM_FIRST = 1;
const CAUSAL_FROM_LAST = 2;

const memoryEfficient: VariableLength = {
  name: "aten::_efficient_attention_forward",
  suits(query, { window }) {
    const needed = ["cu_seqlens_q", "max_seqlen_q", "custom_mask_type", "scale"];
    return (
      // Its backward knows no windows.
      window === undefined &&
      query.dtype !== "float64" &&
      query.size(-1) % 8 === 0 &&
      has(this.name, query.device, needed)
    );
  },
  attend(query, key, value, cumulativeLengths, { scale, parents }) {
    return tidy(() => {
      const runs = runsOf(cumulativeLengths, parents, query.device);
      const sharing = query.size(1) / key.size(1);
      const seen = (x: Tensor) => {
        const own = runs.gathered ? x.indexSelect(0, runs.gathered) : x;
        const spread = sharing === 1 ? own : own.repeatInterleave(sharing, 1);
        return spread.contiguous().unsqueeze(0);
      };
      const results = call(
        this.name,
        [query.contiguous().unsqueeze(0), seen(key), seen(value), null],
        {
          cu_seqlens_q: runs.queries,
          cu_seqlens_k: runs.keys,
          max_seqlen_q: runs.mostQueries,
          max_seqlen_k: runs.mostKeys,
          dropout_p: 0,
          custom_mask_type: parents ? CAUSAL_FROM_LAST : CAUSAL_FROM_FIRST,
          compute_log_sumexp: true,
          scale: scale ?? 1 / Math.sqrt(query.size(-1)),
        },
      ) as Tensor[];
      return results[0]!.squeeze(0);
    });
  },
};

/** The faster first. */
export const VARIABLE_LENGTH: readonly VariableLength[] = [flash, memoryEfficient];
