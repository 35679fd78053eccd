/// @file What the operators' autograd functions share.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace openmanus::fused {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Whether a graph must be recorded: if not, the operator runs without saving anything.
template <typename... Tensors>
inline bool needs_graph(const Tensors&... tensors) {
  return at::GradMode::is_enabled() && (tensors.requires_grad() || ...);
}

/// The backward kernels are not differentiable. Autograd enables gradients inside a backward pass
/// only for create_graph, which would get silently wrong second derivatives.
inline void check_first_order(const char* operator_name) {
  TORCH_CHECK(
      !at::GradMode::is_enabled(), operator_name,
      ": second derivatives (create_graph) are not implemented; use the stock twin");
}

/// `tensor` as [rows, last dimension] with contiguous rows: a view where its strides allow it.
inline at::Tensor as_rows(const at::Tensor& tensor) {
  // Spelled out because reshape cannot infer a dimension when the tensor is empty.
  const int64_t columns = tensor.size(-1);
  const int64_t rows = columns == 0 ? 0 : tensor.numel() / columns;
  const at::Tensor view = tensor.reshape({rows, columns});
  return view.stride(1) == 1 || columns <= 1 ? view : view.contiguous();
}

}  // namespace openmanus::fused
