/// @file The stand-in device: its memory, and what a device must do by itself: make tensors, copy them, look
/// at the same bytes in another shape, give one number. All else is operators.cc's. Having this module loaded
/// by Node is all that registers the device; its function says what was copied between host and device.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <node_api.h>
#include <torch/library.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <ATen/detail/PrivateUse1HooksInterface.h>
#endif

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "memory.h"

namespace openmanus::standin {

namespace {

// Bit 52: no user address has it with 48 or 57 bits, and it is not in the byte that arm64 ignores.
constexpr uintptr_t kOffset = uintptr_t(1) << 52;

thread_local c10::DeviceIndex current = 0;

std::atomic<int64_t> toDevice{0}, toHost{0}, bytesToDevice{0}, bytesToHost{0};

void freeBytes(void* host) { std::free(host); }

struct DeviceAllocator final : c10::Allocator {
#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(size_t bytes) override { return make(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    memcpy(hostPointer(to), hostPointer(from), bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override { return make(bytes); }
#endif

  static c10::DataPtr make(size_t bytes) {
    const c10::Device device(kDevice, current);
    if (bytes == 0) return c10::DataPtr(nullptr, nullptr, &freeBytes, device);
    void* host = nullptr;
    TORCH_CHECK(posix_memalign(&host, 64, bytes) == 0, "the stand-in device is out of memory");
    // What nobody has written is not zero: whoever relies on it must be seen.
    memset(host, 0x7f, bytes);
    void* device_pointer = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(host) + kOffset);
    return c10::DataPtr(device_pointer, host, &freeBytes, device);
  }
};

}  // namespace

c10::DeviceIndex currentDevice() { return current; }
void setCurrentDevice(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < kDevices, "there is no stand-in device ", int(index));
  current = index;
}

c10::Allocator* allocator() {
  static auto* instance = new DeviceAllocator();
  return instance;
}

void* hostPointer(const void* device) {
  if (device == nullptr) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(device);
  TORCH_INTERNAL_ASSERT(address & kOffset, "not a pointer of the stand-in device");
  return reinterpret_cast<void*>(address - kOffset);
}

at::Tensor seenFromHost(const at::Tensor& tensor) {
  const auto options = at::TensorOptions().dtype(tensor.dtype());
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  return at::from_blob(hostPointer(tensor.data_ptr()), tensor.sizes(), tensor.strides(), options);
}

at::Tensor emptyOnDevice(
    at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type, c10::DeviceIndex index) {
  const c10::DeviceIndex before = current;
  setCurrentDevice(index < 0 ? before : index);
  at::Tensor result = at::detail::empty_strided_generic(
      sizes, strides, allocator(), c10::DispatchKeySet(kKey), type);
  setCurrentDevice(before);
  return result;
}

at::Tensor movedToDevice(const at::Tensor& tensor, c10::DeviceIndex index) {
  at::Tensor result = emptyOnDevice(tensor.sizes(), tensor.strides(), tensor.scalar_type(), index);
  if (tensor.numel() > 0) seenFromHost(result).copy_(tensor);
  return result;
}

void resizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes) {
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(sizes);
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  const size_t needed =
      size_t(tensor.numel() + tensor.storage_offset()) * tensor.dtype().itemsize();
  if (tensor.numel() == 0 || needed <= storage->nbytes()) return;
  const c10::DeviceIndex before = current;
  setCurrentDevice(tensor.device().index());
  c10::DataPtr bytes = allocator()->allocate(needed);
  setCurrentDevice(before);
  if (storage->nbytes() > 0)
    memcpy(hostPointer(bytes.get()), hostPointer(storage->data_ptr().get()), storage->nbytes());
  storage->set_data_ptr_noswap(std::move(bytes));
  storage->set_nbytes(needed);
}

Copies copiesSoFar() { return {toDevice, toHost, bytesToDevice, bytesToHost}; }

void countToDevice(int64_t bytes) {
  ++toDevice;
  bytesToDevice += bytes;
}

void countToHost(int64_t bytes) {
  ++toHost;
  bytesToHost += bytes;
}

namespace {

using at::IntArrayRef;
using at::Tensor;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return c10::Device(kDevice, currentDevice()); }
  void setDevice(c10::Device device) const override {
    if (device.index() >= 0) setCurrentDevice(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) setCurrentDevice(device.index());
  }
  c10::Stream getStream(c10::Device device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, stream.device());
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  // There is one stream, and work is done when a call returns: events have nothing to wait for.
  void record(
      void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

#if TORCH_VERSION_MAJOR >= 2
// Newer engines ask what kind of device there is before they go back through its graph.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return currentDevice(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { standin::setCurrentDevice(index); }
};

void registerHooks() {
  // Under its own name: only that a name was given counts.
  c10::register_privateuse1_backend("privateuseone");
  at::RegisterPrivateUse1HooksInterface(new Hooks());
}
#else
void registerHooks() {}
#endif

c10::DeviceIndex indexOf(c10::optional<at::Device> device) {
  return device && device->index() >= 0 ? device->index() : currentDevice();
}

Tensor emptyMemoryFormat(
    IntArrayRef size, c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
    c10::optional<at::Device> device, c10::optional<bool> pinned, c10::optional<at::MemoryFormat>) {
  TORCH_CHECK(!pinned.value_or(false), "only the host's memory can be pinned");
  // Contiguous is the only format that anything here asks for.
  std::vector<int64_t> strides(size.size(), 1);
  for (int64_t i = int64_t(size.size()) - 2; i >= 0; --i)
    strides[size_t(i)] = strides[size_t(i) + 1] * std::max<int64_t>(size[size_t(i) + 1], 1);
  return emptyOnDevice(
      size, strides, type.value_or(at::typeMetaToScalarType(at::get_default_dtype())),
      indexOf(device));
}

Tensor emptyStrided(
    IntArrayRef size, IntArrayRef stride, c10::optional<at::ScalarType> type,
    c10::optional<at::Layout>, c10::optional<at::Device> device, c10::optional<bool>) {
  return emptyOnDevice(
      size, stride, type.value_or(at::typeMetaToScalarType(at::get_default_dtype())),
      indexOf(device));
}

const Tensor& resize(const Tensor& self, IntArrayRef size, c10::optional<at::MemoryFormat>) {
  if (self.sizes() != size) resizeOnDevice(self, size);
  return self;
}

Tensor copyFrom(const Tensor& self, const Tensor& to, bool) {
  const bool from_device = isOurs(self), to_device = isOurs(to);
  if (from_device && !to_device) countToHost(int64_t(self.nbytes()));
  if (!from_device && to_device) countToDevice(int64_t(to.nbytes()));
  if (to.numel() == 0) return to;
  const Tensor source = from_device ? seenFromHost(self) : self;
  const Tensor target = to_device ? seenFromHost(to) : to;
  target.copy_(source);
  return to;
}

Tensor copyFromAndResize(const Tensor& self, const Tensor& to) {
  if (to.sizes() != self.sizes()) resizeOnDevice(to, self.sizes());
  return copyFrom(self, to, false);
}

at::Scalar localScalarDense(const Tensor& self) {
  countToHost(int64_t(self.nbytes()));
  return seenFromHost(self).item();
}

Tensor view(const Tensor& self, IntArrayRef size) { return at::native::view(self, size); }
Tensor asStrided(
    const Tensor& self, IntArrayRef size, IntArrayRef stride, c10::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}
Tensor reshapeAlias(const Tensor& self, IntArrayRef size, IntArrayRef stride) {
  return at::native::_reshape_alias(self, size, stride);
}
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  return at::native::unfold(self, dimension, size, step);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", TORCH_FN(emptyMemoryFormat));
  library.impl("empty_strided", TORCH_FN(emptyStrided));
  library.impl("resize_", TORCH_FN(resize));
  library.impl("_copy_from", TORCH_FN(copyFrom));
  library.impl("_copy_from_and_resize", TORCH_FN(copyFromAndResize));
  library.impl("_local_scalar_dense", TORCH_FN(localScalarDense));
  library.impl("view", TORCH_FN(view));
  library.impl("as_strided", TORCH_FN(asStrided));
  library.impl("_reshape_alias", TORCH_FN(reshapeAlias));
  library.impl("unfold", TORCH_FN(unfold));
}

}  // namespace openmanus::standin

using namespace openmanus::standin;

namespace {

// copies(): [to the device, to the host, bytes to the device, bytes to the host]
napi_value copies(napi_env env, napi_callback_info) {
  const Copies so_far = copiesSoFar();
  const int64_t numbers[] = {
      so_far.toDevice, so_far.toHost, so_far.bytesToDevice, so_far.bytesToHost};
  napi_value result, number;
  if (napi_create_array_with_length(env, 4, &result) != napi_ok) return nullptr;
  for (uint32_t i = 0; i < 4; ++i)
    if (napi_create_int64(env, numbers[i], &number) != napi_ok ||
        napi_set_element(env, result, i, number) != napi_ok)
      return nullptr;
  return result;
}

napi_value offerFlash(napi_env, napi_callback_info) {
  offerFlashAttention();
  return nullptr;
}

// spoil(operator): one whose results are wrong from now on; "": none.
napi_value spoilOperator(napi_env env, napi_callback_info info) {
  napi_value name;
  size_t count = 1, length = 0;
  char text[100];
  if (napi_get_cb_info(env, info, &count, &name, nullptr, nullptr) == napi_ok &&
      napi_get_value_string_utf8(env, name, text, sizeof text, &length) == napi_ok)
    spoil(std::string(text, length));
  return nullptr;
}

bool exportFunction(napi_env env, napi_value exports, const char* name, napi_callback body) {
  napi_value function;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, body, nullptr, &function) == napi_ok &&
         napi_set_named_property(env, exports, name, function) == napi_ok;
}

}  // namespace

NAPI_MODULE_INIT() {
  c10::SetAllocator(kDevice, allocator());
  openmanus::standin::registerHooks();
  const bool done = exportFunction(env, exports, "copies", copies) &&
                    exportFunction(env, exports, "offerFlashAttention", offerFlash) &&
                    exportFunction(env, exports, "spoil", spoilOperator);
  return done ? exports : nullptr;
}
