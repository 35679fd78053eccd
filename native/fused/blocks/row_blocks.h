/// @file Products of many rows with small weights: a block of rows at a time goes through them, and what
/// it makes stays in a core's caches until the next product has used it.
#pragma once

#include "ahead.h"
#include "packed_matrix.h"
#include "parallel.h"

namespace openmanus::fused {

/// As few blocks as there can be of at most `most`, as even as whole units allow: the size of one.
inline int64_t even_block(int64_t count, int64_t most, int64_t unit) {
  const int64_t each = blocks_of(count, blocks_of(count, most));
  return blocks_of(each, unit) * unit;
}

/// Rows in parts, and each part in blocks. A weight's gradient is summed over each part, then over the
/// parts. They depend on the shape alone, and with them every sum: results do not depend on the number
/// of threads.
struct RowBlocks {
  int64_t rows, parts, part_rows, block, part_blocks;

  explicit RowBlocks(int64_t rows)
      : rows(rows),
        parts(std::clamp<int64_t>(rows / 256, 1, 8)),
        part_rows(blocks_of(rows, parts)),
        block(even_block(part_rows, 192, block_rows)),
        part_blocks(blocks_of(part_rows, block)) {}

  int64_t count() const { return parts * part_blocks; }
  int64_t begin_of(int64_t number) const {
    return number / part_blocks * part_rows + number % part_blocks * block;
  }
  /// The rows of a block. The last part may have none left for its last.
  int64_t rows_of(int64_t number) const {
    const int64_t end = std::min((number / part_blocks + 1) * part_rows, rows);
    return std::clamp<int64_t>(end - begin_of(number), 0, block);
  }
};

/// c [rows, strips of lanes] (+)= a · the right factor's rows [first, first + depth) in these strips. The
/// next strip is fetched while this one is multiplied with.
template <typename T>
void multiply_strips(
    int64_t rows, Left<T> a, const Strips<T>& right, int64_t first_strip, int64_t strips,
    int64_t first, int64_t depth, T* c, int64_t c_row, bool add) {
  for (int64_t at = 0; at < depth; at += depth_block<T>) {
    const int64_t taken = std::min(depth_block<T>, depth - at);
    for (int64_t strip = 0; strip < strips; ++strip) {
      Ahead next(right.at(first_strip + (strip + 1) % strips, first + at), taken * block_lanes<T>);
      next.share_out(taken * blocks_of(rows, block_rows));
      strip_product<block_vectors, T>(
          rows, {a.data + at * a.k_stride, a.row_stride, a.k_stride},
          right.at(first_strip + strip, first + at), block_lanes<T>, c + strip * block_lanes<T>,
          c_row, taken, add || at > 0, next);
    }
  }
}

/// Packs all rows of a matrix as strips with these in the lanes, by all threads.
template <typename T>
void pack_rows(const Matrix& matrix, const Strips<T>& to) {
  share_items(blocks_of(matrix.rows, block_lanes<T>), [&](auto next) {
    for (int64_t strip; (strip = next()) >= 0;) {
      const int64_t first = strip * block_lanes<T>;
      pack_strip<T>(
          matrix, first, std::min<int64_t>(block_lanes<T>, matrix.rows - first), T(1),
          to.at(strip, 0));
    }
  });
}

/// The same with its columns in the lanes.
template <typename T>
void pack_columns(const Matrix& matrix, const Strips<T>& to) {
  at::parallel_for(0, matrix.rows, 64, [&](int64_t begin, int64_t end) {
    to.read_from(matrix, begin, end - begin, begin);
  });
}

/// The columns of some rows as a left factor, [panels, rows, block_rows]: a panel's numbers lie in the
/// order in which a product over the rows reads them. A cache line more keeps the panels from sharing one
/// set of the cache.
template <typename T>
struct Panels {
  int64_t columns, size;
  Scratch<T> data;

  Panels(int64_t rows, int64_t columns)
      : columns(columns),
        size(rows * block_rows + cache_line / int64_t(sizeof(T))),
        data(blocks_of(columns, block_rows) * size) {}

  void read_from(const T* from, int64_t stride, int64_t rows) const {
    for (int64_t i = 0; i < rows; ++i, from += stride) {
      T* to = data + i * block_rows;
      int64_t column = 0;
      for (; column + block_rows <= columns; column += block_rows, to += size)
        std::memcpy(to, from + column, block_rows * sizeof(T));
      std::copy(from + column, from + columns, to);
    }
  }

  /// c [columns, block_lanes] (+)= columnsᵀ · b, summed over `rows`.
  void multiply(int64_t rows, const T* b, int64_t b_stride, T* c, bool add) const {
    const T* panel = data;
    for (int64_t column = 0; column < columns; column += block_rows, panel += size)
      strip_product<block_vectors, T>(
          std::min<int64_t>(block_rows, columns - column), {panel, 1, block_rows}, b, b_stride,
          c + column * block_lanes<T>, block_lanes<T>, rows, add);
  }
};

/// A weight's gradient, one sum for each part of the rows: [parts, strips, left, block_lanes], `left` its
/// size along the panels, the strips along its other.
template <typename T>
struct PartSums {
  int64_t parts, strips, size;  // of a strip
  at::Tensor memory;            // libtorch's, which keeps it for the next call
  T* data;

  PartSums(int64_t parts, int64_t left, int64_t lanes)
      : parts(parts),
        strips(blocks_of(lanes, block_lanes<T>)),
        size(left * block_lanes<T>),
        memory(at::empty({parts * strips * size}, c10::CppTypeToScalarType<T>::value)),
        data(memory.data_ptr<T>()) {}

  T* at(int64_t part, int64_t strip) const { return data + (part * strips + strip) * size; }

  /// Adds up the parts, in order; the sum takes the place of the first.
  const T* total(int64_t strip) const {
    T* sum = at(0, strip);
    for (int64_t part = 1; part < parts; ++part) {
      const T* more = at(part, strip);
      for (int64_t i = 0; i < size; i += lanes<T>) store(sum + i, load(sum + i) + load(more + i));
    }
    return sum;
  }
};

}  // namespace openmanus::fused
