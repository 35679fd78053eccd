/// @file Memory that a product asks for while it multiplies, so that the next one need not wait for it.
#pragma once

#include <cstdint>

namespace openmanus::fused {

/// Numbers that will probably be multiplied next, for tile_product.h. A processor that only waits for them
/// loses a third of its speed, and one that asks for many at once waits for these: so they are asked
/// for a little at every step of the sums.
class Ahead {
 public:
  template <typename T>
  Ahead(const T* from, int64_t count)
      : at_(reinterpret_cast<const char*>(from)), bytes_(count * int64_t(sizeof(T))) {}

  /// Asks for them in so many steps...
  void share_out(int64_t steps) { step_ = steps > 0 ? (bytes_ + steps - 1) / steps : 0; }
  /// ... of which this is one,
  void operator()() {
    __builtin_prefetch(at_, 0, 2);
    at_ += step_;
  }
  /// and these are some that a copy of it has taken.
  void skip(int64_t steps) { at_ += steps * step_; }

 private:
  const char* at_;
  int64_t bytes_, step_ = 0;
};

}  // namespace openmanus::fused
