#include "anomaly.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include "handles.h"

namespace openmanus {

namespace {

thread_local bool enabled = false;

bool hasNan(const at::Tensor& tensor) {
  if (!tensor.defined() || !at::isFloatingType(tensor.scalar_type()) || tensor.numel() == 0)
    return false;
  at::NoGradGuard guard;
  return at::isnan(tensor.detach()).any().item<bool>();
}

}  // namespace

bool anomalyDetection() { return enabled; }

void setAnomalyDetection(bool value) {
  enabled = value;
  torch::autograd::AnomalyMode::set_enabled(value, /*check_nan=*/true);
}

std::string findNan(const torch::jit::Stack& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<at::Tensor> tensors;
    if (results[i].isTensor()) tensors.push_back(results[i].toTensor());
    if (results[i].isTensorList()) tensors = results[i].toTensorVector();
    for (const at::Tensor& tensor : tensors)
      if (hasNan(tensor))
        return "the first operator to produce a NaN: result " + std::to_string(i + 1) + ", " +
               describeTensor(tensor);
  }
  return "";
}

}  // namespace openmanus
