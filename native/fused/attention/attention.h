/// @file The two kernels of openmanus::attention; attention.cc checks their arguments and joins them.
#pragma once

#include <algorithm>
#include <vector>

#include "attention_tile.h"

namespace openmanus::fused {

/// A part of the sequence that a query is in, where it lies in the packed tensors.
struct Stretch {
  int64_t position;  // of its first token in the sequence
  int64_t token;     // the same in the packed tensors
  int64_t length;

  int64_t end() const { return position + length; }
};

/// A call's sizes. Run r has the tokens [boundaries[r], boundaries[r + 1]); it is a sequence of its
/// own, or goes on where another run, its parent, ends: several may go on from the same one. Runs
/// are in the order of a walk through these trees: behind a run come all that go on from it.
struct AttentionShape {
  std::vector<int64_t> boundaries;
  std::vector<int64_t> parents;      // [runs] -1: it begins a sequence
  std::vector<int64_t> positions;    // [runs] of its first token in its sequence
  std::vector<int64_t> subtree_end;  // [runs] one past the last run that goes on from it
  int64_t heads, key_heads, head_dim;
  double scale;
  int64_t window;  // at least 1; the longest sequence if there is no window

  int64_t runs() const { return int64_t(boundaries.size()) - 1; }
  int64_t length(int64_t run) const { return boundaries[run + 1] - boundaries[run]; }
  /// One past the run's last position.
  int64_t end(int64_t run) const { return positions[run] + length(run); }
  /// Where a position of the run lies in the packed tensors.
  int64_t token(int64_t run, int64_t position) const {
    return boundaries[run] + position - positions[run];
  }
  int64_t tokens() const { return boundaries.back(); }
  int64_t group() const { return heads / key_heads; }  // query heads per key head

  /// The sequence up to the end of a run, from the first stretch that has a token from `position` on.
  std::vector<Stretch> path(int64_t run, int64_t position) const {
    std::vector<Stretch> stretches;
    for (; run >= 0 && end(run) > position; run = parents[run])
      if (length(run) > 0) stretches.push_back({positions[run], boundaries[run], length(run)});
    std::reverse(stretches.begin(), stretches.end());
    return stretches;
  }
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
