/// @file openmanus::cached_attention: the new tokens of many sequences meet all their earlier ones,
/// whose keys and values lie in pages of a cache.
///
/// A page holds `page_size` tokens of one layer. Keys lie transposed in it, [kv_heads, head_dim,
/// page_size], so that a product with queries has the keys in the vector lanes; values lie
/// [kv_heads, page_size, value_width], so that the weighted sum has head_dim there (value_width is
/// head_dim in whole vectors, zeros beyond it). Both products are then the plain tile products of the training kernels, for one query (a decoding step) as for many
/// (a prompt). A sequence's result depends on that sequence alone, whatever else is in the batch.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <limits>

#include "fused/element.h"
#include "fused/exponential.h"
#include "fused/parallel.h"
#include "fused/scratch.h"
#include "fused/tile_product.h"

namespace openmanus::generation {
namespace {

using at::Tensor;
using namespace openmanus::fused;

/// Queries (tokens × heads that share a key head) that meet a page together.
constexpr int64_t query_rows = 48;
constexpr double log2_of_e = 1.4426950408889634;

struct Batch {
  int64_t heads, kv_heads, head_dim, value_width, page_size, sequences;
  double scale;
  int64_t window; // -1: none
  const int64_t* query_offsets; // [sequences + 1]: new tokens of each sequence
  const int64_t* lengths; // [sequences]: tokens with the new ones
  const int64_t* page_offsets; // [sequences + 1]
  const int64_t* pages; // page numbers, in order of the sequence

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
};

/// One token's keys and values into its place in the pages.
template <typename Stored>
void store_token(
    const Batch& batch, const Stored* key, const Stored* value, int64_t page, int64_t slot,
    float* key_cache, float* value_cache) {
  for (int64_t head = 0; head < batch.kv_heads; ++head) {
    float* keys = key_cache + batch.keys_at(page, head) + slot;
    float* values = value_cache + batch.values_at(page, head) + slot * batch.value_width;
    for (int64_t d = 0; d < batch.head_dim; ++d) {
      keys[d * batch.page_size] = float(key[head * batch.head_dim + d]);
      values[d] = float(value[head * batch.head_dim + d]);
    }
  }
}

/// A block of queries of one sequence and key head: rows are (token, head within the group).
struct Item {
  int64_t sequence, kv_head, first_token, tokens;
};

std::vector<Item> items_of(const Batch& batch) {
  const int64_t step = std::max<int64_t>(1, query_rows / batch.group());
  std::vector<Item> items;
  for (int64_t s = 0; s < batch.sequences; ++s)
    for (int64_t first = 0; first < batch.new_tokens(s); first += step)
      for (int64_t head = 0; head < batch.kv_heads; ++head)
        items.push_back({s, head, first, std::min(step, batch.new_tokens(s) - first)});
  return items;
}

/// 2^(score - maximum) of the keys [begin, end) of one row, zero elsewhere in [0, width); their sum.
float softmax_row(float* scores, int64_t begin, int64_t end, int64_t width) {
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

template <typename Stored>
void attend(
    const Batch& batch, const Item& item, const Stored* query, Stored* output,
    const float* key_cache, const float* value_cache, float* queries, float* scores, float* sums) {
  const int64_t group = batch.group(), d = batch.head_dim, w = batch.value_width;
  const int64_t rows = item.tokens * group;
  const int64_t s = item.sequence, first = batch.first_position(s) + item.first_token;
  const int64_t end = first + item.tokens; // keys up to the last query's own
  const int64_t begin =
      batch.window < 0 ? 0 : std::max<int64_t>(0, first - batch.window + 1) / batch.page_size;
  const int64_t pages = (end + batch.page_size - 1) / batch.page_size;
  const int64_t width = (pages - begin) * batch.page_size;
  const auto row_of = [&](int64_t row) {
    const int64_t token = batch.query_offsets[s] + item.first_token + row / group;
    return (token * batch.heads + item.kv_head * group + row % group) * d;
  };
  const auto scale = float(batch.scale * log2_of_e);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < d; ++i) queries[row * d + i] = float(query[row_of(row) + i]) * scale;
  for (int64_t page = begin; page < pages; ++page) {
    const float* keys =
        key_cache + batch.keys_at(batch.page_of(s, page * batch.page_size), item.kv_head);
    tile_product<float>(
        rows, batch.page_size, {queries, d, 1}, keys, batch.page_size,
        scores + (page - begin) * batch.page_size, width, d, false);
  }
  const int64_t origin = begin * batch.page_size; // position of the first score
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t position = first + row / group;
    const int64_t seen_from =
        batch.window < 0 ? 0 : std::max<int64_t>(0, position - batch.window + 1);
    const float sum = softmax_row(
        scores + row * width, std::max<int64_t>(0, seen_from - origin), position + 1 - origin,
        width);
    std::fill_n(sums + row * w, w, 0.0f);
    // Divided here rather than at the end: one pass over the weights instead of one over the sums.
    const float factor = 1 / sum;
    for (int64_t at = 0; at < width; at += lanes<float>)
      store(scores + row * width + at, load(scores + row * width + at) * factor);
  }
  for (int64_t page = begin; page < pages; ++page) {
    const float* values =
        value_cache + batch.values_at(batch.page_of(s, page * batch.page_size), item.kv_head);
    const int64_t at = (page - begin) * batch.page_size;
    const int64_t filled = std::min(batch.page_size, end - page * batch.page_size);
    tile_product<float>(rows, w, {scores + at, width, 1}, values, w, sums, w, filled, true);
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < d; ++i) output[row_of(row) + i] = static_cast<Stored>(sums[row * w + i]);
}

const int64_t* integers(const char* name, const Tensor& tensor, int64_t count) {
  TORCH_CHECK(
      tensor.scalar_type() == at::kLong && tensor.dim() == 1 && tensor.is_contiguous() &&
          (count < 0 || tensor.numel() == count),
      "cached_attention: ", name, " must be contiguous int64 [", count, "], got ",
      tensor.scalar_type(), " ", tensor.sizes());
  return tensor.data_ptr<int64_t>();
}

void check_pages(const Batch& batch, int64_t tokens, int64_t listed, int64_t pages) {
  TORCH_CHECK(
      batch.query_offsets[0] == 0 && batch.query_offsets[batch.sequences] == tokens &&
          batch.page_offsets[0] == 0 && batch.page_offsets[batch.sequences] == listed,
      "cached_attention: offsets must begin with 0 and end with the numbers of tokens and pages");
  for (int64_t s = 0; s < batch.sequences; ++s) {
    const int64_t own = batch.page_offsets[s + 1] - batch.page_offsets[s];
    TORCH_CHECK(
        batch.new_tokens(s) >= 0 && own >= 0 && batch.first_position(s) >= 0 &&
            batch.lengths[s] <= own * batch.page_size,
        "cached_attention: sequence ", s, " of ", batch.lengths[s], " tokens, ",
        batch.new_tokens(s), " of them new, does not fit its ", own, " pages");
  }
  for (int64_t i = 0; i < listed; ++i)
    TORCH_CHECK(
        batch.pages[i] >= 0 && batch.pages[i] < pages, "cached_attention: page ", batch.pages[i],
        " of a cache of ", pages);
}

Tensor cached_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, Tensor& key_cache,
    Tensor& value_cache, const Tensor& query_offsets, const Tensor& lengths,
    const Tensor& page_offsets, const Tensor& pages, double scale, int64_t window) {
  TORCH_CHECK(
      query.dim() == 3 && key.dim() == 3 && value.sizes() == key.sizes() &&
          key.size(0) == query.size(0) && key.size(2) == query.size(2) && key.size(1) > 0 &&
          query.size(1) % key.size(1) == 0 && query.scalar_type() == key.scalar_type() &&
          query.scalar_type() == value.scalar_type(),
      "cached_attention: expected query [tokens, heads, head_dim] and key, value [tokens, kv_heads, "
      "head_dim] of one dtype, got ", query.sizes(), ", ", key.sizes(), ", ", value.sizes());
  TORCH_CHECK(
      key_cache.dim() == 4 && key_cache.scalar_type() == at::kFloat && key_cache.is_contiguous() &&
          key_cache.size(1) == key.size(1) && key_cache.size(2) == key.size(2) &&
          key_cache.size(3) % lanes<float> == 0,
      "cached_attention: key_cache must be float32 [pages, kv_heads, head_dim, page_size], page_size "
      "a multiple of ", lanes<float>, ", got ", key_cache.sizes());
  TORCH_CHECK(
      value_cache.dim() == 4 && value_cache.scalar_type() == at::kFloat &&
          value_cache.is_contiguous() && value_cache.size(0) == key_cache.size(0) &&
          value_cache.size(1) == key_cache.size(1) && value_cache.size(2) == key_cache.size(3) &&
          value_cache.size(3) >= key_cache.size(2) && value_cache.size(3) % lanes<float> == 0,
      "cached_attention: value_cache must be float32 [pages, kv_heads, page_size, value_width], "
      "value_width at least head_dim and a multiple of ", lanes<float>, ", got ",
      value_cache.sizes());
  TORCH_CHECK(
      window == -1 || window >= 1, "cached_attention: window must be at least 1, or -1 for none");
  const int64_t sequences = lengths.numel();
  const Batch batch{
      query.size(1),
      key.size(1),
      key.size(2),
      value_cache.size(3),
      key_cache.size(3),
      sequences,
      scale,
      window,
      integers("query_offsets", query_offsets, sequences + 1),
      integers("lengths", lengths, sequences),
      integers("page_offsets", page_offsets, sequences + 1),
      integers("pages", pages, -1)};
  check_pages(batch, query.size(0), pages.numel(), key_cache.size(0));

  const Tensor q = query.contiguous(), k = key.contiguous(), v = value.contiguous();
  Tensor output = at::empty(q.sizes(), q.options());
  float* keys = key_cache.data_ptr<float>();
  float* values = value_cache.data_ptr<float>();
  const std::vector<Item> items = items_of(batch);
  int64_t longest = 0;
  for (int64_t s = 0; s < sequences; ++s) longest = std::max(longest, batch.lengths[s]);
  const int64_t rows = std::max(query_rows, batch.group());
  const int64_t widest = (longest + batch.page_size - 1) / batch.page_size * batch.page_size;
  with_type(q.scalar_type(), "cached_attention", [&](auto element) {
    using Stored = decltype(element);
    share_items(sequences, [&](auto next) {
      for (int64_t s; (s = next()) >= 0;)
        for (int64_t i = 0; i < batch.new_tokens(s); ++i) {
          const int64_t token = batch.query_offsets[s] + i, at = batch.first_position(s) + i;
          const int64_t offset = token * batch.kv_heads * batch.head_dim;
          store_token(
              batch, k.data_ptr<Stored>() + offset, v.data_ptr<Stored>() + offset,
              batch.page_of(s, at), at % batch.page_size, keys, values);
        }
    });
    share_items(int64_t(items.size()), [&](auto next) {
      Scratch<float> queries(rows * batch.head_dim), sums(rows * batch.value_width);
      Scratch<float> scores(rows * widest);
      for (int64_t item; (item = next()) >= 0;)
        attend(
            batch, items[size_t(item)], q.data_ptr<Stored>(), output.data_ptr<Stored>(), keys,
            values, queries.get(), scores.get(), sums.get());
    });
  });
  return output;
}

} // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "cached_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, "
      "Tensor(b!) value_cache, Tensor query_offsets, Tensor lengths, Tensor page_offsets, "
      "Tensor pages, float scale, int window=-1) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CPU, library) {
  library.impl("cached_attention", cached_attention);
}

} // namespace openmanus::generation
