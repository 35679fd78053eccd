/// @file The tokens that go through a decoder's layers together, and how their products are shared out.
#pragma once

#include <ATen/Parallel.h>

#include "decoder.h"

namespace openmanus::generation {

/// Matrix rows of one item: enough to be worth the counting, few enough to share evenly...
constexpr int64_t item_rows = 24;
/// ... and, where there are many tokens, as many as make good use of a strip while it is in L1.
constexpr int64_t most_item_rows = 96;
/// What of the activations an item may read again and again: half of a second cache.
constexpr int64_t item_bytes = 256 * 1024;

inline Ahead rows_ahead(const Weight& weight, int64_t row, int64_t rows) {
  const int64_t first = row * weight.columns, count = rows * weight.columns;
  if (weight.data) return Ahead(weight.data + first, count);
  if (weight.shorts) return Ahead(weight.shorts + first, count);
  const int64_t bytes = bytes_of_row(weight.columns);
  return Ahead(weight.bytes + row * bytes, rows * bytes);
}

/// A product cut into items: some of its rows for some of the strips.
struct Grid {
  int64_t rows, strips, chunk, chunks, group, groups;

  Grid(int64_t rows, int64_t strips, int64_t features, int64_t width) : rows(rows), strips(strips) {
    group = std::clamp<int64_t>(item_bytes / (features * width * int64_t(sizeof(float))), 4, 16);
    groups = (strips + group - 1) / group;
    // A whole number of items for every thread; many tokens make enough of them from more rows each.
    const int64_t threads = at::get_num_threads();
    const int64_t taken = std::clamp(
        rows * groups / (16 * threads), item_rows, groups > 1 ? most_item_rows : item_rows);
    chunks = (rows + taken * threads - 1) / (taken * threads) * threads;
    chunk = (rows + chunks - 1) / chunks;
    chunks = (rows + chunk - 1) / chunk;
  }
  int64_t items() const { return chunks * groups; }
  /// body(first row, rows, first strip, last strip): all rows of one group after the other.
  template <typename Body>
  void take(int64_t item, const Body& body) const {
    const int64_t row = item % chunks * chunk, strip = item / chunks * group;
    body(row, std::min(chunk, rows - row), strip, std::min(strips, strip + group));
  }
  /// Of a matrix whose rows from `begin` on are shared out: those of the item that this thread will
  /// probably take after this one, when the others have taken one each.
  Ahead after(int64_t item, const Weight& weight, int64_t begin) const {
    const int64_t row = (item + at::get_num_threads()) % chunks * chunk;
    return rows_ahead(weight, begin + row, std::min(chunk, rows - row));
  }
};

/// Tokens that go through a layer together, and their activations.
struct Rows {
  Batch batch;
  std::vector<Item> items;
  TokenStrips x, normed, qkv, seen, gated, up, cos, sin;
  /// Queries, keys and values one token after the other; attention puts its results over the queries.
  TokenStrips by_token;

  Rows(const Decoder& decoder, const Batch& batch, int64_t tokens, int64_t width)
      : batch(batch),
        items(items_of(batch)),
        x(tokens, decoder.hidden, width),
        normed(tokens, decoder.hidden, width),
        qkv(tokens, decoder.qkv_features(), width),
        seen(tokens, decoder.query_features(), width),
        gated(tokens, decoder.intermediate, width),
        up(tokens, decoder.intermediate, width),
        cos(tokens, decoder.ropes * decoder.head_dim / 2, width),
        sin(tokens, decoder.ropes * decoder.head_dim / 2, width),
        by_token(tokens, decoder.qkv_features(), 1) {}
};

}  // namespace openmanus::generation
