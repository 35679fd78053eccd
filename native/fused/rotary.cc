/// @file openmanus::rotary: rotary position embedding, Hugging Face's half-split layout.
#include <ATen/Parallel.h>

#include "differentiable.h"
#include "fused/blocks/element.h"

namespace openmanus::fused {
namespace {

using at::Tensor;

constexpr int64_t grain = 16384;  // numbers worth waking a thread for

void check(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  TORCH_CHECK(
      x.dim() == 3 && x.size(2) % 2 == 0,
      "rotary: x must be [tokens, heads, head_dim] with an even head_dim, got ", x.sizes());
  for (const Tensor* angles : {&cos, &sin}) {
    TORCH_CHECK(
        angles->dim() == 2 && angles->size(0) == x.size(0) && angles->size(1) == x.size(2) / 2,
        "rotary: cos and sin must be [tokens, head_dim / 2] = [", x.size(0), ", ", x.size(2) / 2,
        "], got ", angles->sizes());
    TORCH_CHECK(
        angles->scalar_type() == at::kFloat || angles->scalar_type() == at::kDouble,
        "rotary: cos and sin must be float32 or float64, got ", angles->scalar_type());
    TORCH_CHECK(
        !angles->requires_grad(), "rotary: cos and sin get no gradient, but one requires it");
  }
  TORCH_CHECK(
      is_supported(x.scalar_type()),
      "rotary: x must be float32, float64, bfloat16 or float16, got ", x.scalar_type());
  TORCH_CHECK(
      x.device().is_cpu() && cos.device().is_cpu() && sin.device().is_cpu(),
      "rotary: expected CPU tensors, got ", x.device(), ", ", cos.device(), ", ", sin.device());
}

/// The two halves (a, b) of each head become (a cos - b sin, b cos + a sin).
/// `direction` -1 turns back, which is also the gradient.
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, int direction) {
  const Tensor from = x.stride(2) == 1 ? x : x.contiguous();
  const at::ScalarType wide = accumulate_type(x.scalar_type());
  const Tensor cosines = cos.to(wide).contiguous(), sines = sin.to(wide).contiguous();
  const int64_t tokens = x.size(0), heads = x.size(1), head_dim = x.size(2), half = head_dim / 2;
  Tensor y = at::empty({tokens, heads, head_dim}, x.options());
  with_type(x.scalar_type(), "rotary", [&](auto element) {
    using Stored = decltype(element);
    using T = Accumulate<Stored>;
    const Stored* in = from.data_ptr<Stored>();
    Stored* out = y.data_ptr<Stored>();
    const int64_t per_task = std::max<int64_t>(1, grain / std::max<int64_t>(1, heads * head_dim));
    at::parallel_for(0, tokens, per_task, [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token) {
        const T* c = cosines.data_ptr<T>() + token * half;
        const T* s = sines.data_ptr<T>() + token * half;
        for (int64_t head = 0; head < heads; ++head) {
          const Stored* first = in + token * from.stride(0) + head * from.stride(1);
          Stored* result = out + (token * heads + head) * head_dim;
          for_each_vector<T>(half, [&](int64_t, auto read, auto write) {
            const Vector<T> a = read(first), b = read(first + half);
            const Vector<T> cosine = read(c), sine = read(s) * T(direction);
            write(result, a * cosine - b * sine);
            write(result + half, b * cosine + a * sine);
          });
        }
      }
    });
  });
  return y;
}

struct Rotary : torch::autograd::Function<Rotary> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& x, const Tensor& cos, const Tensor& sin) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({cos, sin});
    return rotate(x, cos, sin, 1);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("rotary");
    const variable_list saved = ctx->get_saved_variables();
    return {rotate(gradients[0], saved[0], saved[1], -1), Tensor(), Tensor()};
  }
};

Tensor rotary(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check(x, cos, sin);
  return rotate(x, cos, sin, 1);
}

Tensor rotary_autograd(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  check(x, cos, sin);
  if (needs_graph(x)) return Rotary::apply(x, cos, sin);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return rotate(x, cos, sin, 1);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("rotary", rotary); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) { library.impl("rotary", rotary_autograd); }

}  // namespace openmanus::fused
