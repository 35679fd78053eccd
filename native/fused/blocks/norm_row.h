/// @file One row of RMSNorm, for rms_norm and feed_forward.
#pragma once

#include "element.h"

namespace openmanus::fused {

/// to = x · scale · weight; gives scale = 1 / √(mean(x²) + eps).
template <typename Stored>
Accumulate<Stored> normalize_row(
    const Stored* x, const Accumulate<Stored>* weight, int64_t columns, double eps, Stored* to) {
  using T = Accumulate<Stored>;
  Vector<T> squares = {};
  for_each_vector<T>(columns, [&](int64_t, auto read, auto) {
    const Vector<T> value = read(x);
    squares += value * value;
  });
  const T scale = T(1) / std::sqrt(horizontal_sum<T>(squares) / T(columns) + T(eps));
  for_each_vector<T>(columns, [&](int64_t, auto read, auto write) {
    // Rounded before the weight, as Hugging Face's models do in bfloat16.
    write(to, rounded_to<Stored>(read(x) * scale) * read(weight));
  });
  return scale;
}

}  // namespace openmanus::fused
