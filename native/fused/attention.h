/// @file The two kernels of openmanus::attention; attention.cc checks their arguments and joins them.
#pragma once

#include <vector>

#include "attention_tile.h"

namespace openmanus::fused {

/// A call's sizes. Sequence s has the tokens [boundaries[s], boundaries[s + 1]).
struct AttentionShape {
  std::vector<int64_t> boundaries;
  int64_t heads, key_heads, head_dim;
  double scale;
  int64_t window;  // at least 1; the longest sequence if there is no window

  int64_t sequences() const { return int64_t(boundaries.size()) - 1; }
  int64_t length(int64_t sequence) const { return boundaries[sequence + 1] - boundaries[sequence]; }
  int64_t tokens() const { return boundaries.back(); }
  int64_t group() const { return heads / key_heads; }  // query heads per key head
};

/// Fills `output`, and `logsumexp` [heads, tokens] (in log 2, accumulating type) unless it is null.
template <typename T>
void attention_forward(
    const AttentionShape& shape, const Heads& query, const Heads& key, const Heads& value,
    const Heads& output, T* logsumexp);

/// Fills those of dquery, dkey, dvalue whose data is not null.
template <typename T>
void attention_backward(
    const AttentionShape& shape, const Heads& query, const Heads& key, const Heads& value,
    const Heads& output, const T* logsumexp, const Heads& doutput, const Heads& dquery,
    const Heads& dkey, const Heads& dvalue);

}  // namespace openmanus::fused
