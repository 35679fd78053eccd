/// @file The two products of paged attention: queries with the keys of all pages, weights with their
/// values. A result is summed in the same order however many rows are computed together, of however
/// many heads.
#pragma once

#include "fused/blocks/tile_product.h"

namespace openmanus::generation {

using namespace openmanus::fused;

/// How a page's keys and values lie (see paged_attention.h).
struct PageShape {
  int64_t head_dim, value_width, page_size;
  int64_t key_stride, value_stride;  // from page to page

  int64_t head_keys() const { return head_dim * page_size; }
  int64_t head_values() const { return page_size * value_width; }
};

/// The pages that some queries of a sequence see, in order.
struct PagesSeen {
  const int32_t* numbers;
  int64_t count;
  int64_t tokens;  // in all of them: the last may not be full
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
    keep_fused<rows * columns>(sums[0][0]);
  }
#pragma GCC unroll 4
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 6
    for (int column = 0; column < columns; ++column)
      store(scores + row * width + column * lanes<float>, sums[row][column]);
}

/// Few rows: several vectors of keys at once, because a single sum would wait for itself. Memory is
/// what such products wait for, and it is fastest in the order of addresses: all heads of some pages
/// before the next pages.
template <int rows>
__attribute__((noinline)) void score_few(
    const PageShape& shape, const PagesSeen& pages, const float* keys, int64_t heads,
    const float* queries, float* scores) {
  constexpr int columns = rows == 1 ? 6 : rows == 2 ? 6 : rows == 3 ? 4 : 3;
  const int64_t per_page = shape.page_size / lanes<float>, all = pages.count * per_page;
  const int64_t width = pages.count * shape.page_size;
  const float *places[columns], *next[columns];
  const auto place = [&](int64_t column) {
    return keys + pages.numbers[column / per_page] * shape.key_stride +
           column % per_page * lanes<float>;
  };
  int64_t column = 0;
  for (; column + columns <= all; column += columns)
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t own = head * shape.head_keys();
      for (int i = 0; i < columns; ++i) {
        places[i] = place(column + i) + own;
        next[i] = place(std::min(column + columns + i, all - 1)) + own;
      }
      score_columns<rows, columns>(
          queries + head * rows * shape.head_dim, shape.head_dim, places, next, shape.page_size,
          scores + head * rows * width + column * lanes<float>, width);
    }
  for (; column < all; ++column)
    for (int64_t head = 0; head < heads; ++head) {
      places[0] = next[0] = place(column) + head * shape.head_keys();
      score_columns<rows, 1>(
          queries + head * rows * shape.head_dim, shape.head_dim, places, next, shape.page_size,
          scores + head * rows * width + column * lanes<float>, width);
    }
}

/// scores [heads, rows, pages * page_size] of queries [heads, rows, head_dim] with the keys of as many
/// heads.
inline void score_pages(
    const PageShape& shape, const PagesSeen& pages, const float* keys, int64_t heads, int64_t rows,
    const float* queries, float* scores) {
  switch (rows) {
    case 1:
      return score_few<1>(shape, pages, keys, heads, queries, scores);
    case 2:
      return score_few<2>(shape, pages, keys, heads, queries, scores);
    case 3:
      return score_few<3>(shape, pages, keys, heads, queries, scores);
    case 4:
      return score_few<4>(shape, pages, keys, heads, queries, scores);
  }
  const int64_t width = pages.count * shape.page_size;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t page = 0; page < pages.count; ++page)
      tile_product<float>(
          rows, shape.page_size, {queries + head * rows * shape.head_dim, shape.head_dim, 1},
          keys + pages.numbers[page] * shape.key_stride + head * shape.head_keys(), shape.page_size,
          scores + head * rows * width + page * shape.page_size, width, shape.head_dim, false);
}

/// Some rows and columns of the weighted sum over the pages [begin, end), which is added to what those
/// before gave: it stays in registers from page to page.
template <int rows, int columns>
__attribute__((noinline)) void sum_block(
    const PageShape& shape, const PagesSeen& pages, int64_t begin, int64_t end, const float* values,
    const float* weights, float* sums) {
  const int64_t width = pages.count * shape.page_size, stride = shape.value_width;
  static_assert(columns <= 2 || columns == 4);
  Vector<float> total[rows][columns] = {};
  if (begin > 0)
#pragma GCC unroll 6
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
      for (int column = 0; column < columns; ++column)
        total[row][column] = load(sums + row * stride + column * lanes<float>);
  for (int64_t page = begin; page < end; ++page) {
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
      keep_fused<rows * columns>(total[0][0]);
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
    const PageShape& shape, const PagesSeen& pages, int64_t begin, int64_t end, const float* values,
    const float* weights, float* sums) {
  const int64_t all = shape.value_width / lanes<float>;
  int64_t column = 0;
  const auto blocks_of = [&](auto columns) {
    for (; column + columns <= all; column += columns)
      sum_block<rows, columns>(
          shape, pages, begin, end, values + column * lanes<float>, weights,
          sums + column * lanes<float>);
  };
  if constexpr (rows <= 3) blocks_of(std::integral_constant<int, 4>{});
  blocks_of(std::integral_constant<int, 2>{});
  blocks_of(std::integral_constant<int, 1>{});
}

/// What the pages [begin, end) add to the sums [rows, value_width] of one head.
inline void sum_head(
    const PageShape& shape, const PagesSeen& pages, int64_t begin, int64_t end, const float* values,
    int64_t rows, const float* weights, float* sums) {
  const int64_t width = pages.count * shape.page_size;
  while (rows > 0) {
    const int64_t taken = rows >= 12 ? 6 : rows > 6 ? (rows + 1) / 2 : rows;
    switch (taken) {
      case 1:
        sum_rows<1>(shape, pages, begin, end, values, weights, sums);
        break;
      case 2:
        sum_rows<2>(shape, pages, begin, end, values, weights, sums);
        break;
      case 3:
        sum_rows<3>(shape, pages, begin, end, values, weights, sums);
        break;
      case 4:
        sum_rows<4>(shape, pages, begin, end, values, weights, sums);
        break;
      case 5:
        sum_rows<5>(shape, pages, begin, end, values, weights, sums);
        break;
      case 6:
        sum_rows<6>(shape, pages, begin, end, values, weights, sums);
        break;
    }
    rows -= taken;
    weights += taken * width;
    sums += taken * shape.value_width;
  }
}

/// sums [heads, rows, value_width] of the values, with weights [heads, rows, pages * page_size].
inline void sum_pages(
    const PageShape& shape, const PagesSeen& pages, const float* values, int64_t heads,
    int64_t rows, const float* weights, float* sums) {
  const int64_t width = pages.count * shape.page_size;
  // Several heads have few rows: in the order of addresses, as in score_few.
  const int64_t together = heads == 1 ? pages.count : 1;
  for (int64_t page = 0; page < pages.count; page += together)
    for (int64_t head = 0; head < heads; ++head)
      sum_head(
          shape, pages, page, page + together, values + head * shape.head_values(), rows,
          weights + head * rows * width, sums + head * rows * shape.value_width);
}

}  // namespace openmanus::generation
