// How often, and how much, this process copied between the host and devices.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "door/node.h"

namespace openmanus {

void countToDevice(size_t bytes);
void countToHost(size_t bytes);
// After an operator of which `copiesBetweenDevices` says that it may copy.
void countCopy(const at::Tensor& from, const at::Tensor& to);

// How an operator may take values from one device to another.
enum class CopyKind : uint8_t {
  kNone,
  kInto,    // from the second argument into the first: copy_
  kResult,  // from the first argument to the result: to, _to_copy
  kReads,   // the host must know what the first argument says: item, nonzero
};
CopyKind copyKindOf(const std::string& name);

void registerDevices(napi_env env, napi_value exports);

}  // namespace openmanus
