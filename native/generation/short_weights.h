/// @file Weights in fewer bytes than float32: what they stand for, part by part.
///
/// bfloat16 is the upper half of a float32. In int8 a row begins with a float32 scale for every 64 of its
/// columns, and then has its columns, a byte each: a weight is byte × scale, rounded once to float32. Either way
/// the numbers, and so all sums, are those of a float32 matrix with these weights.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace openmanus::generation {

/// The upper half of a float32.
using Short = uint16_t;

/// to[i] = the float32 that from[i] stands for: nothing is rounded.
inline void widen(const Short* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = uint32_t(from[i]) << 16;
    std::memcpy(to + i, &bits, sizeof(float));
  }
}

/// Columns that share a scale.
constexpr int64_t scale_columns = 64;

inline int64_t scales_of_row(int64_t columns) {
  return (columns + scale_columns - 1) / scale_columns;
}

/// Bytes of a row of int8 weights: its scales, its columns.
inline int64_t bytes_of_row(int64_t columns) {
  return scales_of_row(columns) * int64_t(sizeof(float)) + columns;
}

/// A group whose columns share a scale. With a number of them that the compiler knows, and memory that does not
/// overlap, it takes vectors; a byte could lie anywhere.
template <typename Count>
inline void widen_group(
    const int8_t* __restrict from, Count count, float scale, float* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = float(from[i]) * scale;
}

/// Columns [column, column + count) of a row of int8 weights; `column` is a multiple of scale_columns.
inline void widen(const int8_t* row, int64_t columns, int64_t column, int64_t count, float* to) {
  const int8_t* from = row + scales_of_row(columns) * int64_t(sizeof(float)) + column;
  const int8_t* scales = row + column / scale_columns * int64_t(sizeof(float));
  for (int64_t at = 0; at < count; at += scale_columns, scales += sizeof(float)) {
    float scale;
    std::memcpy(&scale, scales, sizeof(float));
    if (count - at >= scale_columns)
      widen_group(from + at, std::integral_constant<int64_t, scale_columns>{}, scale, to + at);
    else
      widen_group(from + at, count - at, scale, to + at);
  }
}

/// [rows, columns], contiguous, in float32, bfloat16 (`shorts`) or int8 (`bytes`); with an optional bias
/// [rows].
struct Weight {
  const float* data = nullptr;
  const Short* shorts = nullptr;
  const int8_t* bytes = nullptr;
  int64_t rows = 0, columns = 0;
  const float* bias = nullptr;
};

/// `count` weights of a row from `column` on, in float32; `column` is a multiple of scale_columns.
inline void copy_weights(
    const Weight& weight, int64_t row, int64_t column, int64_t count, float* to) {
  const int64_t place = row * weight.columns + column;
  if (weight.data)
    std::memcpy(to, weight.data + place, size_t(count) * sizeof(float));
  else if (weight.shorts)
    widen(weight.shorts + place, count, to);
  else
    widen(weight.bytes + row * bytes_of_row(weight.columns), weight.columns, column, count, to);
}

}  // namespace openmanus::generation
