/// @file openmanus::cached_attention: paged attention as an operator of its own, for the passes that
/// decoder_step cannot make (adapters, short floats).
#include <torch/library.h>

#include "fused/blocks/parallel.h"
#include "paged_attention.h"

namespace openmanus::generation {
namespace {

using at::Tensor;

constexpr const char* name = "cached_attention";

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
      "head_dim] of one dtype, got ",
      query.sizes(), ", ", key.sizes(), ", ", value.sizes());
  check_cache(name, key_cache, value_cache, key.size(1), key.size(2));
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
      integers(name, "query_offsets", query_offsets, sequences + 1),
      integers(name, "lengths", lengths, sequences),
      integers(name, "page_offsets", page_offsets, sequences + 1),
      integers(name, "pages", pages, -1)};
  check_pages(name, batch, query.size(0), page_offsets, pages, key_cache.size(0));

  const Tensor q = query.contiguous(), k = key.contiguous(), v = value.contiguous();
  Tensor output = at::empty(q.sizes(), q.options());
  const Layer layer{key_cache.data_ptr<float>(), value_cache.data_ptr<float>(), scale, window};
  const std::vector<Item> items = items_of(batch);
  with_type(q.scalar_type(), name, [&](auto element) {
    using Stored = decltype(element);
    share_items(sequences, [&](auto next) {
      for (int64_t s; (s = next()) >= 0;)
        for (int64_t i = 0; i < batch.new_tokens(s); ++i) {
          const int64_t token = batch.query_offsets[s] + i, at = batch.first_position(s) + i;
          const int64_t offset = token * batch.kv_heads * batch.head_dim;
          store_token(
              batch, k.data_ptr<Stored>() + offset, v.data_ptr<Stored>() + offset,
              batch.page_of(s, at), at % batch.page_size, layer.keys, layer.values);
        }
    });
    const auto place = [&](int64_t token, int64_t head) {
      return (token * batch.heads + head) * batch.head_dim;
    };
    share_items(int64_t(items.size()), [&](auto next) {
      const AttentionScratch scratch(batch);
      for (int64_t item; (item = next()) >= 0;)
        attend(
            batch, items[size_t(item)], layer, scratch,
            [&](int64_t token, int64_t head, float* to) {
              std::copy_n(q.data_ptr<Stored>() + place(token, head), batch.head_dim, to);
            },
            [&](int64_t token, int64_t head, const float* from) {
              Stored* to = output.data_ptr<Stored>() + place(token, head);
              for (int64_t i = 0; i < batch.head_dim; ++i) to[i] = static_cast<Stored>(from[i]);
            });
    });
  });
  return output;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "cached_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, "
      "Tensor(b!) value_cache, Tensor query_offsets, Tensor lengths, Tensor page_offsets, "
      "Tensor pages, float scale, int window=-1) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("cached_attention", cached_attention); }

}  // namespace openmanus::generation
