/// @file openmanus::rms_norm: x / sqrt(mean(x^2) + eps) * weight over the last dimension.
#include <ATen/Parallel.h>

#include "differentiable.h"
#include "fused/blocks/norm_row.h"
#include "fused/blocks/scratch.h"

namespace openmanus::fused {
namespace {

using at::Tensor;

constexpr int64_t grain = 16384;  // numbers worth waking a thread for

void check(const Tensor& x, const Tensor& weight) {
  TORCH_CHECK(x.dim() >= 1, "rms_norm: x must have at least one dimension, got a scalar");
  TORCH_CHECK(
      weight.dim() == 1 && weight.size(0) == x.size(-1), "rms_norm: weight must be [", x.size(-1),
      "] like the last dimension of x ", x.sizes(), ", got ", weight.sizes());
  TORCH_CHECK(
      is_supported(x.scalar_type()) && is_supported(weight.scalar_type()),
      "rms_norm: x and weight must be float32, float64, bfloat16 or float16, got ", x.scalar_type(),
      " and ", weight.scalar_type());
  TORCH_CHECK(
      x.device().is_cpu() && weight.device().is_cpu(), "rms_norm: expected CPU tensors, got ",
      x.device(), " and ", weight.device());
}

int64_t rows_per_task(int64_t columns) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, columns));
}

/// Also gives 1 / sqrt(mean(x^2) + eps) per row, in the accumulating type, if `scales` is given.
Tensor forward(const Tensor& x, const Tensor& weight, double eps, Tensor* scales) {
  check(x, weight);
  const Tensor from = as_rows(x);
  const Tensor factors = weight.to(accumulate_type(x.scalar_type())).contiguous();
  Tensor y = at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::Contiguous));
  const int64_t rows = from.size(0), columns = from.size(1), stride = from.stride(0);
  if (scales) *scales = at::empty({rows}, factors.options());
  with_type(x.scalar_type(), "rms_norm", [&](auto element) {
    using Stored = decltype(element);
    using T = Accumulate<Stored>;
    const Stored* in = from.data_ptr<Stored>();
    const T* weights = factors.data_ptr<T>();
    Stored* out = y.data_ptr<Stored>();
    T* saved = scales ? scales->data_ptr<T>() : nullptr;
    at::parallel_for(0, rows, rows_per_task(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T scale =
            normalize_row<Stored>(in + row * stride, weights, columns, eps, out + row * columns);
        if (saved) saved[row] = scale;
      }
    });
  });
  return y;
}

/// With n = x * scale and g = dy * weight:  dx = scale * (g - n * mean(g * n)),  dw = sum dy * n.
std::pair<Tensor, Tensor> backward(
    const Tensor& x, const Tensor& weight, const Tensor& scales, const Tensor& dy, bool needs_dx,
    bool needs_dw) {
  const Tensor from = as_rows(x), gradient = as_rows(dy.to(x.scalar_type()));
  const Tensor factors = weight.to(scales.scalar_type()).contiguous();
  const int64_t rows = from.size(0), columns = from.size(1);
  Tensor dx = needs_dx
                  ? at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::Contiguous))
                  : Tensor();
  // The weight's gradient is summed per part of the rows, then over the parts in order. Parts
  // depend on the shape alone, so the result does not depend on the number of threads.
  const int64_t part_rows = std::max<int64_t>(rows_per_task(columns), (rows + 63) / 64);
  const int64_t parts = (rows + part_rows - 1) / part_rows;
  const Tensor sums = needs_dw ? at::zeros({parts, columns}, factors.options()) : Tensor();
  with_type(x.scalar_type(), "rms_norm", [&](auto element) {
    using Stored = decltype(element);
    using T = Accumulate<Stored>;
    const Stored* in = from.data_ptr<Stored>();
    const Stored* dout = gradient.data_ptr<Stored>();
    const T* weights = factors.data_ptr<T>();
    const T* saved = scales.data_ptr<T>();
    Stored* din = needs_dx ? dx.data_ptr<Stored>() : nullptr;
    T* dweights = needs_dw ? sums.data_ptr<T>() : nullptr;
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        T* dweight = dweights + part * columns;
        for (int64_t row = part * part_rows; row < std::min(rows, (part + 1) * part_rows); ++row) {
          const Stored* numbers = in + row * from.stride(0);
          const Stored* gradients = dout + row * gradient.stride(0);
          const T scale = saved[row];
          Vector<T> products = {};
          for_each_vector<T>(columns, [&](int64_t, auto read, auto write) {
            const Vector<T> g = read(gradients), n = read(numbers) * scale;
            products += g * read(weights) * n;
            if (dweights) write(dweight, read(dweight) + g * rounded_to<Stored>(n));
          });
          if (!din) continue;
          const T mean = horizontal_sum<T>(products) / T(columns);
          for_each_vector<T>(columns, [&](int64_t, auto read, auto write) {
            const Vector<T> n = read(numbers) * scale;
            write(din + row * columns, scale * (read(gradients) * read(weights) - n * mean));
          });
        }
      }
    });
  });
  return {dx, needs_dw ? sums.sum(0).to(weight.scalar_type()) : Tensor()};
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, double eps) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    Tensor scales;
    Tensor y = fused::forward(x, weight, eps, &scales);
    ctx->save_for_backward({x, weight, scales});
    ctx->saved_data["x"] = x.requires_grad();
    ctx->saved_data["weight"] = weight.requires_grad();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("rms_norm");
    const variable_list saved = ctx->get_saved_variables();
    auto [dx, dweight] = fused::backward(
        saved[0], saved[1], saved[2], gradients[0], ctx->saved_data["x"].toBool(),
        ctx->saved_data["weight"].toBool());
    return {dx, dweight, Tensor()};
  }
};

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return forward(x, weight, eps, nullptr);
}

Tensor rms_norm_autograd(const Tensor& x, const Tensor& weight, double eps) {
  if (needs_graph(x, weight)) return RmsNorm::apply(x, weight, eps);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return forward(x, weight, eps, nullptr);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("rms_norm", rms_norm); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) { library.impl("rms_norm", rms_norm_autograd); }

}  // namespace openmanus::fused
