/// @file The matrix product of small tiles that are already in cache: the inner loop of attention
/// and of token log-probabilities.
///
///   c[row][lane] (+)= sum over k of a(row, k) * b[k][lane]
///
/// `a` is read one number at a time, so it may lie either way round (row_stride, k_stride); `b` and
/// `c` are read and written in vectors along `lane`, which is contiguous in both. Blocks of up to
/// six rows by two (or three) vectors of results stay in registers over the whole sum (twelve rows
/// of one vector, where a strip is only that wide). Tiles whose sizes are multiples of both six and a
/// strip's lanes waste nothing: 72, 96, 144. A result is the same bits in whatever block it is made:
/// its products are added one after the other, in order of k.
#pragma once

#include <algorithm>

#include "vector.h"

namespace openmanus::fused {

/// The left factor: element (row, k) is at data[row * row_stride + k * k_stride].
template <typename T>
struct Left {
  const T* data;
  int64_t row_stride;
  int64_t k_stride;
};

/// A left factor whose rows are so many numbers apart, one after the other along k: with distances that the
/// compiler knows, every number's place is part of the instruction that reads it. Where a block has twelve rows
/// of one vector, computing the places takes longer than the sums.
template <typename T, int64_t stride>
struct FixedLeft {
  const T* data;
  static constexpr int64_t row_stride = stride;
  static constexpr int64_t k_stride = 1;
};

constexpr int block_rows = 6;
constexpr int block_vectors = vector_registers == 32 ? 3 : 2;

/// Rows of one block: a single vector per row leaves registers for more, and needs them, because an
/// addition takes as long as eight more can be begun.
template <int vectors>
constexpr int rows_of_block = vectors == 1 ? 2 * block_rows : block_rows;

/// Rows of the next block when so many are left. What is more than one block but less than two is
/// halved: a block of one or two rows would wait for its own sums.
template <int vectors>
constexpr int64_t rows_of_next_block(int64_t left) {
  constexpr int64_t most = rows_of_block<vectors>;
  return left >= 2 * most ? most : left > most ? (left + 1) / 2 : left;
}

/// Results that stay in registers together, along the lanes.
template <typename T>
constexpr int block_lanes = block_vectors* lanes<T>;

/// What a product may do at every step of its sums beside it: ask for memory, or, as here, nothing.
struct NoFetch {
  void operator()() {}
};

template <int rows, int vectors, typename LeftFactor, typename T, typename Fetch>
__attribute__((always_inline)) inline void block_product(
    LeftFactor a, const T* b, int64_t b_stride, T* c, int64_t c_stride, int64_t depth, bool add,
    Fetch& fetch) {
  Vector<T> sums[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) sums[row][v] = Vector<T>{};
  static_assert(vectors <= 3);
  // Results may be far away; with a long sum there is time to fetch them.
  if (depth >= 64) {
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) __builtin_prefetch(c + row * c_stride, 1);
  }
  const T* left = a.data;
  // Four at a time: the counting alone costs a third of the speed. Named variables, because GCC keeps
  // an array in memory too, and writes it there each time.
#pragma GCC unroll 4
  for (int64_t k = 0; k < depth; ++k) {
    Vector<T> first = load(b), second = {}, third = {};
    keep_in_register(first);
    if constexpr (vectors > 1) {
      second = load(b + lanes<T>);
      keep_in_register(second);
    }
    if constexpr (vectors > 2) {
      third = load(b + 2 * lanes<T>);
      keep_in_register(third);
    }
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      const T factor = left[row * a.row_stride];
      sums[row][0] += factor * first;
      if constexpr (vectors > 1) sums[row][1] += factor * second;
      if constexpr (vectors > 2) sums[row][2] += factor * third;
    }
    keep_fused<rows * vectors>(sums[0][0]);
    left += a.k_stride;
    b += b_stride;
    fetch();
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      T* place = c + row * c_stride + v * lanes<T>;
      store(place, add ? load(place) + sums[row][v] : sums[row][v]);
    }
}

/// The product of any number of rows with one strip of `vectors` vectors of lanes.
/// Not inlined: inside a larger function the compiler would spill what must stay in registers.
template <int vectors, typename T, typename LeftFactor = Left<T>, typename Fetch = NoFetch>
__attribute__((noinline)) void strip_product(
    int64_t rows, LeftFactor a, const T* b, int64_t b_stride, T* c, int64_t c_stride, int64_t depth,
    bool add, Fetch fetch = {}) {
  constexpr int most = rows_of_block<vectors>;
  while (rows > 0) {
    const int64_t taken = rows_of_next_block<vectors>(rows);
    const auto block = [&](auto count) {
      block_product<decltype(count)::value, vectors>(
          a, b, b_stride, c, c_stride, depth, add, fetch);
    };
    if constexpr (most > block_rows) {
      switch (taken) {
        case 12:
          block(std::integral_constant<int, 12>{});
          break;
        case 11:
          block(std::integral_constant<int, 11>{});
          break;
        case 10:
          block(std::integral_constant<int, 10>{});
          break;
        case 9:
          block(std::integral_constant<int, 9>{});
          break;
        case 8:
          block(std::integral_constant<int, 8>{});
          break;
        case 7:
          block(std::integral_constant<int, 7>{});
          break;
      }
    }
    switch (taken) {
      case 6:
        block(std::integral_constant<int, 6>{});
        break;
      case 5:
        block(std::integral_constant<int, 5>{});
        break;
      case 4:
        block(std::integral_constant<int, 4>{});
        break;
      case 3:
        block(std::integral_constant<int, 3>{});
        break;
      case 2:
        block(std::integral_constant<int, 2>{});
        break;
      case 1:
        block(std::integral_constant<int, 1>{});
        break;
    }
    a.data += taken * a.row_stride;
    c += taken * c_stride;
    rows -= taken;
  }
}

/// The product over any number of lanes, which must be a multiple of one vector.
template <typename T>
void tile_product(
    int64_t rows, int64_t width, Left<T> a, const T* b, int64_t b_stride, T* c, int64_t c_stride,
    int64_t depth, bool add) {
  int64_t lane = 0;
  for (; lane + block_lanes<T> <= width; lane += block_lanes<T>)
    strip_product<block_vectors, T>(rows, a, b + lane, b_stride, c + lane, c_stride, depth, add);
  for (; lane < width; lane += lanes<T>)
    strip_product<1, T>(rows, a, b + lane, b_stride, c + lane, c_stride, depth, add);
}

}  // namespace openmanus::fused
