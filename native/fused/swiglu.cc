/// @file openmanus::swiglu: silu(gate) * up, where silu(g) = g / (1 + e^-g); and swiglu_joined of
/// one tensor whose last dimension is gate and up, so that its gradient need not be joined again.
#include <ATen/Parallel.h>

#include "differentiable.h"
#include "fused/blocks/element.h"
#include "fused/blocks/exponential.h"

namespace openmanus::fused {
namespace {

using at::Tensor;

constexpr int64_t grain = 8192;  // numbers worth waking a thread for

void check(const Tensor& gate, const Tensor& up) {
  TORCH_CHECK(
      gate.dim() >= 1 && gate.sizes() == up.sizes(),
      "swiglu: gate and up must have the same shape of at least one dimension, got ", gate.sizes(),
      " and ", up.sizes());
  TORCH_CHECK(
      gate.scalar_type() == up.scalar_type() && is_supported(gate.scalar_type()),
      "swiglu: gate and up must both be float32, float64, bfloat16 or float16, got ",
      gate.scalar_type(), " and ", up.scalar_type());
  TORCH_CHECK(
      gate.device().is_cpu() && up.device().is_cpu(), "swiglu: expected CPU tensors, got ",
      gate.device(), " and ", up.device());
}

int64_t rows_per_task(int64_t columns) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, columns));
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check(gate, up);
  // gate and up are often the two halves of one matrix product: rows apart, contiguous within.
  const Tensor gates = as_rows(gate), ups = as_rows(up);
  const int64_t rows = gates.size(0), columns = gates.size(1);
  Tensor y = at::empty(gate.sizes(), gate.options().memory_format(at::MemoryFormat::Contiguous));
  with_type(gate.scalar_type(), "swiglu", [&](auto element) {
    using Stored = decltype(element);
    using T = Accumulate<Stored>;
    at::parallel_for(0, rows, rows_per_task(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Stored* g = gates.data_ptr<Stored>() + row * gates.stride(0);
        const Stored* u = ups.data_ptr<Stored>() + row * ups.stride(0);
        Stored* result = y.data_ptr<Stored>() + row * columns;
        for_each_vector<T>(columns, [&](int64_t, auto read, auto write) {
          const Vector<T> value = read(g);
          // Rounded in between, as the two stock operators do in bfloat16.
          write(result, rounded_to<Stored>(value * sigmoid<T>(value)) * read(u));
        });
      }
    });
  });
  return y;
}

/// With s = sigmoid(gate):  dgate = dy * up * s * (1 + gate * (1 - s)),  dup = dy * gate * s.
/// Fills those of dgate and dup (rows with contiguous numbers) that are defined.
void backward(
    const Tensor& gate, const Tensor& up, const Tensor& dy, const Tensor& dgate,
    const Tensor& dup) {
  const Tensor gates = as_rows(gate), ups = as_rows(up), gradient = as_rows(dy);
  const int64_t rows = gates.size(0), columns = gates.size(1);
  with_type(gate.scalar_type(), "swiglu", [&](auto element) {
    using Stored = decltype(element);
    using T = Accumulate<Stored>;
    at::parallel_for(0, rows, rows_per_task(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Stored* g = gates.data_ptr<Stored>() + row * gates.stride(0);
        const Stored* u = ups.data_ptr<Stored>() + row * ups.stride(0);
        const Stored* d = gradient.data_ptr<Stored>() + row * gradient.stride(0);
        Stored* dg = dgate.defined() ? dgate.data_ptr<Stored>() + row * dgate.stride(0) : nullptr;
        Stored* du = dup.defined() ? dup.data_ptr<Stored>() + row * dup.stride(0) : nullptr;
        for_each_vector<T>(columns, [&](int64_t, auto read, auto write) {
          const Vector<T> value = read(g), s = sigmoid<T>(value), dout = read(d);
          if (dg) write(dg, dout * read(u) * s * (T(1) + value * (T(1) - s)));
          if (du) write(du, dout * value * s);
        });
      }
    });
  });
}

/// A dense [rows, columns] for a gradient that is needed.
Tensor gradient_of(const Tensor& tensor, bool needed) {
  return needed ? at::empty(
                      tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous))
                : Tensor();
}

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({gate, up});
    ctx->saved_data["gate"] = gate.requires_grad();
    ctx->saved_data["up"] = up.requires_grad();
    return swiglu(gate, up);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("swiglu");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor dgate = gradient_of(saved[0], ctx->saved_data["gate"].toBool());
    const Tensor dup = gradient_of(saved[1], ctx->saved_data["up"].toBool());
    fused::backward(
        saved[0], saved[1], gradients[0], dgate.defined() ? as_rows(dgate) : dgate,
        dup.defined() ? as_rows(dup) : dup);
    return {dgate, dup};
  }
};

/// The two halves of the last dimension, as rows.
std::pair<Tensor, Tensor> halves(const Tensor& joined) {
  TORCH_CHECK(
      joined.dim() >= 1 && joined.size(-1) % 2 == 0,
      "swiglu_joined: the last dimension must be gate and up, of the same size, got ",
      joined.sizes());
  const int64_t half = joined.size(-1) / 2;
  return {joined.narrow(-1, 0, half), joined.narrow(-1, half, half)};
}

Tensor swiglu_joined(const Tensor& gate_up) {
  const auto [gate, up] = halves(gate_up);
  return swiglu(gate, up);
}

struct SwiGluJoined : torch::autograd::Function<SwiGluJoined> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate_up) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({gate_up});
    return swiglu_joined(gate_up);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("swiglu_joined");
    const Tensor joined = ctx->get_saved_variables()[0];
    const auto [gate, up] = halves(joined);
    const Tensor result = gradient_of(joined, true);
    const auto [dgate, dup] = halves(as_rows(result));
    fused::backward(gate, up, gradients[0], dgate, dup);
    return {result};
  }
};

Tensor swiglu_joined_autograd(const Tensor& gate_up) {
  if (needs_graph(gate_up)) return SwiGluJoined::apply(gate_up);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return swiglu_joined(gate_up);
}

Tensor swiglu_autograd(const Tensor& gate, const Tensor& up) {
  if (needs_graph(gate, up)) return SwiGlu::apply(gate, up);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return swiglu(gate, up);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) {
  library.impl("swiglu", swiglu);
  library.impl("swiglu_joined", swiglu_joined);
}
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) {
  library.impl("swiglu", swiglu_autograd);
  library.impl("swiglu_joined", swiglu_joined_autograd);
}

}  // namespace openmanus::fused
