/// @file openmanus::adamw_: one AdamW step over many tensors in one pass.
#include <ATen/Parallel.h>

#include "differentiable.h"
#include "fused/blocks/element.h"

namespace openmanus::fused {
namespace {

using at::Tensor;

/// Tensors are cut into pieces of this many numbers, so that one large embedding beside many small
/// vectors is still shared evenly.
constexpr int64_t piece_size = 16384;

struct Piece {
  int64_t tensor;
  int64_t begin;
};

/// What is the same for every number, in PyTorch's order of operations.
struct Step {
  double decay;       // 1 - lr * weight_decay
  double beta1_rest;  // 1 - beta1
  double beta2;
  double beta2_rest;  // 1 - beta2
  double step_size;   // lr / (1 - beta1^step)
  double correction;  // sqrt(1 - beta2^step)
  double eps;
  double gradient_scale;
};

template <typename Parameter, typename Gradient, typename T>
void update(
    const Step& step, int64_t count, Parameter* parameter, const Gradient* gradient, T* first,
    T* second) {
  const T decay = step.decay, beta1_rest = step.beta1_rest, beta2 = step.beta2;
  const T beta2_rest = step.beta2_rest, step_size = step.step_size, eps = step.eps;
  const T correction = step.correction, gradient_scale = step.gradient_scale;
  for_each_vector<T>(count, [&](int64_t, auto read, auto write) {
    const Vector<T> g = read(gradient) * gradient_scale;
    Vector<T> m = read(first), v = read(second);
    m += (g - m) * beta1_rest;
    v = v * beta2 + g * g * beta2_rest;
    const Vector<T> root = square_root<T>(v);
    const Vector<T> value = read(parameter) * decay;
    write(first, m);
    write(second, v);
    write(parameter, value - step_size * (m / (root / correction + eps)));
  });
}

void check(
    const Tensor& parameter, const Tensor& gradient, const Tensor& first, const Tensor& second,
    size_t index) {
  TORCH_CHECK(
      is_supported(parameter.scalar_type()) && is_supported(gradient.scalar_type()) &&
          (gradient.scalar_type() == parameter.scalar_type() ||
           gradient.scalar_type() == accumulate_type(parameter.scalar_type())),
      "adamw_: parameter ", index,
      " must be float32, float64, bfloat16 or float16 and its gradient ",
      "the same (or float32 for the two short types), got ", parameter.scalar_type(), " and ",
      gradient.scalar_type());
  for (const Tensor* moment : {&first, &second})
    TORCH_CHECK(
        moment->scalar_type() == accumulate_type(parameter.scalar_type()), "adamw_: moments of ",
        parameter.scalar_type(), " parameter ", index, " must be ",
        accumulate_type(parameter.scalar_type()), ", got ", moment->scalar_type());
  for (const Tensor* other : {&gradient, &first, &second})
    TORCH_CHECK(
        other->sizes() == parameter.sizes(), "adamw_: parameter ", index, " is ", parameter.sizes(),
        ", but its gradient or a moment is ", other->sizes());
  for (const Tensor* tensor : {&parameter, &gradient, &first, &second})
    TORCH_CHECK(
        tensor->device().is_cpu(), "adamw_: expected CPU tensors for parameter ", index, ", got ",
        tensor->device());
}

std::vector<Tensor> contiguous(at::TensorList tensors) {
  std::vector<Tensor> dense;
  for (const Tensor& tensor : tensors) dense.push_back(tensor.contiguous());
  return dense;
}

/// Copies back what was not contiguous. A graph that saved a tensor before this step must notice
/// that it has changed: copy_ counts that by itself, writing through a pointer does not.
void write_back(const std::vector<Tensor>& dense, at::TensorList tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!dense[i].is_same(tensors[i]))
      tensors[i].copy_(dense[i]);
    else if (!tensors[i].is_inference())
      tensors[i].unsafeGetTensorImpl()->bump_version();
  }
}

void adamw_(
    at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
    at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
    double weight_decay, int64_t step, double gradient_scale) {
  TORCH_CHECK(
      parameters.size() == gradients.size() && parameters.size() == first_moments.size() &&
          parameters.size() == second_moments.size(),
      "adamw_: expected as many gradients and moments as parameters, got ", parameters.size(),
      " parameters, ", gradients.size(), " gradients, ", first_moments.size(), " first and ",
      second_moments.size(), " second moments");
  TORCH_CHECK(step >= 1, "adamw_: step counts from 1, got ", step);
  TORCH_CHECK(
      beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1,
      "adamw_: beta1 and beta2 must be in [0, 1), got ", beta1, " and ", beta2);
  const Step constants = {
      1 - lr * weight_decay,
      1 - beta1,
      beta2,
      1 - beta2,
      lr / (1 - std::pow(beta1, double(step))),
      std::sqrt(1 - std::pow(beta2, double(step))),
      eps,
      gradient_scale};
  // Everything is checked before anything is changed.
  std::vector<Piece> pieces;
  for (size_t i = 0; i < parameters.size(); ++i) {
    check(parameters[i], gradients[i], first_moments[i], second_moments[i], i);
    for (int64_t begin = 0; begin < parameters[i].numel(); begin += piece_size)
      pieces.push_back({int64_t(i), begin});
  }
  const std::vector<Tensor> values = contiguous(parameters), slopes = contiguous(gradients);
  const std::vector<Tensor> first = contiguous(first_moments);
  const std::vector<Tensor> second = contiguous(second_moments);
  at::parallel_for(0, int64_t(pieces.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t tensor = pieces[at].tensor, start = pieces[at].begin;
      const Tensor &parameter = values[tensor], &gradient = slopes[tensor];
      const int64_t count = std::min(piece_size, parameter.numel() - start);
      with_type(parameter.scalar_type(), "adamw_", [&](auto element) {
        using Parameter = decltype(element);
        using T = Accumulate<Parameter>;
        T* m = first[tensor].data_ptr<T>() + start;
        T* v = second[tensor].data_ptr<T>() + start;
        Parameter* p = parameter.data_ptr<Parameter>() + start;
        if (gradient.scalar_type() == parameter.scalar_type())
          update(constants, count, p, gradient.data_ptr<Parameter>() + start, m, v);
        else
          update(constants, count, p, gradient.data_ptr<T>() + start, m, v);
      });
    }
  });
  write_back(values, parameters);
  write_back(first, first_moments);
  write_back(second, second_moments);
}

void adamw_autograd(
    at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
    at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
    double weight_decay, int64_t step, double gradient_scale) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  adamw_(
      parameters, gradients, first_moments, second_moments, lr, beta1, beta2, eps, weight_decay,
      step, gradient_scale);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("adamw_", adamw_); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) { library.impl("adamw_", adamw_autograd); }

}  // namespace openmanus::fused
