/// @file Copies between the two ways activations lie: tokens in the lanes (token_strips.h), and one
/// token after the other, as attention and the cache want them. Number by number, every one of them
/// would be in another cache line.
#pragma once

#include <utility>

#include "fused/blocks/vector.h"

namespace openmanus::generation {

using namespace openmanus::fused;

/// Exchanges, in a square of vectors, the off-diagonal quarters of every block of 2 * `size`.
template <int size, int... lane>
__attribute__((always_inline)) inline void exchange_quarters(
    Vector<float>* rows, std::integer_sequence<int, lane...>) {
  constexpr int count = lanes<float>;
#pragma GCC unroll 16
  for (int row = 0; row < count; ++row) {
    if (row & size) continue;
    const Vector<float> upper = rows[row], lower = rows[row + size];
    rows[row] =
        __builtin_shufflevector(upper, lower, (lane & size ? count + lane - size : lane)...);
    rows[row + size] =
        __builtin_shufflevector(upper, lower, (lane & size ? count + lane : lane + size)...);
  }
}

/// Turns a square of as many vectors as one has lanes: row r's lane c becomes row c's lane r.
template <int size = lanes<float> / 2>
__attribute__((always_inline)) inline void transpose(Vector<float>* rows) {
  exchange_quarters<size>(rows, std::make_integer_sequence<int, lanes<float>>{});
  if constexpr (size > 1) transpose<size / 2>(rows);
}

/// to[c * to_stride + r] = from[r * from_stride + c] for r < rows, c < columns.
inline void copy_transposed(
    const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
    int64_t to_stride) {
  constexpr int64_t count = lanes<float>;
  const int64_t whole_rows = rows / count * count, whole_columns = columns / count * count;
  for (int64_t r = 0; r < whole_rows; r += count)
    for (int64_t c = 0; c < whole_columns; c += count) {
      Vector<float> square[count];
#pragma GCC unroll 16
      for (int64_t i = 0; i < count; ++i) square[i] = load(from + (r + i) * from_stride + c);
      transpose(square);
#pragma GCC unroll 16
      for (int64_t i = 0; i < count; ++i) store(to + (c + i) * to_stride + r, square[i]);
    }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      to[c * to_stride + r] = from[r * from_stride + c];
}

}  // namespace openmanus::generation
