/// @file exp and exp2 of whole vectors. The C library's are scalar, and attention and softmax take
/// one per score, so this is where their time would go.
#pragma once

#include "vector.h"

namespace openmanus::fused {

// Scores and logits are kept in units of log 2, so that 2^x serves instead of e^x.
constexpr double log2_of_e = 1.4426950408889634;
constexpr double log_of_2 = 0.6931471805599453;

/// 2^whole * 2^fraction with |fraction| <= 1/2 and -126 <= whole <= 127; 0 for -127 and 0.
/// The polynomial is the minimax fit of 2^r with p(0) = 1: relative error 2e-9 before rounding.
inline Vector<float> power_of_two(Vector<float> shifted_whole, Vector<float> fraction) {
  Vector<float> power = fraction * 0x1.41fbbcp-13f + 0x1.5f3e54p-10f;
  power = power * fraction + 0x1.3b2d4cp-7f;
  power = power * fraction + 0x1.c6aee8p-5f;
  power = power * fraction + 0x1.ebfbdcp-3f;
  power = power * fraction + 0x1.62e430p-1f;
  power = power * fraction + 1.0f;
  // The low bits of shifted_whole are the whole part; moved to the exponent field they multiply.
  Mask<float> bits, exponent;
  std::memcpy(&bits, &power, sizeof bits);
  std::memcpy(&exponent, &shifted_whole, sizeof exponent);
  bits += exponent << 23;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// Adding 1.5 * 2^23 rounds a float to a whole number and leaves it in the low bits.
constexpr float rounding_shift = 0x1.8p23f;

/// 2^x, relative error about 1e-7; exactly 0 below 2^-126 (-infinity included), exactly 1 at 0,
/// NaN for NaN. x must be below 128: every caller has subtracted a maximum.
inline Vector<float> exp2(Vector<float> x) {
  // 2^-127 has neither exponent nor mantissa in power_of_two: it is 0.
  const Vector<float> clamped = x < -126.0f ? broadcast(-127.0f) : x;
  const Vector<float> shifted = clamped + rounding_shift;
  return power_of_two(shifted, clamped - (shifted - rounding_shift));
}

/// e^x with exp2's properties, and saturating at 2^127 instead of overflowing.
inline Vector<float> exp(Vector<float> x) {
  constexpr float log2e_high = 0x1.715476p0f, log2e_low = 0x1.4ae0cp-26f;
  constexpr float lowest = -87.33654f, highest = 88.02969f;  // ln 2^-126, ln 2^127
  Vector<float> clamped = x < lowest ? broadcast(lowest) : x;
  clamped = clamped > highest ? broadcast(highest) : clamped;
  const Vector<float> shifted = clamped * log2e_high + rounding_shift;
  const Vector<float> whole = shifted - rounding_shift;
  const Vector<float> fraction = clamped * log2e_low + (clamped * log2e_high - whole);
  const Vector<float> power = power_of_two(shifted, fraction);
  return x < lowest ? Vector<float>{} : power;
}

// Double precision serves numerical gradient checks: exact rather than fast.

inline Vector<double> exp2(Vector<double> x) {
  for (int lane = 0; lane < lanes<double>; ++lane) x[lane] = std::exp2(x[lane]);
  return x;
}

inline Vector<double> exp(Vector<double> x) {
  for (int lane = 0; lane < lanes<double>; ++lane) x[lane] = std::exp(x[lane]);
  return x;
}

template <typename T>
inline Vector<T> sigmoid(Vector<T> x) {
  return T(1) / (T(1) + fused::exp(-x));
}

}  // namespace openmanus::fused
