/// @file Attention forward: one block of queries at a time meets its keys block by block, with a
/// running maximum and sum per query (the online softmax of FlashAttention).
#include "attention.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/parallel.h"

namespace openmanus::fused {
namespace {

constexpr int64_t query_block = 144;

static_assert(query_block % block_lanes<float> == 0 && query_block % block_lanes<double> == 0);

/// Row length of a tile whose lanes are queries.
template <typename T>
constexpr int64_t query_row = padded_row<T>(query_block);

struct QueryBlock {
  int64_t run, begin;  // begin counts from the sequence's beginning
  int64_t keys;        // how many keys it meets: its cost
};

/// All blocks of queries, the most expensive first: a thread that takes the last item is not long.
std::vector<QueryBlock> query_blocks(const AttentionShape& shape) {
  std::vector<QueryBlock> blocks;
  const Sight sight{shape.window};
  for (int64_t run = 0; run < shape.runs(); ++run)
    for (int64_t begin = shape.positions[run]; begin < shape.end(run); begin += query_block) {
      const int64_t end = std::min(shape.end(run), begin + query_block);
      blocks.push_back({run, begin, end - sight.first_key(begin)});
    }
  std::stable_sort(blocks.begin(), blocks.end(), [](const QueryBlock& a, const QueryBlock& b) {
    return a.keys > b.keys;
  });
  return blocks;
}

/// One thread's tiles.
template <typename T>
struct Tiles {
  int64_t row;              // of a token: head_dim, padded
  Scratch<T> rows;          // [query_block, row]
  Scratch<T> query;         // [head_dim, query_row]
  Scratch<T> keys, values;  // [keys that a block of queries meets, row]
  Scratch<T> scores;        // [key_block, query_row]
  Scratch<T> output;        // [head_dim, query_row], not yet divided by `sum`
  Scratch<T> maximum, sum;  // [query_block]

  Tiles(int64_t head_dim, int64_t most_keys)
      : row(padded_row<T>(head_dim)),
        rows(query_block * row),
        query(head_dim * query_row<T>),
        keys(most_keys * row),
        values(most_keys * row),
        scores(key_block * query_row<T>),
        output(head_dim * query_row<T>),
        maximum(query_block),
        sum(query_block) {}
};

/// Turns a strip of scores into weights relative to the running maximum, and rescales what was
/// summed under the old one.
template <typename T>
void softmax_strip(Tiles<T>& tiles, int64_t lane, const Visible& visible, int64_t head_dim) {
  for (int v = 0; v < block_vectors; ++v, lane += lanes<T>) {
    T* scores = tiles.scores + lane;
    const Vector<T> old_maximum = load(tiles.maximum + lane);
    Vector<T> top = old_maximum;
    for (int64_t row = visible.begin; row < visible.end; ++row)
      top = maximum<T>(top, load(scores + row * query_row<T>));
    Vector<T> total = {};
    for (int64_t row = visible.begin; row < visible.end; ++row) {
      T* place = scores + row * query_row<T>;
      const Vector<T> weight = fused::exp2(load(place) - top);
      store(place, weight);
      total += weight;
    }
    const Vector<T> rescale = fused::exp2(old_maximum - top);
    store(tiles.maximum + lane, top);
    store(tiles.sum + lane, load(tiles.sum + lane) * rescale + total);
    for (int64_t d = 0; d < head_dim; ++d) {
      T* place = tiles.output + d * query_row<T> + lane;
      store(place, load(place) * rescale);
    }
  }
}

}  // namespace

template <typename T>
void attention_forward(
    const AttentionShape& shape, const Heads& query, const Heads& key, const Heads& value,
    const Heads& output, T* logsumexp) {
  const std::vector<QueryBlock> blocks = query_blocks(shape);
  if (blocks.empty()) return;
  const Sight sight{shape.window};
  const int64_t head_dim = shape.head_dim;
  // Heads that share their keys read them once, if that leaves items enough for all threads.
  const int64_t items = int64_t(blocks.size()) * shape.key_heads;
  const int64_t together = items >= 4 * at::get_num_threads() ? shape.group() : 1;
  const int64_t most_keys = blocks.front().keys, packs = shape.heads / together;
  share_items(int64_t(blocks.size()) * packs, [&](auto next) {
    Tiles<T> tiles(head_dim, most_keys);
    for (int64_t item; (item = next()) >= 0;) {
      const QueryBlock& block = blocks[item / packs];
      const int64_t first_head = item % packs * together, key_head = first_head / shape.group();
      const int64_t token = shape.token(block.run, block.begin);
      const int64_t queries = std::min(query_block, shape.end(block.run) - block.begin);
      const int64_t width = (queries + block_lanes<T> - 1) / block_lanes<T> * block_lanes<T>;
      const int64_t from = sight.first_key(block.begin), end = block.begin + queries;
      for (const Stretch& part : shape.path(block.run, from)) {
        const int64_t first = std::max(from, part.position);
        const int64_t count = std::min(end, part.end()) - first;
        const int64_t source = part.token + first - part.position,
                      place = (first - from) * tiles.row;
        read_rows<T>(key, source, count, key_head, head_dim, tiles.keys + place, tiles.row);
        read_rows<T>(value, source, count, key_head, head_dim, tiles.values + place, tiles.row);
      }
      for (int64_t head = first_head; head < first_head + together; ++head) {
        read_rows<T>(query, token, queries, head, head_dim, tiles.rows, tiles.row);
        transpose_to_lanes<T>(
            tiles.rows, tiles.row, queries, head_dim, T(shape.scale * log2_of_e), tiles.query,
            query_row<T>, width);
        // Finite, so that a query which sees nothing of its first block of keys does not subtract
        // infinities; 2^(anything - lowest) never reaches a result, because `rescale` is then 0.
        std::fill_n(tiles.maximum.get(), query_block, T(-1e30));
        std::fill_n(tiles.sum.get(), query_block, T(0));
        std::fill_n(tiles.output.get(), head_dim * query_row<T>, T(0));

        for (int64_t first = from; first < end; first += key_block) {
          const T* keys = tiles.keys + (first - from) * tiles.row;
          const T* values = tiles.values + (first - from) * tiles.row;
          for (int64_t lane = 0; lane < width; lane += block_lanes<T>) {
            const int64_t first_query = block.begin + lane;
            const Visible visible(
                sight, first_query, block_lanes<T>, first, std::min(key_block, end - first));
            const int64_t rows = visible.end - visible.begin;
            if (rows == 0) continue;
            T* scores = tiles.scores + visible.begin * query_row<T> + lane;
            strip_product<block_vectors, T>(
                rows, {keys + visible.begin * tiles.row, tiles.row, 1}, tiles.query + lane,
                query_row<T>, scores, query_row<T>, head_dim, false);
            mask_strip<T>(tiles.scores + lane, query_row<T>, visible, sight, first_query, first);
            softmax_strip<T>(tiles, lane, visible, head_dim);
            strip_product<block_vectors, T>(
                head_dim, {values + visible.begin * tiles.row, 1, tiles.row}, scores, query_row<T>,
                tiles.output + lane, query_row<T>, rows, true);
          }
        }

        for (int64_t d = 0; d < head_dim; ++d)
          for (int64_t lane = 0; lane < width; lane += lanes<T>) {
            T* place = tiles.output + d * query_row<T> + lane;
            store(place, load(place) / load(tiles.sum + lane));
          }
        transpose_from_lanes<T>(
            tiles.output, query_row<T>, queries, head_dim, tiles.rows, tiles.row);
        write_rows<T>(tiles.rows, tiles.row, T(1), output, token, queries, head, head_dim);
        if (!logsumexp) continue;
        T* saved = logsumexp + head * shape.tokens() + token;
        for (int64_t i = 0; i < queries; ++i) saved[i] = tiles.maximum[i] + std::log2(tiles.sum[i]);
      }
    }
  });
}

template void attention_forward<float>(
    const AttentionShape&, const Heads&, const Heads&, const Heads&, const Heads&, float*);
template void attention_forward<double>(
    const AttentionShape&, const Heads&, const Heads&, const Heads&, const Heads&, double*);

}  // namespace openmanus::fused
