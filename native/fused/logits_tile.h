/// @file Tiles of logits, the work unit of openmanus::token_logprob.
///
/// A tile is [vocab, tokens]: the tokens are in the vector lanes, so that the softmax over the
/// vocabulary is taken lane by lane. It is made by one thread, used while it is in that thread's
/// cache, and leaves it whole only where it is kept for backward.
#pragma once

#include "element.h"
#include "exponential.h"
#include "scratch.h"
#include "tile_product.h"

namespace openmanus::fused {

constexpr int64_t token_block = 144;
constexpr int64_t vocab_block = 144;

/// Row length of a tile.
template <typename T>
constexpr int64_t tile_row = padded_row<T>(token_block);

/// How far along the hidden dimension a product goes at once: the right factor stays in L1.
template <typename T>
constexpr int64_t depth_block = block_lanes<T> * sizeof(T) > 128 ? 128 : 256;

static_assert(token_block % block_lanes<float> == 0 && token_block % block_lanes<double> == 0);

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
  with_type(from.type, "token_logprob", [&](auto element) {
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
  int64_t capacity; // rows
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
    with_type(matrix.type, "token_logprob", [&](auto element) {
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
                place,
                column + lanes<T> <= columns
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
  with_type(to.type, "token_logprob", [&](auto element) {
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

/// Packs factor * hidden for products with tokens in the lanes: strips of block_lanes tokens, each
/// [hidden, block_lanes]. Tokens that fill up the last strip are zero.
template <typename T>
void pack_strip(
    const Matrix& hidden, int64_t token, int64_t tokens, T factor, T* row, T* strip) {
  const int64_t padded = (hidden.columns + lanes<T> - 1) / lanes<T> * lanes<T>;
  for (int64_t lane = 0; lane < block_lanes<T>; ++lane) {
    if (lane < tokens)
      read_block<T>(hidden, token + lane, 1, 0, padded, row, padded);
    else
      std::fill_n(row, padded, T(0));
    for (int64_t at = 0; at < hidden.columns; ++at)
      strip[at * block_lanes<T> + lane] = row[at] * factor;
  }
}

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
      left = {static_cast<const T*>(weight.data) + first_word * weight.stride + at, weight.stride, 1};
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

} // namespace openmanus::fused
