/// @file The stand-in device's memory, and tensors of it seen from the host's side.
///
/// A device pointer is the host's plus an offset that makes an address no process can have, on any
/// processor: whoever reads or writes it without asking the device crashes, as he would with CUDA's.
#pragma once

#include <ATen/ATen.h>

namespace openmanus::standin {

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;
constexpr c10::DispatchKey kKey = c10::DispatchKey::PrivateUse1;
/// How many devices there are: two, so that one tensor may be on the wrong one.
constexpr c10::DeviceIndex kDevices = 2;

c10::DeviceIndex currentDevice();
void setCurrentDevice(c10::DeviceIndex index);

c10::Allocator* allocator();
/// Where the bytes behind a device pointer really are.
void* hostPointer(const void* device);

inline bool isOurs(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kDevice;
}

/// A tensor of the CPU over the very bytes of one of the device.
at::Tensor seenFromHost(const at::Tensor& tensor);
at::Tensor emptyOnDevice(
    at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type, c10::DeviceIndex index);
/// The values of a tensor of the CPU, in a new one of the device with the same strides.
at::Tensor movedToDevice(const at::Tensor& tensor, c10::DeviceIndex index);
void resizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes);

/// What went between host and device since the beginning.
struct Copies {
  int64_t toDevice = 0;
  int64_t toHost = 0;
  int64_t bytesToDevice = 0;
  int64_t bytesToHost = 0;
};

Copies copiesSoFar();
void countToDevice(int64_t bytes);
void countToHost(int64_t bytes);

/// From now on the device has FlashAttention's operator (operators.cc), where libtorch has none.
void offerFlashAttention();
/// An operator whose results are wrong by a hundredth from now on: what checks a device must find it.
void spoil(const std::string& name);

}  // namespace openmanus::standin
