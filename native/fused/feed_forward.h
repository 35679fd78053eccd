/// @file The two kernels of openmanus::feed_forward, and how they cut it into blocks.
///
///   y = x + down(silu(gate) · up)      of n = norm(x)
///
/// Some rows go through all of it, a block of features after the other, so that what is between the
/// products stays in the caches. Only gate and up are kept for backward.
#pragma once

#include "packed_matrix.h"

namespace openmanus::fused {

/// Sizes of blocks. They depend on the shape alone, and with them every sum: results do not depend on
/// the number of threads.
template <typename T>
struct FeedForwardBlocks {
  int64_t rows, hidden, features;
  /// The weights' gradients are summed over each of so many parts of the rows, then over the parts.
  int64_t parts, part_rows;
  int64_t row_block, part_blocks; // blocks of one part
  int64_t feature_block, feature_blocks;
  /// From row to row of a block of features, and of the hidden ones.
  int64_t feature_row, hidden_row;
  int64_t feature_strips, hidden_strips;

  FeedForwardBlocks(int64_t rows, int64_t hidden, int64_t features)
      : rows(rows), hidden(hidden), features(features) {
    parts = std::clamp<int64_t>(rows / 256, 1, 8);
    part_rows = blocks_of(rows, parts);
    row_block = even_block(part_rows, most_rows, block_rows);
    part_blocks = blocks_of(part_rows, row_block);
    feature_block = even_block(features, most_features, block_lanes<T>);
    feature_blocks = blocks_of(features, feature_block);
    feature_strips = blocks_of(features, block_lanes<T>);
    hidden_strips = blocks_of(hidden, block_lanes<T>);
    feature_row = padded_row<T>(feature_block);
    hidden_row = padded_row<T>(hidden_strips * block_lanes<T>);
  }

  int64_t row_blocks() const { return parts * part_blocks; }
  /// The rows [begin, end) of a block.
  int64_t begin_of(int64_t block) const {
    return block / part_blocks * part_rows + block % part_blocks * row_block;
  }
  int64_t end_of(int64_t block) const {
    return std::min({begin_of(block) + row_block, (block / part_blocks + 1) * part_rows, rows});
  }
  /// The features of a block, and its strips of lanes.
  int64_t features_of(int64_t block) const {
    return std::min(feature_block, features - block * feature_block);
  }
  int64_t strips_of(int64_t block) const { return blocks_of(features_of(block), block_lanes<T>); }
  int64_t first_strip(int64_t block) const { return block * (feature_block / block_lanes<T>); }

  /// Gate and up of all rows: [row blocks, feature blocks, 2, row_block, feature_row].
  int64_t tile() const { return row_block * feature_row; }
  int64_t kept_size() const { return row_blocks() * feature_blocks * 2 * tile(); }
  int64_t kept_at(int64_t rows_block, int64_t features_block) const {
    return (rows_block * feature_blocks + features_block) * 2 * tile();
  }

 private:
  static int64_t env(const char* n, int64_t d) { const char* v = getenv(n); return v ? atoll(v) : d; }
  const int64_t most_rows = env("FFR", 192), most_features = env("FFF", 192);

  static int64_t even_block(int64_t count, int64_t most, int64_t unit) {
    const int64_t each = blocks_of(count, blocks_of(count, most));
    return blocks_of(each, unit) * unit;
  }
};

/// Asks for the share of `count` numbers that rows [row, row + taken) are of all rows.
template <typename T>
void fetch_share(const T* from, int64_t count, int64_t row, int64_t taken, int64_t rows) {
  constexpr int64_t line = cache_line / int64_t(sizeof(T));
  const int64_t end = count * (row + taken) / rows;
  for (int64_t at = count * row / rows / line * line; at < end; at += line)
    __builtin_prefetch(from + at, 0, 2);
}

/// c [rows, strips of lanes] (+)= a · the right factor's rows [first, first + depth) in these strips.
template <typename T>
void multiply_strips(
    int64_t rows, Left<T> a, const Strips<T>& right, int64_t first_strip, int64_t strips,
    int64_t first, int64_t depth, T* c, int64_t c_row, bool add) {
  for (int64_t at = 0; at < depth; at += depth_block<T>)
    for (int64_t strip = 0; strip < strips; ++strip) {
      const int64_t taken = std::min(depth_block<T>, depth - at);
      const T* b = right.at(first_strip + strip, first + at);
      const T* ahead = strip + 1 < strips ? right.at(first_strip + strip + 1, first + at) : nullptr;
      for (int64_t row = 0, block; row < rows; row += block) {
        block = rows_of_next_block<block_vectors>(rows - row);
        if (ahead) fetch_share(ahead, taken * block_lanes<T>, row, block, rows);
        strip_product<block_vectors, T>(
            block, {a.data + row * a.row_stride + at * a.k_stride, a.row_stride, a.k_stride}, b,
            block_lanes<T>, c + row * c_row + strip * block_lanes<T>, c_row, taken, add || at > 0);
      }
    }
}

/// A row's 1 / √(mean(x²) + eps).
template <typename T>
T norm_scale(const T* x, int64_t hidden, double eps) {
  Vector<T> squares = {};
  for_each_vector<T>(hidden, [&](int64_t, auto read, auto) {
    const Vector<T> value = read(x);
    squares += value * value;
  });
  return T(1) / std::sqrt(horizontal_sum<T>(squares) / T(hidden) + T(eps));
}

template <typename T>
struct FeedForwardWeights {
  const T* norm; // [hidden]
  double eps;
  Matrix gate_up; // [2 features, hidden]
  Matrix down; // [hidden, features]
};

/// Those that are not null are filled: x and norm as the weights have them.
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

} // namespace openmanus::fused
