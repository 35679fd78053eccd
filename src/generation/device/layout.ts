/**
 * @file The tokens of one pass on a device, in one copy: ids and places, the rows of the cache that the new tokens
 * take, and whose pages each sequence reads.
 */
import type { ModelConfig } from "../../models/index.ts";
import { arange, type Device, fromTypedArray, type Tensor } from "../../torch/index.ts";
import { PAGE_SIZE } from "../cache/store.ts";
import type { Layout } from "../layout.ts";

/** Sequences whose queries are computed at once: so many each, and so many rows of the cache that they may see. */
export interface Together {
  /** int32 [sequences · queries] Which of the pass's tokens they are. */
  readonly tokens: Tensor;
  readonly sequences: number;
  readonly queries: number;
  /** int64 [sequences · keys] Rows of the cache; beyond a sequence's end any row. */
  readonly rows: Tensor;
  readonly keys: number;
  /** [sequences, queries, 1] */
  readonly positions: Tensor;
}

export interface DeviceLayout {
  readonly ids: Tensor;
  readonly positions: Tensor;
  readonly wanted: Tensor;
  /** int64 [tokens] The new tokens' rows in the cache. */
  readonly slots: Tensor;
  readonly together: readonly Together[];
}

/** Scores, or numbers of gathered keys, that one group makes at most: 64 MB of float32. */
const MOST = 16 * 2 ** 20;

interface Group {
  readonly members: number[];
  /** The first query among a member's new tokens, and how many. */
  readonly first: number;
  readonly queries: number;
  pages: number;
}

/**
 * Sequences with one new token go together, as many as fit; the new tokens of others by themselves, in parts. A part
 * sees the pages up to its last token.
 */
function groupsOf(layout: Layout, { heads, keyValueHeads, headDimension }: ModelConfig): Group[] {
  const { queryOffsets, lengths } = layout;
  const groups: Group[] = [];
  let decoding: Group | undefined;
  const perKey = Math.max(heads, keyValueHeads * headDimension);
  const count = (sequence: number) => queryOffsets[sequence + 1]! - queryOffsets[sequence]!;
  const pagesOf = (tokens: number) => Math.ceil(tokens / PAGE_SIZE);
  const single = [...lengths.keys()].filter((sequence) => count(sequence) === 1);
  // Of similar lengths together: what is beyond a sequence's end is computed in vain.
  for (const sequence of single.sort((a, b) => lengths[a]! - lengths[b]! || a - b)) {
    const pages = pagesOf(lengths[sequence]!);
    const fits = decoding && (decoding.members.length + 1) * pages * PAGE_SIZE * perKey <= MOST;
    if (!decoding || !fits) {
      decoding = { members: [], first: 0, queries: 1, pages: 0 };
      groups.push(decoding);
    }
    decoding.members.push(sequence);
    decoding.pages = Math.max(decoding.pages, pages);
  }
  for (const [sequence, length] of lengths.entries()) {
    const all = count(sequence);
    if (all === 1) continue;
    const most = Math.max(1, Math.floor(MOST / (heads * pagesOf(length) * PAGE_SIZE)));
    for (let first = 0; first < all; first += most) {
      const queries = Math.min(most, all - first);
      const seen = length - all + first + queries;
      groups.push({ members: [sequence], first, queries, pages: pagesOf(seen) });
    }
  }
  return groups;
}

export function deviceLayout(layout: Layout, config: ModelConfig, device: Device): DeviceLayout {
  const { ids, positions, wanted, queryOffsets, pageOffsets, pages } = layout;
  const groups = groupsOf(layout, config);
  const numbers: number[] = [];
  const places = new Map<string, readonly [number, number]>();
  const add = (name: string, values: Iterable<number>) => {
    const begin = numbers.length;
    for (const value of values) numbers.push(value);
    places.set(name, [begin, numbers.length - begin]);
  };
  add("ids", ids);
  add("positions", positions);
  add("wanted", wanted);
  const slots = new Int32Array(ids.length);
  for (let sequence = 0; sequence + 1 < queryOffsets.length; sequence++)
    for (let token = queryOffsets[sequence]!; token < queryOffsets[sequence + 1]!; token++) {
      const at = positions[token]!;
      const page = pages[pageOffsets[sequence]! + Math.floor(at / PAGE_SIZE)]!;
      slots[token] = page * PAGE_SIZE + (at % PAGE_SIZE);
    }
  add("slots", slots);
  for (const [i, group] of groups.entries()) {
    const tokens = group.members.flatMap((sequence) =>
      Array.from({ length: group.queries }, (_, k) => queryOffsets[sequence]! + group.first + k),
    );
    add(`tokens ${i}`, tokens);
    const table = group.members.flatMap((sequence) =>
      Array.from({ length: group.pages }, (_, k) => {
        const at = pageOffsets[sequence]! + k;
        return at < pageOffsets[sequence + 1]! ? pages[at]! : pages[pageOffsets[sequence]!]!;
      }),
    );
    add(`pages ${i}`, table);
  }
  const sent = fromTypedArray(Int32Array.from(numbers), undefined, { device });
  const part = (name: string) => sent.narrow(0, ...places.get(name)!);
  const inPage = arange(0, PAGE_SIZE, 1, { device });
  const all = { ids: part("ids"), positions: part("positions"), wanted: part("wanted") };
  return {
    ...all,
    slots: part("slots").to("int64"),
    together: groups.map(({ members, queries, pages: count }, i) => {
      const tokens = part(`tokens ${i}`);
      return {
        tokens,
        sequences: members.length,
        queries,
        rows: part(`pages ${i}`).to("int64").mul(PAGE_SIZE).unsqueeze(1).add(inPage).view([-1]),
        keys: count * PAGE_SIZE,
        positions: all.positions.indexSelect(0, tokens).view([members.length, queries, 1]),
      };
    }),
  };
}
