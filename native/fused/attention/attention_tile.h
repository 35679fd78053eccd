/// @file What attention's forward and backward share: blocks of queries and keys, and what of a
/// block a query may see.
///
/// All products keep the queries in the vector lanes: scores are [keys, queries], so that the
/// softmax over keys is taken lane by lane, without any horizontal sum, and keys and values are
/// used in the layout they have.
#pragma once

#include <limits>

#include "fused/blocks/element.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/scratch.h"
#include "fused/blocks/tile_product.h"

namespace openmanus::fused {

constexpr int64_t key_block = 72;

/// A packed [tokens, heads, head_dim] tensor; head_dim is contiguous.
struct Heads {
  void* data = nullptr;  // null for a gradient that nobody needs
  at::ScalarType type = at::kFloat;
  int64_t token_stride = 0;
  int64_t head_stride = 0;

  Heads() = default;
  explicit Heads(const at::Tensor& tensor)
      : data(tensor.data_ptr()),
        type(tensor.scalar_type()),
        token_stride(tensor.stride(0)),
        head_stride(tensor.stride(1)) {}
};

/// Copies `tokens` rows of one head to [tokens, row] in the accumulating type, zero beyond head_dim.
template <typename T>
void read_rows(
    const Heads& from, int64_t token, int64_t tokens, int64_t head, int64_t head_dim, T* to,
    int64_t row) {
  with_type(from.type, "attention", [&](auto element) {
    using Stored = decltype(element);
    if constexpr (std::is_same_v<Accumulate<Stored>, T>) {
      const Stored* source = static_cast<const Stored*>(from.data) + token * from.token_stride +
                             head * from.head_stride;
      // Far apart as they are, the processor does not foresee the next ones.
      constexpr int64_t ahead = 16, line = cache_line / int64_t(sizeof(Stored));
      for (int64_t i = 0; i < tokens; ++i, source += from.token_stride, to += row) {
        for (int64_t at = 0; at < head_dim; at += line)
          __builtin_prefetch(source + ahead * from.token_stride + at);
        for_each_vector<T>(
            head_dim, [&](int64_t at, auto read, auto) { store(to + at, read(source)); });
      }
    }
  });
}

/// Writes factor * [tokens, row] back as rows of one head.
template <typename T>
void write_rows(
    const T* from, int64_t row, T factor, const Heads& to, int64_t token, int64_t tokens,
    int64_t head, int64_t head_dim) {
  with_type(to.type, "attention", [&](auto element) {
    using Stored = decltype(element);
    if constexpr (std::is_same_v<Accumulate<Stored>, T>) {
      Stored* target =
          static_cast<Stored*>(to.data) + token * to.token_stride + head * to.head_stride;
      for (int64_t i = 0; i < tokens; ++i, target += to.token_stride, from += row) {
        for_each_vector<T>(head_dim, [&](int64_t at, auto, auto write) {
          write(target, load(from + at) * factor);
        });
      }
    }
  });
}

/// Columns transposed at a time: one cache line of each row.
template <typename T>
constexpr int64_t line_columns = cache_line / int64_t(sizeof(T));

/// from [rows, row] to [columns, lane_row], times factor; lanes from `rows` to `width` become zero.
template <typename T>
void transpose_to_lanes(
    const T* from, int64_t row, int64_t rows, int64_t columns, T factor, T* to, int64_t lane_row,
    int64_t width) {
  for (int64_t first = 0; first < columns; first += line_columns<T>) {
    const int64_t last = std::min(columns, first + line_columns<T>);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t column = first; column < last; ++column)
        to[column * lane_row + i] = from[i * row + column] * factor;
    for (int64_t column = first; column < last; ++column)
      std::fill(to + column * lane_row + rows, to + column * lane_row + width, T(0));
  }
}

/// from [columns, lane_row] back to [rows, row].
template <typename T>
void transpose_from_lanes(
    const T* from, int64_t lane_row, int64_t rows, int64_t columns, T* to, int64_t row) {
  for (int64_t first = 0; first < columns; first += line_columns<T>)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t column = first; column < std::min(columns, first + line_columns<T>); ++column)
        to[i * row + column] = from[column * lane_row + i];
}

/// Which keys a query sees: itself and those before it, at most `window` of them.
/// Positions count from the beginning of the sequence.
struct Sight {
  int64_t window;

  int64_t first_key(int64_t query) const { return std::max<int64_t>(0, query - window + 1); }
  int64_t last_query(int64_t key) const { return key + window - 1; }
};

/// One strip of queries (block_lanes of them, from first_query) against one block of keys: the rows
/// any of them sees, and within these the rows all of them see.
struct Visible {
  int64_t begin, end;
  int64_t whole_begin, whole_end;

  Visible(Sight sight, int64_t first_query, int64_t queries, int64_t first_key, int64_t keys) {
    const auto row = [=](int64_t key) { return std::clamp<int64_t>(key - first_key, 0, keys); };
    const int64_t last_query = first_query + queries - 1;
    begin = row(sight.first_key(first_query));
    end = std::max(begin, row(last_query + 1));
    whole_begin = std::clamp(row(sight.first_key(last_query)), begin, end);
    whole_end = std::clamp(row(first_query + 1), whole_begin, end);
  }
};

/// Makes the scores of what a query does not see, among the rows of `visible`, minus infinity.
template <typename T>
void mask_strip(
    T* strip, int64_t lane_row, const Visible& visible, Sight sight, int64_t first_query,
    int64_t first_key) {
  const Vector<T> hidden = broadcast(-std::numeric_limits<T>::infinity());
  using Integer = typename VectorOf<T>::integer;
  for (int64_t row = visible.begin; row < visible.end; ++row) {
    if (row == visible.whole_begin) row = visible.whole_end;
    if (row >= visible.end) break;
    // Query first_query + lane sees this key if 0 <= offset + lane < window.
    const int64_t offset = first_query - (first_key + row);
    for (int v = 0; v < block_vectors; ++v) {
      const Mask<T> distance = lane_numbers<T>() + Integer(offset + v * lanes<T>);
      T* place = strip + row * lane_row + v * lanes<T>;
      Vector<T> value = load(place);
      value = distance >= 0 ? value : hidden;
      value = distance < Integer(sight.window) ? value : hidden;
      store(place, value);
    }
  }
}

}  // namespace openmanus::fused
