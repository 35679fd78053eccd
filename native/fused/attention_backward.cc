/// @file Attention backward: weights are computed again, tile by tile, from the saved logsumexp.
///
/// With scores S, weights P = 2^(S - logsumexp), and D = sum over head_dim of dO * O, per query:
///   dV = P^T dO,   dP = dO V^T,   dS = P * (dP - D),   dQ = scale * dS K,   dK = scale * dS^T Q.
#include "attention.h"
#include "exponential.h"
#include "parallel.h"

namespace openmanus::fused {
namespace {

constexpr int64_t query_block = 96;

static_assert(query_block % block_lanes<float> == 0 && query_block % block_lanes<double> == 0);

/// Row length of a tile whose lanes are queries.
template <typename T>
constexpr int64_t query_row = padded_row<T>(query_block);

template <typename T>
struct Problem {
  const AttentionShape& shape;
  const Heads &query, &key, &value, &output;
  const T* logsumexp;  // [heads, tokens]
  const Heads &doutput, &dquery, &dkey, &dvalue;

  int64_t row() const { return padded_row<T>(shape.head_dim); }
};

/// One block of queries of one head, both ways round, and the tiles between it and a block of keys.
template <typename T>
struct QueryTiles {
  const Problem<T>& problem;
  int64_t row, head_dim, head_lanes;          // head_lanes: head_dim in whole vectors
  Scratch<T> query_rows, doutput_rows, rows;  // [query_block, row]
  Scratch<T> query, doutput, dquery;          // [head_dim, query_row]
  Scratch<T> logsumexp, delta;                // [query_block]
  Scratch<T> weights, dscores;                // [key_block, query_row]
  int64_t sequence_start, begin, queries, width, head;

  explicit QueryTiles(const Problem<T>& problem)
      : problem(problem),
        row(problem.row()),
        head_dim(problem.shape.head_dim),
        head_lanes((head_dim + lanes<T> - 1) / lanes<T> * lanes<T>),
        query_rows(query_block * row),
        doutput_rows(query_block * row),
        rows(query_block * row),
        query(head_dim * query_row<T>),
        doutput(head_dim * query_row<T>),
        dquery(head_dim * query_row<T>),
        logsumexp(query_block),
        delta(query_block),
        weights(key_block * query_row<T>),
        dscores(key_block * query_row<T>) {}

  void read(int64_t sequence, int64_t begin_, int64_t head_) {
    const AttentionShape& shape = problem.shape;
    sequence_start = shape.boundaries[sequence];
    begin = begin_;
    head = head_;
    queries = std::min(query_block, shape.length(sequence) - begin);
    width = (queries + block_lanes<T> - 1) / block_lanes<T> * block_lanes<T>;
    const int64_t token = sequence_start + begin;
    read_rows<T>(problem.query, token, queries, head, head_dim, query_rows, row);
    read_rows<T>(problem.doutput, token, queries, head, head_dim, doutput_rows, row);
    read_rows<T>(problem.output, token, queries, head, head_dim, rows, row);
    transpose_to_lanes<T>(
        query_rows, row, queries, head_dim, T(shape.scale * log2_of_e), query, query_row<T>, width);
    transpose_to_lanes<T>(doutput_rows, row, queries, head_dim, T(1), doutput, query_row<T>, width);
    std::fill_n(logsumexp.get(), query_block, T(0));
    std::fill_n(delta.get(), query_block, T(0));
    for (int64_t i = 0; i < queries; ++i) {
      logsumexp[i] = problem.logsumexp[head * shape.tokens() + token + i];
      Vector<T> sum = {};
      for (int64_t d = 0; d < head_lanes; d += lanes<T>)
        sum += load(rows + i * row + d) * load(doutput_rows + i * row + d);
      delta[i] = horizontal_sum<T>(sum);
    }
    std::fill_n(dquery.get(), head_dim * query_row<T>, T(0));
  }

  /// Meets the keys [first, first + count) of the sequence, whose rows are at `keys` and `values`.
  /// Adds to dquery if `adds_dquery`, and to the rows at dkeys and dvalues if these are not null.
  void meet(
      int64_t first, int64_t count, const T* keys, const T* values, bool adds_dquery, T* dkeys,
      T* dvalues) {
    const Sight sight{problem.shape.window};
    bool whole = true;
    for (int64_t lane = 0; lane < width; lane += block_lanes<T>) {
      const Visible visible(sight, begin + lane, block_lanes<T>, first, count);
      whole = whole && visible.whole_begin == 0 && visible.whole_end == count;
      strip(lane, visible, sight, first, count, keys, values);
      if (adds_dquery)
        strip_product<block_vectors, T>(
            head_dim, {keys + visible.begin * row, 1, row},
            dscores + visible.begin * query_row<T> + lane, query_row<T>, dquery + lane,
            query_row<T>, visible.end - visible.begin, true);
    }
    // Near the diagonal, and at a window's edge, a row of keys is seen by few of the queries.
    const int64_t step = whole ? count : 2 * block_rows;
    for (int64_t at = 0; at < count; at += step) {
      const int64_t taken = std::min(step, count - at);
      const int64_t last = sight.last_query(first + at + taken - 1) + 1;
      const int64_t from = std::clamp<int64_t>(first + at - begin, 0, queries);
      const int64_t depth = std::clamp<int64_t>(last - begin, from, queries) - from;
      const int64_t place = at * query_row<T> + from;
      if (dvalues)
        tile_product<T>(
            taken, head_lanes, {weights + place, query_row<T>, 1}, doutput_rows + from * row, row,
            dvalues + at * row, row, depth, true);
      if (dkeys)
        tile_product<T>(
            taken, head_lanes, {dscores + place, query_row<T>, 1}, query_rows + from * row, row,
            dkeys + at * row, row, depth, true);
    }
  }

  void write_dquery() {
    transpose_from_lanes<T>(dquery, query_row<T>, queries, head_dim, rows, row);
    write_rows<T>(
        rows, row, T(problem.shape.scale), problem.dquery, sequence_start + begin, queries, head,
        head_dim);
  }

 private:
  /// The weights and the scores' gradient of one strip of queries; zero where a key is not seen.
  void strip(
      int64_t lane, const Visible& visible, Sight sight, int64_t first, int64_t count,
      const T* keys, const T* values) {
    const int64_t seen = visible.end - visible.begin;
    const int64_t place = visible.begin * query_row<T> + lane;
    for (int64_t at = 0; at < count; ++at)
      if (at < visible.begin || at >= visible.end) {
        std::fill_n(weights + at * query_row<T> + lane, block_lanes<T>, T(0));
        std::fill_n(dscores + at * query_row<T> + lane, block_lanes<T>, T(0));
      }
    if (seen == 0) return;
    strip_product<block_vectors, T>(
        seen, {keys + visible.begin * row, row, 1}, query + lane, query_row<T>, weights + place,
        query_row<T>, head_dim, false);
    mask_strip<T>(weights + lane, query_row<T>, visible, sight, begin + lane, first);
    strip_product<block_vectors, T>(
        seen, {values + visible.begin * row, row, 1}, doutput + lane, query_row<T>, dscores + place,
        query_row<T>, head_dim, false);
    for (int v = 0; v < block_vectors; ++v, lane += lanes<T>) {
      const Vector<T> log_sum = load(logsumexp + lane), d = load(delta + lane);
      for (int64_t at = visible.begin; at < visible.end; ++at) {
        T* weight_place = weights + at * query_row<T> + lane;
        T* dscore_place = dscores + at * query_row<T> + lane;
        const Vector<T> weight = fused::exp2(load(weight_place) - log_sum);
        store(weight_place, weight);
        store(dscore_place, weight * (load(dscore_place) - d));
      }
    }
  }
};

/// A sequence's blocks of queries that see any of the keys [first, first + count).
struct QueryRange {
  int64_t begin, end;
  QueryRange(const AttentionShape& shape, int64_t sequence, int64_t first, int64_t count)
      : begin(first / query_block * query_block),
        end(std::min(
            shape.length(sequence), Sight{shape.window}.last_query(first + count - 1) + 1)) {}
};

int64_t first_key_block(const AttentionShape& shape, int64_t query) {
  return Sight{shape.window}.first_key(query) / key_block * key_block;
}

/// All three gradients, each tile computed once. An item is all of a sequence for one key head.
template <typename T>
void backward_together(const Problem<T>& problem, const std::vector<int64_t>& by_length) {
  const AttentionShape& shape = problem.shape;
  const int64_t row = problem.row(), head_dim = shape.head_dim;
  share_items(int64_t(by_length.size()) * shape.key_heads, [&](auto next) {
    QueryTiles<T> tiles(problem);
    const int64_t longest = shape.length(by_length[0]);
    Scratch<T> keys(longest * row), values(longest * row);
    Scratch<T> dkeys(longest * row), dvalues(longest * row);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t sequence = by_length[item / shape.key_heads];
      const int64_t key_head = item % shape.key_heads, group = shape.group();
      const int64_t start = shape.boundaries[sequence], length = shape.length(sequence);
      read_rows<T>(problem.key, start, length, key_head, head_dim, keys, row);
      read_rows<T>(problem.value, start, length, key_head, head_dim, values, row);
      std::fill_n(dkeys.get(), length * row, T(0));
      std::fill_n(dvalues.get(), length * row, T(0));
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
        for (int64_t begin = 0; begin < length; begin += query_block) {
          tiles.read(sequence, begin, head);
          const int64_t end = begin + tiles.queries;
          for (int64_t first = first_key_block(shape, begin); first < end; first += key_block)
            tiles.meet(
                first, std::min(key_block, end - first), keys + first * row, values + first * row,
                true, dkeys + first * row, dvalues + first * row);
          tiles.write_dquery();
        }
      if (problem.dkey.data)
        write_rows<T>(dkeys, row, T(shape.scale), problem.dkey, start, length, key_head, head_dim);
      if (problem.dvalue.data)
        write_rows<T>(dvalues, row, T(1), problem.dvalue, start, length, key_head, head_dim);
    }
  });
}

/// A block of queries or keys of one sequence.
struct Block {
  int64_t sequence, begin;
};

std::vector<Block> blocks_of(
    const AttentionShape& shape, const std::vector<int64_t>& by_length, int64_t size) {
  std::vector<Block> blocks;
  for (const int64_t sequence : by_length)
    for (int64_t begin = 0; begin < shape.length(sequence); begin += size)
      blocks.push_back({sequence, begin});
  return blocks;
}

/// The queries' gradient alone. An item is a block of queries.
template <typename T>
void backward_queries(const Problem<T>& problem, const std::vector<int64_t>& by_length) {
  const AttentionShape& shape = problem.shape;
  const int64_t row = problem.row();
  const std::vector<Block> blocks = blocks_of(shape, by_length, query_block);
  share_items(int64_t(blocks.size()) * shape.heads, [&](auto next) {
    QueryTiles<T> tiles(problem);
    Scratch<T> keys(key_block * row), values(key_block * row);
    for (int64_t item; (item = next()) >= 0;) {
      const Block& block = blocks[item / shape.heads];
      const int64_t head = item % shape.heads, key_head = head / shape.group();
      const int64_t start = shape.boundaries[block.sequence];
      tiles.read(block.sequence, block.begin, head);
      const int64_t end = block.begin + tiles.queries;
      for (int64_t first = first_key_block(shape, block.begin); first < end; first += key_block) {
        const int64_t count = std::min(key_block, end - first);
        read_rows<T>(problem.key, start + first, count, key_head, shape.head_dim, keys, row);
        read_rows<T>(problem.value, start + first, count, key_head, shape.head_dim, values, row);
        tiles.meet(first, count, keys, values, true, nullptr, nullptr);
      }
      tiles.write_dquery();
    }
  });
}

/// The keys' and values' gradients alone. An item is a block of keys.
template <typename T>
void backward_keys(const Problem<T>& problem, const std::vector<int64_t>& by_length) {
  const AttentionShape& shape = problem.shape;
  const int64_t row = problem.row(), head_dim = shape.head_dim;
  const std::vector<Block> blocks = blocks_of(shape, by_length, key_block);
  share_items(int64_t(blocks.size()) * shape.key_heads, [&](auto next) {
    QueryTiles<T> tiles(problem);
    Scratch<T> keys(key_block * row), values(key_block * row);
    Scratch<T> dkeys(key_block * row), dvalues(key_block * row);
    for (int64_t item; (item = next()) >= 0;) {
      const Block& block = blocks[item / shape.key_heads];
      const int64_t key_head = item % shape.key_heads, group = shape.group();
      const int64_t start = shape.boundaries[block.sequence], first = block.begin;
      const int64_t count = std::min(key_block, shape.length(block.sequence) - first);
      read_rows<T>(problem.key, start + first, count, key_head, head_dim, keys, row);
      read_rows<T>(problem.value, start + first, count, key_head, head_dim, values, row);
      std::fill_n(dkeys.get(), count * row, T(0));
      std::fill_n(dvalues.get(), count * row, T(0));
      const QueryRange range(shape, block.sequence, first, count);
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
        for (int64_t begin = range.begin; begin < range.end; begin += query_block) {
          tiles.read(block.sequence, begin, head);
          tiles.meet(
              first, count, keys, values, false, problem.dkey.data ? dkeys.get() : nullptr,
              problem.dvalue.data ? dvalues.get() : nullptr);
        }
      if (problem.dkey.data)
        write_rows<T>(
            dkeys, row, T(shape.scale), problem.dkey, start + first, count, key_head, head_dim);
      if (problem.dvalue.data)
        write_rows<T>(dvalues, row, T(1), problem.dvalue, start + first, count, key_head, head_dim);
    }
  });
}

/// Whether items of whole sequences keep all threads busy. Splitting finer costs seven products per
/// tile instead of five, so the longest sequence may exceed an even share by that much.
bool shares_evenly(const AttentionShape& shape) {
  double total = 0, longest = 0;
  for (int64_t sequence = 0; sequence < shape.sequences(); ++sequence) {
    const double length = shape.length(sequence);
    const double cost = length * std::min<double>(length, 2.0 * shape.window);
    total += cost;
    longest = std::max(longest, cost);
  }
  return longest * at::get_num_threads() <= 1.4 * total * shape.key_heads;
}

}  // namespace

template <typename T>
void attention_backward(
    const AttentionShape& shape, const Heads& query, const Heads& key, const Heads& value,
    const Heads& output, const T* logsumexp, const Heads& doutput, const Heads& dquery,
    const Heads& dkey, const Heads& dvalue) {
  const Problem<T> problem{shape,     query,   key,    value, output,
                           logsumexp, doutput, dquery, dkey,  dvalue};
  std::vector<int64_t> by_length;
  for (int64_t sequence = 0; sequence < shape.sequences(); ++sequence)
    if (shape.length(sequence) > 0) by_length.push_back(sequence);
  if (by_length.empty()) return;
  std::stable_sort(by_length.begin(), by_length.end(), [&](int64_t a, int64_t b) {
    return shape.length(a) > shape.length(b);
  });
  // Both ways add up in the same order and give the same bits.
  const bool needs_keys = dkey.data || dvalue.data;
  if (dquery.data && needs_keys && shares_evenly(shape))
    return backward_together(problem, by_length);
  if (dquery.data) backward_queries(problem, by_length);
  if (needs_keys) backward_keys(problem, by_length);
}

template void attention_backward<float>(
    const AttentionShape&, const Heads&, const Heads&, const Heads&, const Heads&, const float*,
    const Heads&, const Heads&, const Heads&, const Heads&);
template void attention_backward<double>(
    const AttentionShape&, const Heads&, const Heads&, const Heads&, const Heads&, const double*,
    const Heads&, const Heads&, const Heads&, const Heads&);

}  // namespace openmanus::fused
