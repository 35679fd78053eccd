#include "copies.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <set>

#include "door/handles.h"

namespace openmanus {

namespace {

std::atomic<int64_t> toDevice{0}, toHost{0}, bytesToDevice{0}, bytesToHost{0};

// deviceCopies(): [to devices, to the host, bytes to devices, bytes to the host], since the beginning.
napi_value deviceCopies(const Call& call) {
  const int64_t numbers[] = {toDevice, toHost, bytesToDevice, bytesToHost};
  const napi_value result = newArray(call.env, 4);
  for (size_t i = 0; i < 4; ++i)
    setElement(call.env, result, i, integerValue(call.env, numbers[i]));
  return result;
}

// hasKernel(name, overload, device): whether libtorch has this operator, with a kernel of its own for the
// device.
napi_value hasKernel(const Call& call) {
  const std::string name = toString(call.env, call[0], "operator name");
  const std::string overload = toString(call.env, call[1], "overload name");
  const c10::Device device(toString(call.env, call[2], "device"));
  const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  const c10::DispatchKey key = c10::computeDispatchKey(at::kFloat, at::kStrided, device);
  return boolValue(call.env, found && found->hasKernelForDispatchKey(key));
}

// useDevice(device): the one of its kind that is meant where none is named.
napi_value useDevice(const Call& call) {
  const c10::Device device(toString(call.env, call[0], "device"));
  if (!device.is_cpu() && device.has_index())
    c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  return undefinedValue(call.env);
}

// releaseStorage(tensor): gives a tensor's memory back; its shape stays. restoreStorage(tensor) gets it memory
// again, with anything in it.
napi_value releaseStorage(const Call& call) {
  const at::Tensor& tensor = tensorOf(call.env, call[0], "releaseStorage");
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  if (storage->allocator() == nullptr)
    throw ArgumentError("releaseStorage: this tensor's memory belongs to somebody else");
  storage->set_data_ptr_noswap(c10::DataPtr(nullptr, tensor.device()));
  storage->set_nbytes(0);
  return undefinedValue(call.env);
}

napi_value restoreStorage(const Call& call) {
  const at::Tensor& tensor = tensorOf(call.env, call[0], "restoreStorage");
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  if (storage->nbytes() > 0) return undefinedValue(call.env);
  // An empty tensor like it comes from the device's own allocator, on the right device.
  at::Tensor fresh =
      at::empty({tensor.storage_offset() + tensor.numel()}, tensor.options().requires_grad(false));
  const size_t bytes = fresh.nbytes();
  storage->set_data_ptr_noswap(fresh.storage().set_data_ptr(c10::DataPtr(nullptr, fresh.device())));
  storage->set_nbytes(bytes);
  return undefinedValue(call.env);
}

}  // namespace

void countToDevice(size_t bytes) {
  ++toDevice;
  bytesToDevice += static_cast<int64_t>(bytes);
}

void countToHost(size_t bytes) {
  ++toHost;
  bytesToHost += static_cast<int64_t>(bytes);
}

void countCopy(const at::Tensor& from, const at::Tensor& to) {
  if (from.device() == to.device()) return;
  if (to.device().is_cpu())
    countToHost(from.nbytes());
  else
    countToDevice(to.nbytes());
}

CopyKind copyKindOf(const std::string& name) {
  static const std::set<std::string> results = {"aten::to", "aten::_to_copy"};
  static const std::set<std::string> reads = {"aten::item",       "aten::_local_scalar_dense",
                                              "aten::is_nonzero", "aten::equal",
                                              "aten::nonzero",    "aten::masked_select"};
  if (name == "aten::copy_") return CopyKind::kInto;
  if (results.count(name)) return CopyKind::kResult;
  return reads.count(name) ? CopyKind::kReads : CopyKind::kNone;
}

void registerDevices(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(deviceCopies);
  OPENMANUS_EXPORT(hasKernel);
  OPENMANUS_EXPORT(useDevice);
  OPENMANUS_EXPORT(releaseStorage);
  OPENMANUS_EXPORT(restoreStorage);
}

}  // namespace openmanus
