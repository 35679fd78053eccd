/// @file The types tensors store (float, double, bfloat16, half) and the type sums are taken in
/// (float, or double for double): conversions between them, a vector or a row at a time.
#pragma once

#include <ATen/ATen.h>

#include "vector.h"

namespace openmanus::fused {

template <typename Stored>
struct AccumulateOf {
  using type = float;
};
template <>
struct AccumulateOf<double> {
  using type = double;
};

/// The type in which numbers stored as `Stored` are summed.
template <typename Stored>
using Accumulate = typename AccumulateOf<Stored>::type;

inline bool is_supported(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf;
}

inline at::ScalarType accumulate_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

/// Calls `function` with a value of the C++ type that `type` names.
template <typename Function>
inline void with_type(at::ScalarType type, const char* operator_name, Function function) {
  switch (type) {
    case at::kFloat:
      return function(float{});
    case at::kDouble:
      return function(double{});
    case at::kBFloat16:
      return function(c10::BFloat16{});
    case at::kHalf:
      return function(c10::Half{});
    default:
      TORCH_CHECK(
          false, operator_name, ": expected float32, float64, bfloat16 or float16, got ", type);
  }
}

/// Calls `function` with a value of the type in which `type` is summed.
template <typename Function>
inline void with_accumulate_type(at::ScalarType type, Function function) {
  return type == at::kDouble ? function(double{}) : function(float{});
}

// Reading: a vector of the accumulating type from `lanes` stored numbers.

inline Vector<float> read(const float* from) { return load(from); }
inline Vector<double> read(const double* from) { return load(from); }

typedef uint16_t Narrow __attribute__((vector_size(vector_bytes / 2)));
typedef uint32_t Wide __attribute__((vector_size(vector_bytes)));

inline Vector<float> read(const c10::BFloat16* from) {
  Narrow narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  const Wide bits = __builtin_convertvector(narrow, Wide) << 16;
  Vector<float> value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline Vector<float> read(const c10::Half* from) {
  Vector<float> value;
  for (int lane = 0; lane < lanes<float>; ++lane) value[lane] = static_cast<float>(from[lane]);
  return value;
}

// Writing: rounded to the nearest, ties to even.

inline void write(float* to, Vector<float> value) { store(to, value); }
inline void write(double* to, Vector<double> value) { store(to, value); }

inline void write(c10::BFloat16* to, Vector<float> value) {
  Wide bits;
  std::memcpy(&bits, &value, sizeof bits);
  const Wide rounded = (bits + (0x7fffu + ((bits >> 16) & 1u))) >> 16;
  // Rounding a NaN could carry into an infinity: give the quiet NaN.
  const Wide result = value == value ? rounded : (Wide{} + 0x7fc0u);
  const Narrow narrow = __builtin_convertvector(result, Narrow);
  std::memcpy(to, &narrow, sizeof narrow);
}

inline void write(c10::Half* to, Vector<float> value) {
  for (int lane = 0; lane < lanes<float>; ++lane) to[lane] = static_cast<c10::Half>(value[lane]);
}

/// What remains of `value` when it is stored and read again.
template <typename Stored>
inline Vector<Accumulate<Stored>> rounded_to(Vector<Accumulate<Stored>> value) {
  Stored stored[lanes<Accumulate<Stored>>];
  write(stored, value);
  return read(stored);
}
template <>
inline Vector<float> rounded_to<float>(Vector<float> value) {
  return value;
}
template <>
inline Vector<double> rounded_to<double>(Vector<double> value) {
  return value;
}

// The last numbers of a row that is not a whole number of vectors.

/// The first `count` lanes; the others are zero.
template <typename Stored>
inline Vector<Accumulate<Stored>> read_part(const Stored* from, int64_t count) {
  Stored part[lanes<Accumulate<Stored>>] = {};
  std::memcpy(static_cast<void*>(part), from, count * sizeof(Stored));
  return read(part);
}

template <typename Stored>
inline void write_part(Stored* to, Vector<Accumulate<Stored>> value, int64_t count) {
  Stored part[lanes<Accumulate<Stored>>];
  write(part, value);
  std::memcpy(static_cast<void*>(to), part, count * sizeof(Stored));
}

/// Calls body(position, read, write) for each vector of a row, whole ones first; `read` and `write`
/// take pointers to the row's beginning, and the last call touches only what the row has.
template <typename T, typename Body>
inline void for_each_vector(int64_t count, Body body) {
  int64_t at = 0;
  for (; at + lanes<T> <= count; at += lanes<T>)
    body(
        at, [at](auto* row) { return fused::read(row + at); },
        [at](auto* row, Vector<T> value) { fused::write(row + at, value); });
  if (at < count)
    body(
        at, [at, count](auto* row) { return read_part(row + at, count - at); },
        [at, count](auto* row, Vector<T> value) { write_part(row + at, value, count - at); });
}

}  // namespace openmanus::fused
