/// @file Attention backward: weights are computed again, tile by tile, from the saved logsumexp.
///
/// With scores S, weights P = 2^(S - logsumexp), and D = sum over head_dim of dO * O, per query:
///   dV = P^T dO,   dP = dO V^T,   dS = P * (dP - D),   dQ = scale * dS K,   dK = scale * dS^T Q.
#include "attention.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/parallel.h"

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
  int64_t row, head_dim, head_lanes;           // head_lanes: head_dim in whole vectors
  Scratch<T> query_rows, doutput_rows, rows;   // [query_block, row]
  Scratch<T> query, doutput, dquery;           // [head_dim, query_row]
  Scratch<T> logsumexp, delta;                 // [query_block]
  Scratch<T> weights, dscores;                 // [key_block, query_row]
  int64_t token, begin, queries, width, head;  // `begin` counts from the sequence's beginning

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

  void read(int64_t run, int64_t begin_, int64_t head_) {
    const AttentionShape& shape = problem.shape;
    token = shape.token(run, begin_);
    begin = begin_;
    head = head_;
    queries = std::min(query_block, shape.end(run) - begin);
    width = (queries + block_lanes<T> - 1) / block_lanes<T> * block_lanes<T>;
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
        rows, row, T(problem.shape.scale), problem.dquery, token, queries, head, head_dim);
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

/// A block of keys: its first position in the sequence, its first token, how many.
struct KeyBlock {
  int64_t position, token, count;
};

/// Calls `meet` with every block of keys that the queries [begin, end) of a run see, in order. Blocks
/// begin with a stretch of the sequence: so every run that goes on from it cuts it in the same way.
template <typename Meet>
void for_key_blocks(
    const AttentionShape& shape, int64_t run, int64_t begin, int64_t end, Meet meet) {
  const int64_t from = Sight{shape.window}.first_key(begin);
  for (const Stretch& part : shape.path(run, from)) {
    const int64_t skipped = std::max<int64_t>(0, from - part.position) / key_block * key_block;
    const int64_t last = std::min(end, part.end());
    for (int64_t first = part.position + skipped; first < last; first += key_block)
      meet(KeyBlock{first, part.token + first - part.position, std::min(key_block, last - first)});
  }
}

/// All runs that begin with the same one.
struct Tree {
  int64_t first_run, end_run;
  int64_t first_token, tokens;
};

/// Without empty ones, the largest first: a thread that takes the last item is not long.
std::vector<Tree> trees_of(const AttentionShape& shape) {
  std::vector<Tree> trees;
  for (int64_t run = 0; run < shape.runs(); run = shape.subtree_end[run]) {
    const int64_t end = shape.subtree_end[run], token = shape.boundaries[run];
    if (shape.boundaries[end] > token)
      trees.push_back({run, end, token, shape.boundaries[end] - token});
  }
  std::stable_sort(
      trees.begin(), trees.end(), [](const Tree& a, const Tree& b) { return a.tokens > b.tokens; });
  return trees;
}

/// All three gradients, each tile computed once. An item is a whole tree for one key head.
template <typename T>
void backward_together(const Problem<T>& problem, const std::vector<Tree>& trees) {
  const AttentionShape& shape = problem.shape;
  const int64_t row = problem.row(), head_dim = shape.head_dim;
  share_items(int64_t(trees.size()) * shape.key_heads, [&](auto next) {
    QueryTiles<T> tiles(problem);
    const int64_t most = trees[0].tokens;
    Scratch<T> keys(most * row), values(most * row);
    Scratch<T> dkeys(most * row), dvalues(most * row);
    for (int64_t item; (item = next()) >= 0;) {
      const Tree& tree = trees[item / shape.key_heads];
      const int64_t key_head = item % shape.key_heads, group = shape.group();
      const int64_t start = tree.first_token, tokens = tree.tokens;
      read_rows<T>(problem.key, start, tokens, key_head, head_dim, keys, row);
      read_rows<T>(problem.value, start, tokens, key_head, head_dim, values, row);
      std::fill_n(dkeys.get(), tokens * row, T(0));
      std::fill_n(dvalues.get(), tokens * row, T(0));
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
        for (int64_t run = tree.first_run; run < tree.end_run; ++run)
          for (int64_t begin = shape.positions[run]; begin < shape.end(run); begin += query_block) {
            tiles.read(run, begin, head);
            for_key_blocks(shape, run, begin, begin + tiles.queries, [&](const KeyBlock& block) {
              const int64_t place = (block.token - start) * row;
              tiles.meet(
                  block.position, block.count, keys + place, values + place, true, dkeys + place,
                  dvalues + place);
            });
            tiles.write_dquery();
          }
      if (problem.dkey.data)
        write_rows<T>(dkeys, row, T(shape.scale), problem.dkey, start, tokens, key_head, head_dim);
      if (problem.dvalue.data)
        write_rows<T>(dvalues, row, T(1), problem.dvalue, start, tokens, key_head, head_dim);
    }
  });
}

/// A block of queries or keys of one run.
struct Block {
  int64_t run, begin;  // begin counts from the sequence's beginning
};

std::vector<Block> blocks_of(
    const AttentionShape& shape, const std::vector<Tree>& trees, int64_t size) {
  std::vector<Block> blocks;
  for (const Tree& tree : trees)
    for (int64_t run = tree.first_run; run < tree.end_run; ++run)
      for (int64_t begin = shape.positions[run]; begin < shape.end(run); begin += size)
        blocks.push_back({run, begin});
  return blocks;
}

/// The queries' gradient alone. An item is a block of queries.
template <typename T>
void backward_queries(const Problem<T>& problem, const std::vector<Tree>& trees) {
  const AttentionShape& shape = problem.shape;
  const int64_t row = problem.row();
  const std::vector<Block> blocks = blocks_of(shape, trees, query_block);
  share_items(int64_t(blocks.size()) * shape.heads, [&](auto next) {
    QueryTiles<T> tiles(problem);
    Scratch<T> keys(key_block * row), values(key_block * row);
    for (int64_t item; (item = next()) >= 0;) {
      const auto [run, begin] = blocks[item / shape.heads];
      const int64_t head = item % shape.heads, key_head = head / shape.group();
      tiles.read(run, begin, head);
      for_key_blocks(shape, run, begin, begin + tiles.queries, [&](const KeyBlock& block) {
        const auto read = [&](const Heads& from, T* to) {
          read_rows<T>(from, block.token, block.count, key_head, shape.head_dim, to, row);
        };
        read(problem.key, keys);
        read(problem.value, values);
        tiles.meet(block.position, block.count, keys, values, true, nullptr, nullptr);
      });
      tiles.write_dquery();
    }
  });
}

/// The keys' and values' gradients alone. An item is a block of keys, which its own run's queries see
/// and those of all runs that go on from there.
template <typename T>
void backward_keys(const Problem<T>& problem, const std::vector<Tree>& trees) {
  const AttentionShape& shape = problem.shape;
  const int64_t row = problem.row(), head_dim = shape.head_dim;
  const std::vector<Block> blocks = blocks_of(shape, trees, key_block);
  share_items(int64_t(blocks.size()) * shape.key_heads, [&](auto next) {
    QueryTiles<T> tiles(problem);
    Scratch<T> keys(key_block * row), values(key_block * row);
    Scratch<T> dkeys(key_block * row), dvalues(key_block * row);
    for (int64_t item; (item = next()) >= 0;) {
      const auto [own, first] = blocks[item / shape.key_heads];
      const int64_t key_head = item % shape.key_heads, group = shape.group();
      const int64_t token = shape.token(own, first);
      const int64_t count = std::min(key_block, shape.end(own) - first);
      const int64_t last_query = Sight{shape.window}.last_query(first + count - 1);
      read_rows<T>(problem.key, token, count, key_head, head_dim, keys, row);
      read_rows<T>(problem.value, token, count, key_head, head_dim, values, row);
      std::fill_n(dkeys.get(), count * row, T(0));
      std::fill_n(dvalues.get(), count * row, T(0));
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
        for (int64_t run = own; run < shape.subtree_end[own]; ++run) {
          const int64_t skipped = run == own ? (first - shape.positions[own]) : 0;
          const int64_t end = std::min(shape.end(run), last_query + 1);
          int64_t begin = shape.positions[run] + skipped / query_block * query_block;
          for (; begin < end; begin += query_block) {
            tiles.read(run, begin, head);
            tiles.meet(
                first, count, keys, values, false, problem.dkey.data ? dkeys.get() : nullptr,
                problem.dvalue.data ? dvalues.get() : nullptr);
          }
        }
      if (problem.dkey.data)
        write_rows<T>(dkeys, row, T(shape.scale), problem.dkey, token, count, key_head, head_dim);
      if (problem.dvalue.data)
        write_rows<T>(dvalues, row, T(1), problem.dvalue, token, count, key_head, head_dim);
    }
  });
}

/// Whether items of whole trees keep all threads busy. Splitting finer costs seven products per
/// tile instead of five, so the longest may exceed an even share by that much.
bool shares_evenly(const AttentionShape& shape, const std::vector<Tree>& trees) {
  double total = 0, longest = 0;
  for (const Tree& tree : trees) {
    double cost = 0;
    for (int64_t run = tree.first_run; run < tree.end_run; ++run)
      cost += double(shape.length(run)) *
              std::min<double>(shape.positions[run] + shape.end(run), 2.0 * shape.window);
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
  const std::vector<Tree> trees = trees_of(shape);
  if (trees.empty()) return;
  // Both ways add up in the same order and give the same bits.
  const bool needs_keys = dkey.data || dvalue.data;
  if (dquery.data && needs_keys && shares_evenly(shape, trees))
    return backward_together(problem, trees);
  if (dquery.data) backward_queries(problem, trees);
  if (needs_keys) backward_keys(problem, trees);
}

template void attention_backward<float>(
    const AttentionShape&, const Heads&, const Heads&, const Heads&, const Heads&, const float*,
    const Heads&, const Heads&, const Heads&, const Heads&);
template void attention_backward<double>(
    const AttentionShape&, const Heads&, const Heads&, const Heads&, const Heads&, const double*,
    const Heads&, const Heads&, const Heads&, const Heads&);

}  // namespace openmanus::fused
