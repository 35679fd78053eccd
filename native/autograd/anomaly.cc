#include "anomaly.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/version.h>

#include "door/handles.h"

namespace openmanus {

namespace {

thread_local bool enabled = false;

bool hasNan(const at::Tensor& tensor) {
  if (!tensor.defined() || !at::isFloatingType(tensor.scalar_type()) || tensor.numel() == 0)
    return false;
  c10::NoGradGuard guard;
  return at::isnan(tensor.detach()).any().item<bool>();
}

bool isAnomalyTrace(const std::string& message) {
  return message.rfind("Error detected in", 0) == 0;
}

#if TORCH_VERSION_MAJOR >= 2
struct QuietHandler : c10::WarningHandler {
  void process(const c10::Warning& warning) override {
    if (!isAnomalyTrace(warning.msg())) c10::WarningHandler::process(warning);
  }
};
using HandlerGuard = c10::WarningUtils::WarningHandlerGuard;
#else
struct QuietHandler : c10::WarningHandler {
  void process(
      const c10::SourceLocation& place, const std::string& message, const bool verbatim) override {
    if (!isAnomalyTrace(message)) c10::WarningHandler::process(place, message, verbatim);
  }
};
using HandlerGuard = c10::Warning::WarningHandlerGuard;
#endif

}  // namespace

bool anomalyDetection() { return enabled; }

void withoutAnomalyTrace(const std::function<void()>& body) {
  if (!enabled) return body();
  QuietHandler handler;
  HandlerGuard guard(&handler);
  body();
}

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
