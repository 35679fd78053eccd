/// @file The fused operators' names and arguments. Each operator's own file registers its kernel.
#include <torch/library.h>

TORCH_LIBRARY(openmanus, library) {
  library.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
  library.def(
      "linear(Tensor x, Tensor weight, Tensor? bias=None, Tensor? residual=None) -> Tensor");
  library.def("rotary(Tensor x, Tensor cos, Tensor sin) -> Tensor");
  library.def("swiglu(Tensor gate, Tensor up) -> Tensor");
  library.def("swiglu_joined(Tensor gate_up) -> Tensor");
  library.def(
      "feed_forward(Tensor x, Tensor norm, Tensor gate_up, Tensor down, float eps) -> Tensor");
  library.def(
      "attention(Tensor query, Tensor key, Tensor value, Tensor cumulative_lengths, float scale, "
      "int window=-1, Tensor? parents=None) -> Tensor");
  library.def(
      "token_logprob(Tensor hidden, Tensor weight, Tensor targets, float temperature=1.0, "
      "bool entropy=True) -> (Tensor logprob, Tensor entropy)");
  library.def(
      "adamw_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] first_moments, "
      "Tensor(c!)[] second_moments, float lr, float beta1, float beta2, float eps, "
      "float weight_decay, int step, float gradient_scale=1.0) -> ()");
}
