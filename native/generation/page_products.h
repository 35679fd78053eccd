/// @file The two products of paged attention: queries with the keys of all pages, weights with their
/// values. A result is summed in the same order however many rows are computed together.
#pragma once

#include "fused/tile_product.h"

namespace openmanus::generation {

using namespace openmanus::fused;

/// How a page's keys and values of one head lie (see paged_attention.h).
struct PageShape {
  int64_t head_dim, value_width, page_size;
  int64_t key_stride, value_stride; // from page to page
};

/// The pages that some queries of a sequence see, in order.
struct PagesSeen {
  const int32_t* numbers;
  int64_t count;
  int64_t tokens; // in all of them: the last may not be full
};

/// Vectors of keys that share a cache line, in a page of at least as many tokens.
constexpr int columns_per_line = vector_bytes < 64 ? 64 / vector_bytes : 1;

/// scores[row][column] of a few queries with some vectors of keys, which may be of different pages.
template <int rows, int columns>
__attribute__((always_inline)) inline void score_columns(
    const float* queries, int64_t depth, const float* const* keys, const float* const* next,
    int64_t stride, float* scores, int64_t width) {
  Vector<float> sums[rows][columns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    // Pages are too short for the processor to see where the next ones are.
#pragma GCC unroll 6
    for (int column = 0; column < columns; column += columns_per_line)
      __builtin_prefetch(next[column] + k * stride);
#pragma GCC unroll 6
    for (int column = 0; column < columns; ++column) {
      const Vector<float> key = load(keys[column] + k * stride);
#pragma GCC unroll 4
      for (int row = 0; row < rows; ++row) sums[row][column] += queries[row * depth + k] * key;
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 6
    for (int column = 0; column < columns; ++column)
      store(scores + row * width + column * lanes<float>, sums[row][column]);
}

/// Few rows: several vectors of keys at once, because a single sum would wait for itself.
template <int rows>
__attribute__((noinline)) void score_few(
    const PageShape& shape, const PagesSeen& pages, const float* keys, const float* queries,
    float* scores) {
  constexpr int columns = rows == 1 ? 6 : rows == 2 ? 6 : rows == 3 ? 4 : 3;
  const int64_t per_page = shape.page_size / lanes<float>, all = pages.count * per_page;
  const float *places[columns], *next[columns];
  const auto place = [&](int64_t column) {
    return keys + pages.numbers[column / per_page] * shape.key_stride +
        column % per_page * lanes<float>;
  };
  int64_t column = 0;
  for (; column + columns <= all; column += columns) {
    for (int i = 0; i < columns; ++i) {
      places[i] = place(column + i);
      next[i] = place(std::min(column + columns + i, all - 1));
    }
    score_columns<rows, columns>(
        queries, shape.head_dim, places, next, shape.page_size, scores + column * lanes<float>,
        pages.count * shape.page_size);
  }
  for (; column < all; ++column) {
    places[0] = next[0] = place(column);
    score_columns<rows, 1>(
        queries, shape.head_dim, places, next, shape.page_size, scores + column * lanes<float>,
        pages.count * shape.page_size);
  }
}

/// scores [rows, pages * page_size] of queries [rows, head_dim] with the keys of one head.
inline void score_pages(
    const PageShape& shape, const PagesSeen& pages, const float* keys, int64_t rows,
    const float* queries, float* scores) {
  switch (rows) {
    case 1: return score_few<1>(shape, pages, keys, queries, scores);
    case 2: return score_few<2>(shape, pages, keys, queries, scores);
    case 3: return score_few<3>(shape, pages, keys, queries, scores);
    case 4: return score_few<4>(shape, pages, keys, queries, scores);
  }
  for (int64_t page = 0; page < pages.count; ++page)
    tile_product<float>(
        rows, shape.page_size, {queries, shape.head_dim, 1},
        keys + pages.numbers[page] * shape.key_stride, shape.page_size,
        scores + page * shape.page_size, pages.count * shape.page_size, shape.head_dim, false);
}

/// Some rows and columns of the weighted sum over all pages: it stays in registers from page to page.
template <int rows, int columns>
__attribute__((noinline)) void sum_block(
    const PageShape& shape, const PagesSeen& pages, const float* values, const float* weights,
    float* sums) {
  const int64_t width = pages.count * shape.page_size, stride = shape.value_width;
  static_assert(columns <= 2 || columns == 4);
  Vector<float> total[rows][columns] = {};
  for (int64_t page = 0; page < pages.count; ++page) {
    const float* value = values + pages.numbers[page] * shape.value_stride;
    const float* next =
        values + pages.numbers[std::min(page + 1, pages.count - 1)] * shape.value_stride;
    const float* weight = weights + page * shape.page_size;
    const int64_t filled = std::min(shape.page_size, pages.tokens - page * shape.page_size);
#pragma GCC unroll 2
    for (int64_t slot = 0; slot < filled; ++slot, value += stride, next += stride, ++weight) {
      if constexpr (rows <= 4)
        for (int column = 0; column < columns; column += columns_per_line)
          __builtin_prefetch(next + column * lanes<float>);
      // Named variables, and one row after the other: GCC would read a weight again for each column.
      Vector<float> first = load(value), second = {}, third = {}, fourth = {};
      keep_in_register(first);
      if constexpr (columns > 1) {
        second = load(value + lanes<float>);
        keep_in_register(second);
      }
      if constexpr (columns > 2) {
        third = load(value + 2 * lanes<float>);
        fourth = load(value + 3 * lanes<float>);
        keep_in_register(third);
        keep_in_register(fourth);
      }
#pragma GCC unroll 6
      for (int row = 0; row < rows; ++row) {
        const float factor = weight[row * width];
        total[row][0] += factor * first;
        if constexpr (columns > 1) total[row][1] += factor * second;
        if constexpr (columns > 2) {
          total[row][2] += factor * third;
          total[row][3] += factor * fourth;
        }
      }
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
    for (int column = 0; column < columns; ++column)
      store(sums + row * stride + column * lanes<float>, total[row][column]);
}

template <int rows>
void sum_rows(
    const PageShape& shape, const PagesSeen& pages, const float* values, const float* weights,
    float* sums) {
  const int64_t all = shape.value_width / lanes<float>;
  int64_t column = 0;
  const auto blocks_of = [&](auto columns) {
    for (; column + columns <= all; column += columns)
      sum_block<rows, columns>(
          shape, pages, values + column * lanes<float>, weights, sums + column * lanes<float>);
  };
  if constexpr (rows <= 3) blocks_of(std::integral_constant<int, 4>{});
  blocks_of(std::integral_constant<int, 2>{});
  blocks_of(std::integral_constant<int, 1>{});
}

/// sums [rows, value_width] of the values of one head, with weights [rows, pages * page_size].
inline void sum_pages(
    const PageShape& shape, const PagesSeen& pages, const float* values, int64_t rows,
    const float* weights, float* sums) {
  const int64_t width = pages.count * shape.page_size;
  while (rows > 0) {
    const int64_t taken = rows >= 12 ? 6 : rows > 6 ? (rows + 1) / 2 : rows;
    switch (taken) {
      case 1: sum_rows<1>(shape, pages, values, weights, sums); break;
      case 2: sum_rows<2>(shape, pages, values, weights, sums); break;
      case 3: sum_rows<3>(shape, pages, values, weights, sums); break;
      case 4: sum_rows<4>(shape, pages, values, weights, sums); break;
      case 5: sum_rows<5>(shape, pages, values, weights, sums); break;
      case 6: sum_rows<6>(shape, pages, values, weights, sums); break;
    }
    rows -= taken;
    weights += taken * width;
    sums += taken * shape.value_width;
  }
}

} // namespace openmanus::generation
