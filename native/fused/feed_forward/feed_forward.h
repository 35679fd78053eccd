/// @file The two kernels of openmanus::feed_forward, and how they cut it into blocks.
///
///   y = x + down(silu(gate) · up)      of n = norm(x)
///
/// Some rows go through all of it, a block of features after the other, so that what is between the
/// products stays in the caches. Only gate and up are kept for backward.
#pragma once

#include "fused/blocks/row_blocks.h"

namespace openmanus::fused {

/// How it is cut.
template <typename T>
struct FeedForwardBlocks {
  int64_t hidden, features;
  RowBlocks rows;
  int64_t feature_block, feature_blocks;
  /// From row to row of a block of features, and of the hidden ones.
  int64_t feature_row, hidden_row;
  int64_t hidden_strips;

  FeedForwardBlocks(int64_t rows, int64_t hidden, int64_t features)
      : hidden(hidden),
        features(features),
        rows(rows),
        feature_block(even_block(features, 192, block_lanes<T>)),
        feature_blocks(blocks_of(features, feature_block)),
        feature_row(padded_row<T>(feature_block)),
        hidden_row(padded_row<T>(blocks_of(hidden, block_lanes<T>) * block_lanes<T>)),
        hidden_strips(blocks_of(hidden, block_lanes<T>)) {}

  /// The features of a block, and its strips of lanes.
  int64_t features_of(int64_t block) const {
    return std::min(feature_block, features - block * feature_block);
  }
  int64_t strips_of(int64_t block) const { return blocks_of(features_of(block), block_lanes<T>); }
  int64_t first_strip(int64_t block) const { return block * (feature_block / block_lanes<T>); }

  /// Gate and up of all rows: [row blocks, feature blocks, 2, rows of a block, feature_row].
  int64_t tile() const { return rows.block * feature_row; }
  int64_t kept_size() const { return rows.count() * feature_blocks * 2 * tile(); }
  int64_t kept_at(int64_t row_block, int64_t feature_block) const {
    return (row_block * feature_blocks + feature_block) * 2 * tile();
  }
};

template <typename T>
struct FeedForwardWeights {
  const T* norm;  // [hidden]
  double eps;
  Matrix gate, up;  // [features, hidden]
  Matrix down;      // [hidden, features]
};

/// Those that are not null are filled. gate_up has gate's rows, then up's.
template <typename T>
struct FeedForwardGradients {
  T *x, *norm, *gate_up, *down;
};

/// Fills y [rows, hidden] and, unless null, gate and up.
template <typename T>
void feed_forward_forward(
    const FeedForwardBlocks<T>& blocks, const Matrix& x, const FeedForwardWeights<T>& weights, T* y,
    T* kept);

template <typename T>
void feed_forward_backward(
    const FeedForwardBlocks<T>& blocks, const Matrix& x, const FeedForwardWeights<T>& weights,
    const T* kept, const Matrix& dy, const FeedForwardGradients<T>& gradients);

}  // namespace openmanus::fused
