/// @file openmanus::feed_forward: x + down(silu(gate) · up) of norm(x).
#include "feed_forward.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "fused/differentiable.h"

namespace openmanus::fused {
namespace {

using at::Tensor;
using Optional = c10::optional<Tensor>;

/// Rows that are worth being shared out.
constexpr int64_t fewest_rows = 512;
/// Numbers of the weights, at most: each of up to eight sums of their gradients has as many.
constexpr int64_t most_weights = int64_t(1) << 22;

void check(const Tensor& x, const Tensor& norm, const Tensor& gate_up, const Tensor& down) {
  TORCH_CHECK(
      x.dim() == 2 && norm.dim() == 1 && norm.size(0) == x.size(1),
      "feed_forward: expected x [rows, hidden] and norm [hidden], got ", x.sizes(), " and ",
      norm.sizes());
  TORCH_CHECK(
      gate_up.dim() == 2 && gate_up.size(0) % 2 == 0 && gate_up.size(1) == x.size(1),
      "feed_forward: gate_up must be [2 * features, ", x.size(1), "], got ", gate_up.sizes());
  TORCH_CHECK(
      down.dim() == 2 && down.size(0) == x.size(1) && down.size(1) * 2 == gate_up.size(0),
      "feed_forward: down must be [", x.size(1), ", ", gate_up.size(0) / 2, "], got ",
      down.sizes());
}

bool is_ours(const Tensor& x, const Tensor& norm, const Tensor& gate_up, const Tensor& down) {
  const at::ScalarType type = x.scalar_type();
  return (type == at::kFloat || type == at::kDouble) && norm.scalar_type() == type &&
         gate_up.scalar_type() == type && down.scalar_type() == type && x.size(0) >= fewest_rows &&
         down.numel() > 0 && gate_up.numel() + down.numel() <= most_weights &&
         c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU);
}

/// The same by the other operators.
Tensor composed(
    const Tensor& x, const Tensor& norm, const Tensor& gate_up, const Tensor& down, double eps) {
  const auto find = [](const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  };
  static const auto normalize =
      find("openmanus::rms_norm").typed<Tensor(const Tensor&, const Tensor&, double)>();
  static const auto activate = find("openmanus::swiglu_joined").typed<Tensor(const Tensor&)>();
  static const auto multiply =
      find("openmanus::linear")
          .typed<Tensor(const Tensor&, const Tensor&, const Optional&, const Optional&)>();
  const Tensor joined = multiply.call(normalize.call(x, norm, eps), gate_up, {}, {});
  return multiply.call(activate.call(joined), down, {}, x);
}

template <typename T>
FeedForwardWeights<T> weights_of(
    const Tensor& norm, const Tensor& gate_up, const Tensor& down, double eps) {
  const int64_t features = down.size(1);
  return {
      norm.data_ptr<T>(), eps, Matrix(gate_up.narrow(0, 0, features)),
      Matrix(gate_up.narrow(0, features, features)), Matrix(down)};
}

template <typename T>
FeedForwardBlocks<T> cut(const Tensor& x, const Tensor& down) {
  return {x.size(0), x.size(1), down.size(1)};
}

/// Also gives gate and up, if asked to.
Tensor forward(
    const Tensor& x, const Tensor& norm, const Tensor& gate_up, const Tensor& down, double eps,
    Tensor* kept) {
  const Tensor rows = as_rows(x), factors = norm.contiguous(), wide = as_rows(gate_up);
  const Tensor narrow = as_rows(down);
  const Tensor y = at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::Contiguous));
  with_accumulate_type(x.scalar_type(), [&](auto element) {
    using T = decltype(element);
    const auto blocks = cut<T>(x, down);
    if (kept) *kept = at::empty({blocks.kept_size()}, x.options());
    feed_forward_forward<T>(
        blocks, Matrix(rows), weights_of<T>(factors, wide, narrow, eps), y.data_ptr<T>(),
        kept ? kept->data_ptr<T>() : nullptr);
  });
  return y;
}

struct FeedForward : torch::autograd::Function<FeedForward> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& x, const Tensor& norm, const Tensor& gate_up,
      const Tensor& down, double eps) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    Tensor kept;
    Tensor y = fused::forward(x, norm, gate_up, down, eps, &kept);
    ctx->save_for_backward({x, norm, gate_up, down, kept});
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["x"] = x.requires_grad();
    ctx->saved_data["norm"] = norm.requires_grad();
    ctx->saved_data["gate_up"] = gate_up.requires_grad();
    ctx->saved_data["down"] = down.requires_grad();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("feed_forward");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor x = as_rows(saved[0]), norm = saved[1].contiguous(), gate_up = as_rows(saved[2]);
    const Tensor down = as_rows(saved[3]), &kept = saved[4], dy = as_rows(gradients[0]);
    const auto gradient_of = [&](const char* name, const Tensor& tensor) {
      return ctx->saved_data[name].toBool() ? at::empty(tensor.sizes(), tensor.options())
                                            : Tensor();
    };
    const Tensor dx = gradient_of("x", x), dnorm = gradient_of("norm", norm);
    const Tensor dgate_up = gradient_of("gate_up", gate_up), ddown = gradient_of("down", down);
    with_accumulate_type(x.scalar_type(), [&](auto element) {
      using T = decltype(element);
      const auto data = [](const Tensor& tensor) {
        return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
      };
      feed_forward_backward<T>(
          cut<T>(x, down), Matrix(x),
          weights_of<T>(norm, gate_up, down, ctx->saved_data["eps"].toDouble()), kept.data_ptr<T>(),
          Matrix(dy), {data(dx), data(dnorm), data(dgate_up), data(ddown)});
    });
    return {dx, dnorm, dgate_up, ddown, Tensor()};
  }
};

Tensor feed_forward(
    const Tensor& x, const Tensor& norm, const Tensor& gate_up, const Tensor& down, double eps) {
  check(x, norm, gate_up, down);
  return is_ours(x, norm, gate_up, down) ? forward(x, norm, gate_up, down, eps, nullptr)
                                         : composed(x, norm, gate_up, down, eps);
}

Tensor feed_forward_autograd(
    const Tensor& x, const Tensor& norm, const Tensor& gate_up, const Tensor& down, double eps) {
  check(x, norm, gate_up, down);
  if (!is_ours(x, norm, gate_up, down)) return composed(x, norm, gate_up, down, eps);
  if (needs_graph(x, norm, gate_up, down)) return FeedForward::apply(x, norm, gate_up, down, eps);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return forward(x, norm, gate_up, down, eps, nullptr);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("feed_forward", feed_forward); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) {
  library.impl("feed_forward", feed_forward_autograd);
}

}  // namespace openmanus::fused
