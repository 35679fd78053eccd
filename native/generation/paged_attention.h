/// @file The new tokens of many sequences meet all their earlier ones, whose keys and values lie in
/// pages of a cache.
///
/// A page holds `page_size` tokens of one layer. Keys lie transposed in it, [kv_heads, head_dim,
/// page_size], so that a product with queries has the keys in the vector lanes; values lie
/// [kv_heads, page_size, value_width], so that the weighted sum has head_dim there (value_width is
/// head_dim in whole vectors, zeros beyond it). One query (a decoding step) or many (a prompt) meet a
/// sequence's pages in the same way. A token's result depends on its own sequence alone: neither what else is in the batch nor how many of the sequence's tokens
/// come at once changes a bit of it.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>
#include <vector>

#include "fused/blocks/element.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/scratch.h"
#include "page_products.h"

namespace openmanus::generation {

using namespace openmanus::fused;

/// Queries (tokens × heads that share a key head) that meet a page together.
constexpr int64_t query_rows = 48;
/// With so few of them, a page is read in one piece, for all its key heads...
constexpr int64_t few_rows = 4;
/// ... if that leaves every thread so many items.
constexpr int64_t least_items = 8;

/// Which tokens are new, and where the pages of their sequences are.
struct Batch {
  int64_t heads, kv_heads, head_dim, value_width, page_size, sequences;
  const int32_t* query_offsets;  // [sequences + 1]: new tokens of each sequence
  const int32_t* lengths;        // [sequences]: tokens with the new ones
  const int32_t* page_offsets;   // [sequences]: where a sequence's list of pages begins
  const int32_t* pages;          // page numbers, in order of the sequence

  int64_t group() const { return heads / kv_heads; }
  int64_t new_tokens(int64_t s) const { return query_offsets[s + 1] - query_offsets[s]; }
  int64_t first_position(int64_t s) const { return lengths[s] - new_tokens(s); }
  int64_t page_of(int64_t s, int64_t position) const {
    return pages[page_offsets[s] + position / page_size];
  }
  /// Where a page's keys and values of one head begin.
  int64_t keys_at(int64_t page, int64_t kv_head) const {
    return (page * kv_heads + kv_head) * head_dim * page_size;
  }
  int64_t values_at(int64_t page, int64_t kv_head) const {
    return (page * kv_heads + kv_head) * page_size * value_width;
  }
  PageShape page_shape() const {
    return {head_dim, value_width, page_size, keys_at(1, 0), values_at(1, 0)};
  }
  int64_t longest() const {
    int64_t most = 0;
    for (int64_t s = 0; s < sequences; ++s) most = std::max<int64_t>(most, lengths[s]);
    return most;
  }
};

/// One layer's keys and values in the cache, and how it looks at them.
struct Layer {
  float* keys;
  float* values;
  double scale;
  int64_t window;  // -1: none
};

/// A block of queries of one sequence and some key heads: rows are (token, head within the group).
struct Item {
  int64_t sequence, kv_head, kv_heads, first_token, tokens;
};

inline std::vector<Item> items_of(const Batch& batch) {
  const int64_t step = std::max<int64_t>(1, query_rows / batch.group());
  const bool many = batch.sequences >= least_items * at::get_num_threads();
  std::vector<Item> items;
  for (int64_t s = 0; s < batch.sequences; ++s)
    for (int64_t first = 0; first < batch.new_tokens(s); first += step) {
      const int64_t tokens = std::min(step, batch.new_tokens(s) - first);
      const int64_t rows = tokens * batch.group();
      const int64_t together = many && rows <= few_rows ? query_rows / rows : 1;
      for (int64_t head = 0; head < batch.kv_heads; head += together)
        items.push_back({s, head, std::min(together, batch.kv_heads - head), first, tokens});
    }
  return items;
}

/// One thread's working memory.
struct AttentionScratch {
  Scratch<float> queries, sums, scores, totals;

  explicit AttentionScratch(const Batch& batch) : AttentionScratch(batch, rows_of(batch)) {}

 private:
  AttentionScratch(const Batch& batch, int64_t rows)
      : queries(rows * batch.head_dim),
        sums(rows * batch.value_width),
        scores(rows * (batch.longest() + batch.page_size)),
        totals(rows) {}

  static int64_t rows_of(const Batch& batch) { return std::max(query_rows, batch.group()); }
};

/// 2^(score - maximum) of the keys [begin, end) of one row, zero elsewhere in [0, width); their sum.
inline float softmax_row(float* scores, int64_t begin, int64_t end, int64_t width) {
  std::fill(scores, scores + begin, -std::numeric_limits<float>::infinity());
  std::fill(scores + end, scores + width, -std::numeric_limits<float>::infinity());
  Vector<float> top = broadcast(-std::numeric_limits<float>::infinity());
  for (int64_t at = 0; at < width; at += lanes<float>) top = maximum<float>(top, load(scores + at));
  float maximum = top[0];
  for (int lane = 1; lane < lanes<float>; ++lane) maximum = std::max(maximum, float(top[lane]));
  Vector<float> sum = {};
  for (int64_t at = 0; at < width; at += lanes<float>) {
    const Vector<float> weight = fused::exp2(load(scores + at) - maximum);
    store(scores + at, weight);
    sum += weight;
  }
  return horizontal_sum<float>(sum);
}

/// What one item's queries see. read(token, head, to) copies a query, write(token, head, from) takes a
/// result; tokens count over the whole batch.
template <typename Read, typename Write>
void attend(
    const Batch& batch, const Item& item, const Layer& layer, const AttentionScratch& scratch,
    const Read& read, const Write& write) {
  const int64_t group = batch.group(), d = batch.head_dim, w = batch.value_width;
  const int64_t head_rows = item.tokens * group, rows = head_rows * item.kv_heads;
  const int64_t s = item.sequence, first = batch.first_position(s) + item.first_token;
  const int64_t end = first + item.tokens;  // keys up to the last query's own
  const int64_t begin =
      layer.window < 0 ? 0 : std::max<int64_t>(0, first - layer.window + 1) / batch.page_size;
  const int64_t origin = begin * batch.page_size;  // position of the first score
  const PagesSeen seen{
      batch.pages + batch.page_offsets[s] + begin,
      (end - origin + batch.page_size - 1) / batch.page_size, end - origin};
  const int64_t width = seen.count * batch.page_size;
  float *queries = scratch.queries, *scores = scratch.scores, *sums = scratch.sums;
  const int64_t first_token = batch.query_offsets[s] + item.first_token;
  const auto token_of = [&](int64_t row) { return row % head_rows / group; };
  const auto head_of = [&](int64_t row) {
    return (item.kv_head + row / head_rows) * group + row % group;
  };
  const auto scale = float(layer.scale * log2_of_e);
  for (int64_t row = 0; row < rows; ++row) {
    read(first_token + token_of(row), head_of(row), queries + row * d);
    for (int64_t i = 0; i < d; ++i) queries[row * d + i] *= scale;
  }
  score_pages(
      batch.page_shape(), seen, layer.keys + batch.keys_at(0, item.kv_head), item.kv_heads,
      head_rows, queries, scores);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t position = first + token_of(row);
    const int64_t seen_from =
        layer.window < 0 ? 0 : std::max<int64_t>(0, position - layer.window + 1);
    scratch.totals[row] = softmax_row(
        scores + row * width, std::max<int64_t>(0, seen_from - origin), position + 1 - origin,
        width);
  }
  sum_pages(
      batch.page_shape(), seen, layer.values + batch.values_at(0, item.kv_head), item.kv_heads,
      head_rows, scores, sums);
  for (int64_t row = 0; row < rows; ++row) {
    const float factor = 1 / scratch.totals[row];
    for (int64_t i = 0; i < w; i += lanes<float>)
      store(sums + row * w + i, load(sums + row * w + i) * factor);
    write(first_token + token_of(row), head_of(row), sums + row * w);
  }
}

/// The arrays of a batch as they come from TypeScript: int32 [count], or of any length if -1.
inline const int32_t* integers(
    const char* operator_name, const char* name, const at::Tensor& tensor, int64_t count) {
  TORCH_CHECK(
      tensor.scalar_type() == at::kInt && tensor.dim() == 1 && tensor.is_contiguous() &&
          (count < 0 || tensor.numel() == count),
      operator_name, ": ", name, " must be contiguous int32 [", count, "], got ",
      tensor.scalar_type(), " ", tensor.sizes());
  return tensor.data_ptr<int32_t>();
}

/// Throws unless every token has a place in its sequence's pages, and these are pages of the cache.
void check_pages(
    const char* operator_name, const Batch& batch, int64_t tokens, const at::Tensor& page_offsets,
    const at::Tensor& pages, int64_t cache_pages);

/// Throws unless these are the keys and values of one layer of a cache for such heads.
void check_cache(
    const char* operator_name, const at::Tensor& keys, const at::Tensor& values, int64_t kv_heads,
    int64_t head_dim);

}  // namespace openmanus::generation
