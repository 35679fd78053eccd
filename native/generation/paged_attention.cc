/// @file Checks of what paged attention is given: a wrong page would be somebody else's memory.
#include "paged_attention.h"

namespace openmanus::generation {

void check_pages(
    const char* operator_name, const Batch& batch, int64_t tokens, const at::Tensor& page_offsets,
    const at::Tensor& pages, int64_t cache_pages) {
  const int64_t listed = pages.numel();
  const int32_t* offsets = page_offsets.data_ptr<int32_t>();
  TORCH_CHECK(
      batch.query_offsets[0] == 0 && batch.query_offsets[batch.sequences] == tokens &&
          offsets[0] == 0 && offsets[batch.sequences] == listed,
      operator_name, ": offsets must begin with 0 and end with the numbers of tokens and pages");
  for (int64_t s = 0; s < batch.sequences; ++s) {
    const int64_t own = offsets[s + 1] - offsets[s];
    TORCH_CHECK(
        batch.new_tokens(s) >= 0 && own >= 0 && batch.first_position(s) >= 0 &&
            batch.lengths[s] <= own * batch.page_size,
        operator_name, ": sequence ", s, " of ", batch.lengths[s], " tokens, ", batch.new_tokens(s),
        " of them new, does not fit its ", own, " pages");
  }
  for (int64_t i = 0; i < listed; ++i)
    TORCH_CHECK(
        batch.pages[i] >= 0 && batch.pages[i] < cache_pages, operator_name, ": page ",
        batch.pages[i], " of a cache of ", cache_pages);
}

void check_cache(
    const char* operator_name, const at::Tensor& keys, const at::Tensor& values, int64_t kv_heads,
    int64_t head_dim) {
  TORCH_CHECK(
      keys.dim() == 4 && keys.scalar_type() == at::kFloat && keys.is_contiguous() &&
          keys.size(1) == kv_heads && keys.size(2) == head_dim && keys.size(3) % lanes<float> == 0,
      operator_name, ": key_cache must be float32 [pages, kv_heads, head_dim, page_size] = [*, ",
      kv_heads, ", ", head_dim, ", *], page_size a multiple of ", lanes<float>, ", got ",
      keys.sizes());
  TORCH_CHECK(
      values.dim() == 4 && values.scalar_type() == at::kFloat && values.is_contiguous() &&
          values.size(0) == keys.size(0) && values.size(1) == keys.size(1) &&
          values.size(2) == keys.size(3) && values.size(3) >= keys.size(2) &&
          values.size(3) % lanes<float> == 0,
      operator_name,
      ": value_cache must be float32 [pages, kv_heads, page_size, value_width], value_width at least "
      "head_dim and a multiple of ",
      lanes<float>, ", got ", values.sizes());
}

}  // namespace openmanus::generation
