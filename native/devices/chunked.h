/// @file What the operators for any device share: they are written in libtorch's own operators, a part at
/// a time, and compute the part again in backward.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace openmanus::devices {

/// Numbers that one part makes at most: 64 MB of float32.
constexpr int64_t part_size = 16 << 20;

/// Short floats are summed in float32, as on the CPU.
inline at::ScalarType wide_type(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

inline at::Tensor widened(const at::Tensor& tensor) {
  return tensor.to(wide_type(tensor.scalar_type()));
}

/// Autocast would make short floats of what must be summed in float32.
struct WithoutAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard{c10::autocast_dispatch_keyset};
};

}  // namespace openmanus::devices
