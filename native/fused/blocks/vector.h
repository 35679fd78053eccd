/// @file Vectors as wide as the machine's registers, written with the compiler's vector extensions
/// rather than one processor's intrinsics: the same source becomes AVX2, AVX-512 or NEON.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace openmanus::fused {

// Wider registers come with more of them (32 rather than 16), which decides how large a block of
// results tile_product.h can hold. The macros let a test force a width the compiler would not pick.
#if defined(OPENMANUS_VECTOR_BYTES)
constexpr int vector_bytes = OPENMANUS_VECTOR_BYTES;
#elif defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

#if defined(OPENMANUS_VECTOR_REGISTERS)
constexpr int vector_registers = OPENMANUS_VECTOR_REGISTERS;
#elif defined(__AVX512F__) || defined(__aarch64__)
constexpr int vector_registers = 32;
#else
constexpr int vector_registers = 16;
#endif

template <typename T>
struct VectorOf {
  using integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef T type __attribute__((vector_size(vector_bytes)));
  typedef integer mask __attribute__((vector_size(vector_bytes)));
  // In memory: at the address of any element. GCC and Clang let a vector alias its elements.
  typedef T stored __attribute__((vector_size(vector_bytes), aligned(sizeof(T))));
};

template <typename T>
using Vector = typename VectorOf<T>::type;

/// What a comparison of vectors gives: all ones where true, zero where false.
template <typename T>
using Mask = typename VectorOf<T>::mask;

template <typename T>
constexpr int lanes = vector_bytes / int(sizeof(T));

template <typename T>
inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T>::stored*>(from);
}

template <typename T>
inline void store(T* to, Vector<T> value) {
  *reinterpret_cast<typename VectorOf<T>::stored*>(to) = value;
}

template <typename T>
inline Vector<T> broadcast(T value) {
  Vector<T> result;
  for (int lane = 0; lane < lanes<T>; ++lane) result[lane] = value;
  return result;
}

/// Stops the compiler from reading `value` from memory again at each use, as GCC 12 likes to: in an
/// inner loop that has two multiplications per load this halves the speed.
template <typename T>
inline void keep_in_register(T& value) {
#if defined(OPENMANUS_VECTOR_BYTES)
  // A forced width need not fit a register.
#elif defined(__x86_64__)
  asm("" : "+v"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
}

/// For a block's only sum, in the loop that adds to it. Where there is no other, GCC rounds each product
/// before it adds (on processors where that is faster), and the sum would not be the bits that it is in a
/// larger block.
template <int sums, typename T>
inline void keep_fused(T& sum) {
  if constexpr (sums == 1) keep_in_register(sum);
}

/// 0, 1, 2, ...
template <typename T>
inline Mask<T> lane_numbers() {
  Mask<T> result;
  for (int lane = 0; lane < lanes<T>; ++lane) result[lane] = lane;
  return result;
}

template <typename T>
inline Vector<T> maximum(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}

/// One instruction if compiled with -fno-math-errno; else GCC takes the roots one by one, so that it
/// could set errno for a negative number.
template <typename T>
inline Vector<T> square_root(Vector<T> value) {
  T part[lanes<T>];
  store(part, value);
  for (int lane = 0; lane < lanes<T>; ++lane) part[lane] = std::sqrt(part[lane]);
  return load(part);
}

/// Summed pairwise, so that the order is the same on every machine of one width.
template <typename T>
inline T horizontal_sum(Vector<T> value) {
  T part[lanes<T>];
  store(part, value);
  for (int width = lanes<T> / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) part[lane] += part[lane + width];
  return part[0];
}

}  // namespace openmanus::fused
