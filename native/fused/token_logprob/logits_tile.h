/// @file Tiles of logits, the work unit of openmanus::token_logprob.
///
/// A tile is [vocab, tokens]: the tokens are in the vector lanes, so that the softmax over the
/// vocabulary is taken lane by lane. It is made by one thread, used while it is in that thread's
/// cache, and leaves it whole only where it is kept for backward.
#pragma once

#include "fused/blocks/exponential.h"
#include "fused/blocks/packed_matrix.h"

namespace openmanus::fused {

constexpr int64_t token_block = 144;
constexpr int64_t vocab_block = 144;

/// Row length of a tile.
template <typename T>
constexpr int64_t tile_row = padded_row<T>(token_block);

static_assert(token_block % block_lanes<float> == 0 && token_block % block_lanes<double> == 0);

/// The logits of `words` words, from `first_word` on, for the tokens of `strips` packed strips.
/// A weight that is not stored in the accumulating type is converted piece by piece in `piece`
/// [vocab_block, depth_block].
template <typename T>
void logits_tile(
    const Matrix& weight, int64_t first_word, int64_t words, const T* packed, int64_t strips,
    T* piece, T* tile) {
  const int64_t hidden = weight.columns;
  const bool in_place = weight.type == (sizeof(T) == 8 ? at::kDouble : at::kFloat);
  for (int64_t at = 0; at < hidden; at += depth_block<T>) {
    const int64_t depth = std::min(depth_block<T>, hidden - at);
    Left<T> left{piece, depth_block<T>, 1};
    if (in_place)
      left = {
          static_cast<const T*>(weight.data) + first_word * weight.stride + at, weight.stride, 1};
    else
      read_block<T>(
          weight, first_word, words, at, (depth + lanes<T> - 1) / lanes<T> * lanes<T>, piece,
          depth_block<T>);
    for (int64_t strip = 0; strip < strips; ++strip)
      strip_product<block_vectors, T>(
          words, left, packed + (strip * hidden + at) * block_lanes<T>, block_lanes<T>,
          tile + strip * block_lanes<T>, tile_row<T>, depth, at > 0);
  }
}

}  // namespace openmanus::fused
