// Tensors as JavaScript sees them: numbers that name a slot in a table on this side.
//
// A handle is a double from a range that no computation uses (a fixed exponent near 1e297) whose 52
// mantissa bits hold the slot's index and its generation. That makes a tensor argument as cheap to
// pass as a number, keeps it out of the garbage collector's work, and still tells a tensor from a
// number: a stale, foreign or invented handle is refused, never dereferenced.
//
// Lifetimes are explicit. While a scope is open, every new handle is written to its log, and closing
// the scope frees what the log names except what was kept or returned. Outside scopes the TypeScript
// side registers a finalizer.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "node.h"

namespace openmanus {

bool isHandle(double number);
std::string describeHandle(double handle);

// A new slot for the tensor, logged in the innermost scope. An undefined tensor becomes null.
napi_value handleValue(napi_env env, at::Tensor tensor);

// The tensor behind a handle. `what` names the argument in the error message.
const at::Tensor& tensorOf(napi_env env, napi_value value, const char* what);
// The same for a number already read; nullptr if it names no live tensor.
const at::Tensor* findTensor(double handle);
std::vector<at::Tensor> tensorsOf(napi_env env, napi_value array, const char* what);

napi_value generatorValue(napi_env env, at::Generator generator);
const at::Generator& generatorOf(napi_env env, napi_value value, const char* what);

// `float32[2, 3]`, with the device when it is not the CPU.
std::string describeTensor(const at::Tensor& tensor);

void registerHandles(napi_env env, napi_value exports);

}  // namespace openmanus
