/// @file openmanus::linear: x Wᵀ + bias + residual.
///
/// BLAS multiplies, but each of our threads calls it for a part. OpenBLAS would share a product out to
/// threads of its own, and those and OpenMP's then wait for each other on the same cores. The parts
/// depend on the shape alone, so that results do not depend on the number of threads.
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "differentiable.h"
#include "fused/blocks/parallel.h"
#include "runtime/symbol.h"

namespace openmanus::fused {
namespace {

using at::Tensor;
using Optional = c10::optional<Tensor>;

/// Rows of x that are worth being shared out.
constexpr int64_t fewest_rows = 512;

/// Rows of x that one call multiplies. Each call packs the weight anew: not too few.
int64_t part_rows(int64_t rows) { return std::clamp<int64_t>((rows + 7) / 8, 256, 1024); }

/// Of a weight's gradient: rows that one call makes, if it is large,
constexpr int64_t part_features = 512;
/// or, if it is no larger than this, rows of x and dy that one call sums over, in at most so many parts.
constexpr int64_t small_weight = int64_t(1) << 19;
constexpr int64_t most_sums = 8;

bool has(const Optional& tensor) { return tensor.has_value() && tensor->defined(); }

/// While it lives, BLAS does not use threads of its own.
class OneBlasThread {
 public:
  OneBlasThread() : before_(get() ? get()() : 1) {
    if (before_ > 1) set()(1);
  }
  ~OneBlasThread() {
    if (before_ > 1) set()(before_);
  }
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  // Others than OpenBLAS know by themselves that they are called by one of several threads.
  static auto get() -> int (*)() {
    static auto* const found = symbol<int()>("openblas_get_num_threads");
    return set() ? found : nullptr;
  }
  static auto set() -> void (*)(int) {
    static auto* const found = symbol<void(int)>("openblas_set_num_threads");
    return found;
  }
  int before_;
};

/// body(begin, end) for every part of [0, count), by all threads.
template <typename Body>
void in_parts(int64_t count, int64_t part, const Body& body) {
  const OneBlasThread one;
  share_items((count + part - 1) / part, [&](auto next) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;  // a thread's own
    for (int64_t item; (item = next()) >= 0;) body(item * part, std::min(count, (item + 1) * part));
  });
}

void check(const Tensor& x, const Tensor& weight, const Optional& bias, const Optional& residual) {
  TORCH_CHECK(
      x.dim() == 2 && weight.dim() == 2 && weight.size(1) == x.size(1),
      "linear: expected x [rows, in] and weight [out, in], got ", x.sizes(), " and ",
      weight.sizes());
  TORCH_CHECK(
      !has(bias) || (bias->dim() == 1 && bias->size(0) == weight.size(0)), "linear: bias must be [",
      weight.size(0), "], got ", bias->sizes());
  TORCH_CHECK(
      !has(residual) || (residual->dim() == 2 && residual->size(0) == x.size(0) &&
                         residual->size(1) == weight.size(0)),
      "linear: residual must be [", x.size(0), ", ", weight.size(0), "], got ", residual->sizes());
}

bool is_ours(
    const Tensor& x, const Tensor& weight, const Optional& bias, const Optional& residual) {
  const at::ScalarType type = x.scalar_type();
  const auto same = [&](const Optional& tensor) {
    return !has(tensor) || tensor->scalar_type() == type;
  };
  return (type == at::kFloat || type == at::kDouble) && weight.scalar_type() == type &&
         same(bias) && same(residual) && x.size(0) >= fewest_rows && x.size(1) > 0 &&
         weight.size(0) > 0 &&
         c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU);
}

Tensor stock(
    const Tensor& x, const Tensor& weight, const Optional& bias, const Optional& residual) {
  const Tensor product = at::linear(x, weight, bias);
  return has(residual) ? *residual + product : product;
}

Tensor product(
    const Tensor& x, const Tensor& weight, const Optional& bias, const Optional& residual) {
  const Tensor y = at::empty({x.size(0), weight.size(0)}, x.options()), turned = weight.t();
  in_parts(x.size(0), part_rows(x.size(0)), [&](int64_t begin, int64_t end) {
    Tensor part = y.slice(0, begin, end);
    const Tensor from = x.slice(0, begin, end);
    if (has(residual))
      at::addmm_out(part, residual->slice(0, begin, end), from, turned);
    else
      at::mm_out(part, from, turned);
    if (has(bias)) part.add_(*bias);
  });
  return y;
}

/// dy W
Tensor gradient_of_x(const Tensor& dy, const Tensor& weight) {
  const Tensor dx = at::empty({dy.size(0), weight.size(1)}, dy.options());
  in_parts(dy.size(0), part_rows(dy.size(0)), [&](int64_t begin, int64_t end) {
    Tensor part = dx.slice(0, begin, end);
    at::mm_out(part, dy.slice(0, begin, end), weight);
  });
  return dx;
}

/// dyᵀ x
Tensor gradient_of_weight(const Tensor& dy, const Tensor& x) {
  const int64_t features = dy.size(1), rows = x.size(0);
  const Tensor turned = dy.t();
  if (features * x.size(1) > small_weight) {
    const Tensor dweight = at::empty({features, x.size(1)}, x.options());
    in_parts(features, part_features, [&](int64_t begin, int64_t end) {
      Tensor part = dweight.slice(0, begin, end);
      at::mm_out(part, turned.slice(0, begin, end), x);
    });
    return dweight;
  }
  const int64_t sums = std::min(most_sums, rows / (fewest_rows / 2));
  const Tensor parts = at::empty({sums, features, x.size(1)}, x.options());
  const int64_t size = (rows + sums - 1) / sums;
  in_parts(rows, size, [&](int64_t begin, int64_t end) {
    Tensor part = parts.select(0, begin / size);
    at::mm_out(part, turned.slice(1, begin, end), x.slice(0, begin, end));
  });
  return parts.sum(0);
}

struct Linear : torch::autograd::Function<Linear> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Optional& bias,
      const Optional& residual) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({x, weight});
    ctx->saved_data["x"] = x.requires_grad();
    ctx->saved_data["weight"] = weight.requires_grad();
    ctx->saved_data["bias"] = has(bias) && bias->requires_grad();
    ctx->saved_data["residual"] = has(residual) && residual->requires_grad();
    return product(x, weight, bias, residual);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("linear");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &dy = gradients[0];
    const auto wanted = [&](const char* name) { return ctx->saved_data[name].toBool(); };
    return {
        wanted("x") ? gradient_of_x(dy, weight) : Tensor(),
        wanted("weight") ? gradient_of_weight(dy, x) : Tensor(),
        wanted("bias") ? dy.sum(0) : Tensor(), wanted("residual") ? dy : Tensor()};
  }
};

Tensor linear(
    const Tensor& x, const Tensor& weight, const Optional& bias, const Optional& residual) {
  check(x, weight, bias, residual);
  return is_ours(x, weight, bias, residual) ? product(x, weight, bias, residual)
                                            : stock(x, weight, bias, residual);
}

Tensor linear_autograd(
    const Tensor& x, const Tensor& weight, const Optional& bias, const Optional& residual) {
  check(x, weight, bias, residual);
  if (!is_ours(x, weight, bias, residual)) return stock(x, weight, bias, residual);
  const auto grows = [](const Optional& tensor) { return has(tensor) && tensor->requires_grad(); };
  if (needs_graph(x, weight) || (at::GradMode::is_enabled() && (grows(bias) || grows(residual))))
    return Linear::apply(x, weight, bias, residual);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return product(x, weight, bias, residual);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("linear", linear); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) { library.impl("linear", linear_autograd); }

}  // namespace openmanus::fused
