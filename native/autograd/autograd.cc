#include "autograd.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include "anomaly.h"
#include "door/dtypes.h"
#include "door/handles.h"

namespace openmanus {

namespace {

// Tensors with gaps: null stands for "no gradient given", an undefined tensor in C++.
std::vector<at::Tensor> optionalTensors(napi_env env, napi_value array, const char* what) {
  std::vector<at::Tensor> result;
  if (isNullish(env, array)) return result;
  const size_t length = arrayLength(env, array);
  for (size_t i = 0; i < length; ++i) {
    const napi_value element = elementAt(env, array, i);
    result.push_back(isNullish(env, element) ? at::Tensor() : tensorOf(env, element, what));
  }
  return result;
}

// backward(outputs, gradients | null, retainGraph, inputs | null)
napi_value backward(const Call& call) {
  const napi_env env = call.env;
  const auto outputs = tensorsOf(env, call[0], "backward");
  const auto gradients = optionalTensors(env, call[1], "backward");
  const bool retainGraph = toBool(env, call[2], "retainGraph");
  const auto inputs = optionalTensors(env, call[3], "inputs");
  withoutAnomalyTrace([&] {
    torch::autograd::backward(outputs, gradients, retainGraph, /*create_graph=*/false, inputs);
  });
  return undefinedValue(env);
}

// gradients(outputs, inputs, outputGradients | null, retainGraph, createGraph, allowUnused)
napi_value gradients(const Call& call) {
  const napi_env env = call.env;
  const auto outputs = tensorsOf(env, call[0], "grad");
  const auto inputs = tensorsOf(env, call[1], "grad");
  const auto outputGradients = optionalTensors(env, call[2], "grad");
  const bool retainGraph = toBool(env, call[3], "retainGraph");
  const bool createGraph = toBool(env, call[4], "createGraph");
  const bool allowUnused = toBool(env, call[5], "allowUnused");
  std::vector<at::Tensor> results;
  withoutAnomalyTrace([&] {
    results = torch::autograd::grad(
        outputs, inputs, outputGradients, retainGraph, createGraph, allowUnused);
  });
  const napi_value array = newArray(env, results.size());
  for (size_t i = 0; i < results.size(); ++i)
    setElement(env, array, i, handleValue(env, results[i]));
  return array;
}

napi_value requiresGrad(const Call& call) {
  return boolValue(call.env, tensorOf(call.env, call[0], "requiresGrad").requires_grad());
}

napi_value setRequiresGrad(const Call& call) {
  const at::Tensor& tensor = tensorOf(call.env, call[0], "setRequiresGrad");
  // Not set_requires_grad, which ignores the wish silently when the tensor is not a leaf.
  tensor.__dispatch_requires_grad_(toBool(call.env, call[1], "setRequiresGrad"));
  return undefinedValue(call.env);
}

napi_value isLeaf(const Call& call) {
  return boolValue(call.env, tensorOf(call.env, call[0], "isLeaf").is_leaf());
}

// How often the values were changed in place.
napi_value version(const Call& call) {
  return numberValue(call.env, tensorOf(call.env, call[0], "version")._version());
}

napi_value gradient(const Call& call) {
  return handleValue(call.env, tensorOf(call.env, call[0], "grad").grad());
}

napi_value setGradient(const Call& call) {
  at::Tensor tensor = tensorOf(call.env, call[0], "grad");
  if (isNullish(call.env, call[1])) {
    tensor.mutable_grad().reset();
    return undefinedValue(call.env);
  }
  const at::Tensor& value = tensorOf(call.env, call[1], "grad");
  if (value.sizes() != tensor.sizes() || value.scalar_type() != tensor.scalar_type() ||
      value.device() != tensor.device())
    throw ArgumentError(
        "a gradient has the shape, dtype and device of its tensor: expected " +
        describeTensor(tensor) + ", got " + describeTensor(value));
  tensor.mutable_grad() = value;
  return undefinedValue(call.env);
}

// setGradMode(enabled): the mode before.
napi_value setGradMode(const Call& call) {
  const bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(toBool(call.env, call[0], "setGradMode"));
  return boolValue(call.env, before);
}

napi_value gradMode(const Call& call) { return boolValue(call.env, at::GradMode::is_enabled()); }

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool autocastEnabled(at::DeviceType device) { return at::autocast::is_autocast_enabled(device); }
at::ScalarType autocastDtype(at::DeviceType device) {
  return at::autocast::get_autocast_dtype(device);
}
void enableAutocast(at::DeviceType device, bool enabled, at::ScalarType type) {
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::set_autocast_enabled(device, enabled);
}
#else
bool autocastEnabled(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}
at::ScalarType autocastDtype(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::get_autocast_cpu_dtype()
                            : at::autocast::get_autocast_gpu_dtype();
}
void enableAutocast(at::DeviceType device, bool enabled, at::ScalarType type) {
  if (device == at::kCPU) {
    if (enabled && type != at::kBFloat16)
      throw ArgumentError(
          "autocast: this libtorch (" TORCH_VERSION ") casts to bfloat16 only on the CPU, got " +
          dtypeName(type));
    at::autocast::set_autocast_cpu_dtype(type);
    at::autocast::set_cpu_enabled(enabled);
  } else {
    at::autocast::set_autocast_gpu_dtype(type);
    at::autocast::set_enabled(enabled);
  }
}
#endif

// The kind of a device by its name, with or without a number.
at::DeviceType autocastDevice(napi_env env, napi_value value) {
  const std::string name = toString(env, value, "autocast device");
  at::DeviceType type;
  try {
    type = c10::Device(name).type();
  } catch (const c10::Error&) {
    throw ArgumentError("autocast: expected device \"cpu\" or \"cuda\", got \"" + name + "\"");
  }
#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 4)
  if (type != at::kCPU && type != at::kCUDA)
    throw ArgumentError(
        "autocast: this libtorch (" TORCH_VERSION ") casts on the cpu and on cuda, not on " + name);
#endif
  return type;
}

// setAutocast(device, enabled, dtype): [enabled, dtype] before.
napi_value setAutocast(const Call& call) {
  const napi_env env = call.env;
  const at::DeviceType device = autocastDevice(env, call[0]);
  const napi_value before = newArray(env, 2);
  setElement(env, before, 0, boolValue(env, autocastEnabled(device)));
  setElement(env, before, 1, stringValue(env, dtypeName(autocastDtype(device))));
  enableAutocast(
      device, toBool(env, call[1], "autocast"),
      dtypeNamed(toString(env, call[2], "autocast dtype")));
  return before;
}

// Casts of weights are cached inside autocast; the cache belongs to one outermost scope.
napi_value clearAutocastCache(const Call& call) {
  at::autocast::clear_cache();
  return undefinedValue(call.env);
}

// setAnomalyMode(enabled): the mode before.
napi_value setAnomalyMode(const Call& call) {
  const bool before = anomalyDetection();
  setAnomalyDetection(toBool(call.env, call[0], "setAnomalyMode"));
  return boolValue(call.env, before);
}

}  // namespace

void registerAutograd(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(backward);
  OPENMANUS_EXPORT(gradients);
  OPENMANUS_EXPORT(requiresGrad);
  OPENMANUS_EXPORT(setRequiresGrad);
  OPENMANUS_EXPORT(isLeaf);
  OPENMANUS_EXPORT(version);
  OPENMANUS_EXPORT(gradient);
  OPENMANUS_EXPORT(setGradient);
  OPENMANUS_EXPORT(setGradMode);
  OPENMANUS_EXPORT(gradMode);
  OPENMANUS_EXPORT(setAutocast);
  OPENMANUS_EXPORT(clearAutocastCache);
  OPENMANUS_EXPORT(setAnomalyMode);
}

}  // namespace openmanus
