/// @file Matrices as tensors have them, and packed for tile_product.h: strips of columns.
#pragma once

#include "element.h"
#include "scratch.h"
#include "tile_product.h"

namespace openmanus::fused {

/// How far along the inner dimension a product goes at once: the right factor stays in L1.
template <typename T>
constexpr int64_t depth_block = block_lanes<T> * sizeof(T) > 128 ? 128 : 256;

inline int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

/// A [rows, columns] tensor with contiguous rows.
struct Matrix {
  void* data;
  at::ScalarType type;
  int64_t rows, columns, stride;

  explicit Matrix(const at::Tensor& tensor)
      : data(tensor.data_ptr()),
        type(tensor.scalar_type()),
        rows(tensor.size(0)),
        columns(tensor.size(1)),
        stride(tensor.stride(0)) {}
};

/// Copies [rows, columns] from (row, column) to `to`, row length `to_row`; what is beyond the
/// matrix's last column becomes zero. `columns` and to_row must be whole vectors.
template <typename T>
void read_block(
    const Matrix& from, int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
    int64_t to_row) {
  with_type(from.type, "a matrix", [&](auto element) {
    using Stored = decltype(element);
    if constexpr (std::is_same_v<Accumulate<Stored>, T>) {
      const int64_t inside = std::min(columns, from.columns - column);
      for (int64_t i = 0; i < rows; ++i) {
        const Stored* source =
            static_cast<const Stored*>(from.data) + (row + i) * from.stride + column;
        int64_t at = 0;
        for (; at + lanes<T> <= inside; at += lanes<T>)
          store(to + i * to_row + at, read(source + at));
        if (at < inside) {
          store(to + i * to_row + at, read_part(source + at, inside - at));
          at += lanes<T>;
        }
        for (; at < columns; at += lanes<T>) store(to + i * to_row + at, Vector<T>{});
      }
    }
  });
}

/// Rows of a matrix in the accumulating type, a strip of block_lanes columns after the other:
/// [strips, capacity + 1, block_lanes]. The row too many keeps the strips' beginnings from sharing
/// one set of the cache. Beyond the matrix's last column there are zeros.
template <typename T>
struct Strips {
  int64_t capacity;  // rows
  int64_t strips;
  Scratch<T> data;

  Strips(int64_t capacity, int64_t columns)
      : capacity(capacity),
        strips((columns + block_lanes<T> - 1) / block_lanes<T>),
        data(strips * (capacity + 1) * block_lanes<T>) {}

  T* at(int64_t strip, int64_t row) const {
    return data + (strip * (capacity + 1) + row) * block_lanes<T>;
  }

  /// Copies `rows` of the matrix's rows, from `first` on, to the strips' rows from `row` on.
  void read_from(const Matrix& matrix, int64_t first, int64_t rows, int64_t row) const {
    with_type(matrix.type, "a matrix", [&](auto element) {
      using Stored = decltype(element);
      if constexpr (std::is_same_v<Accumulate<Stored>, T>) {
        const int64_t columns = matrix.columns;
        for (int64_t i = 0; i < rows; ++i) {
          const Stored* source =
              static_cast<const Stored*>(matrix.data) + (first + i) * matrix.stride;
          for (int64_t v = 0; v < strips * block_vectors; ++v) {
            const int64_t column = v * lanes<T>;
            T* place = at(v / block_vectors, row + i) + v % block_vectors * lanes<T>;
            store(
                place, column + lanes<T> <= columns
                           ? read(source + column)
                           : read_part(source + column, std::max<int64_t>(0, columns - column)));
          }
        }
      }
    });
  }
};

/// Writes (or adds, if `add`) [rows, columns] to (row, column) of a matrix, as far as it goes.
template <typename T>
void write_block(
    const T* from, int64_t from_row, const Matrix& to, int64_t row, int64_t rows, int64_t column,
    int64_t columns, bool add) {
  with_type(to.type, "a matrix", [&](auto element) {
    using Stored = decltype(element);
    if constexpr (std::is_same_v<Accumulate<Stored>, T>) {
      const int64_t inside = std::min(columns, to.columns - column);
      for (int64_t i = 0; i < rows; ++i) {
        Stored* target = static_cast<Stored*>(to.data) + (row + i) * to.stride + column;
        for_each_vector<T>(inside, [&](int64_t at, auto read, auto write) {
          const Vector<T> value = load(from + i * from_row + at);
          write(target, add ? read(target) + value : value);
        });
      }
    }
  });
}

/// Columns that pack_strip takes at a time: what it writes then stays in L1.
constexpr int64_t packed_columns = 64;

/// Packs factor * matrix for products with its rows in the lanes: `rows` (at most block_lanes) of them,
/// from `first` on, as [columns, block_lanes]. Rows that fill up the strip are zero.
template <typename T>
void pack_strip(const Matrix& matrix, int64_t first, int64_t rows, T factor, T* strip) {
  T row[packed_columns];
  for (int64_t column = 0; column < matrix.columns; column += packed_columns) {
    const int64_t count = std::min(packed_columns, matrix.columns - column);
    T* to = strip + column * block_lanes<T>;
    for (int64_t lane = 0; lane < block_lanes<T>; ++lane) {
      if (lane < rows)
        read_block<T>(
            matrix, first + lane, 1, column, (count + lanes<T> - 1) / lanes<T> * lanes<T>, row,
            packed_columns);
      else
        std::fill_n(row, count, T(0));
      for (int64_t at = 0; at < count; ++at) to[at * block_lanes<T> + lane] = row[at] * factor;
    }
  }
}

}  // namespace openmanus::fused
