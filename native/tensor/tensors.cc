// Facts about a tensor (shape, dtype, device, gradient) and its data in and out.
#include "tensors.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

#include "devices/copies.h"
#include "door/dtypes.h"
#include "door/handles.h"

namespace openmanus {

namespace {

napi_value integers(napi_env env, at::IntArrayRef values) {
  const napi_value result = newArray(env, values.size());
  for (size_t i = 0; i < values.size(); ++i)
    setElement(env, result, i, integerValue(env, values[i]));
  return result;
}

napi_value shape(const Call& call) {
  return integers(call.env, tensorOf(call.env, call[0], "shape").sizes());
}

napi_value strides(const Call& call) {
  return integers(call.env, tensorOf(call.env, call[0], "strides").strides());
}

napi_value dtype(const Call& call) {
  return stringValue(call.env, dtypeName(tensorOf(call.env, call[0], "dtype").scalar_type()));
}

napi_value device(const Call& call) {
  return stringValue(call.env, tensorOf(call.env, call[0], "device").device().str());
}

napi_value elementCount(const Call& call) {
  return integerValue(call.env, tensorOf(call.env, call[0], "numel").numel());
}

napi_value isContiguous(const Call& call) {
  return boolValue(call.env, tensorOf(call.env, call[0], "isContiguous").is_contiguous());
}

// Whether two tensors look at the same memory.
napi_value sharesStorage(const Call& call) {
  const at::Tensor& a = tensorOf(call.env, call[0], "sharesStorage");
  const at::Tensor& b = tensorOf(call.env, call[1], "sharesStorage");
  return boolValue(
      call.env, a.has_storage() && b.has_storage() &&
                    a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl());
}

int64_t bytesNeeded(const std::vector<int64_t>& shape, int64_t elementSize) {
  int64_t result = elementSize;
  for (const int64_t size : shape) {
    if (size < 0) throw ArgumentError("a shape has no negative sizes");
    if (__builtin_mul_overflow(result, size, &result))
      throw ArgumentError("the shape is too large");
  }
  return result;
}

struct Bytes {
  void* data;
  size_t length;
};

Bytes bytesOf(napi_env env, napi_value value) {
  Bytes bytes{nullptr, 0};
  bool is = false;
  check(env, napi_is_arraybuffer(env, value, &is));
  if (is) {
    check(env, napi_get_arraybuffer_info(env, value, &bytes.data, &bytes.length));
    return bytes;
  }
  throw ArgumentError("data: expected an ArrayBuffer, got " + describe(env, value));
}

// A JavaScript reference that may be dropped from any thread: libtorch frees a storage wherever its
// last user is, but Node-API references belong to the JavaScript thread that made them. Dropped
// references wait in that thread's list until its next call to `fromBuffer` empties it.
struct DroppedReferences {
  std::mutex mutex;
  std::vector<napi_ref> references;
};

const std::shared_ptr<DroppedReferences>& droppedReferences() {
  thread_local auto* instance =
      new std::shared_ptr<DroppedReferences>(std::make_shared<DroppedReferences>());
  return *instance;
}

void deleteDropped(napi_env env) {
  std::vector<napi_ref> references;
  {
    DroppedReferences& dropped = *droppedReferences();
    std::lock_guard<std::mutex> lock(dropped.mutex);
    references.swap(dropped.references);
  }
  for (const napi_ref reference : references) napi_delete_reference(env, reference);
}

// What goes to a GPU, or comes from one, lies in memory that the system may not move: the GPU fetches it by
// itself, and what it fetches need not be waited for.
at::TensorOptions stagingFor(const c10::Device& device, at::ScalarType type) {
  return at::TensorOptions().dtype(type).pinned_memory(device.is_cuda());
}

// fromBuffer(arrayBuffer, byteOffset, shape, dtype, share, device, as): a tensor with a copy of the values, on
// a device and in another dtype if told so; or, with `share`, one that looks at the ArrayBuffer's own memory
// and keeps it alive.
napi_value fromBuffer(const Call& call) {
  const napi_env env = call.env;
  deleteDropped(env);
  const Bytes bytes = bytesOf(env, call[0]);
  const int64_t offset = toInteger(env, call[1], "byteOffset");
  const std::vector<int64_t> sizes = toIntegers(env, call[2], "shape");
  const at::ScalarType type = dtypeNamed(toString(env, call[3], "dtype"));
  const bool share = toBool(env, call[4], "share");
  const int64_t elementSize = static_cast<int64_t>(c10::elementSize(type));
  const int64_t needed = bytesNeeded(sizes, elementSize);
  if (offset < 0 || offset > static_cast<int64_t>(bytes.length) ||
      needed > static_cast<int64_t>(bytes.length) - offset)
    throw ArgumentError(
        "data: the shape needs " + std::to_string(needed) + " bytes at offset " +
        std::to_string(offset) + ", the buffer has " + std::to_string(bytes.length));
  char* start = static_cast<char*>(bytes.data) + offset;
  if (!share && isNullish(env, call[5])) {
    at::Tensor copy = at::empty(sizes, at::TensorOptions().dtype(type));
    if (needed > 0) memcpy(copy.data_ptr(), start, static_cast<size_t>(needed));
    return handleValue(env, std::move(copy));
  }
  if (!share) {
    const c10::Device device(toString(env, call[5], "device"));
    const at::ScalarType wanted = dtypeNamed(toString(env, call[6], "dtype"));
    at::Tensor copy = at::empty(sizes, stagingFor(device, wanted));
    if (needed > 0) copy.copy_(at::from_blob(start, sizes, at::TensorOptions().dtype(type)));
    countToDevice(copy.nbytes());
    return handleValue(env, copy.to(device, /*non_blocking=*/device.is_cuda()));
  }
  if (reinterpret_cast<uintptr_t>(start) % static_cast<uintptr_t>(elementSize) != 0)
    throw ArgumentError("data: the offset is not aligned to the element size");
  napi_ref reference;
  check(env, napi_create_reference(env, call[0], 1, &reference));
  return handleValue(
      env, at::from_blob(
               start, sizes,
               [reference, dropped = droppedReferences()](void*) {
                 std::lock_guard<std::mutex> lock(dropped->mutex);
                 dropped->references.push_back(reference);
               },
               at::TensorOptions().dtype(type)));
}

// mapFile(path, mode): the file's bytes as a uint8 tensor, without reading them. "private": writes
// stay in this process; "shared": writes go to the file.
napi_value mapFile(const Call& call) {
  const std::string path = toString(call.env, call[0], "path");
  const std::string mode = toString(call.env, call[1], "mode");
  if (mode != "private" && mode != "shared")
    throw ArgumentError("mode: expected \"private\" or \"shared\", got \"" + mode + "\"");
  const bool shared = mode == "shared";
  const auto fail = [&](const char* what) {
    throw ArgumentError(std::string(what) + " " + path + ": " + strerror(errno));
  };
  const int file = open(path.c_str(), (shared ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (file < 0) fail("cannot open");
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    throw ArgumentError("cannot map " + path + ": not a regular file");
  }
  const size_t length = static_cast<size_t>(status.st_size);
  if (length == 0) {
    close(file);
    return handleValue(call.env, at::empty({0}, at::TensorOptions().dtype(at::kByte)));
  }
  // Private maps are writable (copy on write), so that an in-place operator cannot fault.
  void* data =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, file, 0);
  const int problem = errno;
  close(file);
  errno = problem;
  if (data == MAP_FAILED) fail("cannot map");
  return handleValue(
      call.env,
      at::from_blob(
          data, {static_cast<int64_t>(length)}, [length](void* start) { munmap(start, length); },
          at::TensorOptions().dtype(at::kByte)));
}

// The typed array type that holds a dtype's values, and the dtype its bytes have. Half-precision
// values have no typed array and are read as float32.
std::pair<napi_typedarray_type, at::ScalarType> arrayTypeFor(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return {napi_float64_array, at::kDouble};
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
      return {napi_float32_array, at::kFloat};
    case at::kLong:
      return {napi_bigint64_array, at::kLong};
    case at::kInt:
      return {napi_int32_array, at::kInt};
    case at::kShort:
      return {napi_int16_array, at::kShort};
    case at::kChar:
      return {napi_int8_array, at::kChar};
    case at::kByte:
    case at::kBool:
      return {napi_uint8_array, at::kByte};
    default:
      throw ArgumentError(
          "values of dtype " + dtypeName(type) + " cannot be read as a typed array");
  }
}

napi_value typedArray(napi_env env, napi_typedarray_type type, int64_t length, napi_value buffer) {
  napi_value result;
  check(env, napi_create_typedarray(env, type, static_cast<size_t>(length), buffer, 0, &result));
  return result;
}

at::Tensor plain(const at::Tensor& tensor, at::ScalarType type) {
  c10::NoGradGuard guard;
  if (tensor.device().is_cpu()) return tensor.detach().to(at::kCPU, type).contiguous();
  // In its own dtype: what is converted on the host need not be copied twice as large.
  const at::Tensor values = tensor.detach().contiguous();
  at::Tensor host = at::empty(values.sizes(), stagingFor(values.device(), values.scalar_type()));
  host.copy_(values);
  countToHost(host.nbytes());
  return host.to(type);
}

// readValues(tensor): a copy of the values as the typed array of the dtype.
napi_value readValues(const Call& call) {
  const napi_env env = call.env;
  const at::Tensor& tensor = tensorOf(env, call[0], "data");
  const auto [arrayType, type] = arrayTypeFor(tensor.scalar_type());
  const at::Tensor values = plain(tensor, type);
  void* data = nullptr;
  napi_value buffer;
  check(env, napi_create_arraybuffer(env, values.nbytes(), &data, &buffer));
  if (values.nbytes() > 0) memcpy(data, values.data_ptr(), values.nbytes());
  return typedArray(env, arrayType, values.numel(), buffer);
}

// shareValues(tensor): the tensor's own memory as a typed array that keeps it alive.
napi_value shareValues(const Call& call) {
  const napi_env env = call.env;
  const at::Tensor& tensor = tensorOf(env, call[0], "data");
  const auto [arrayType, type] = arrayTypeFor(tensor.scalar_type());
  if (!tensor.device().is_cpu() || !tensor.is_contiguous())
    throw ArgumentError(
        "only a contiguous tensor on the CPU shares its memory, got " + describeTensor(tensor));
  if (c10::elementSize(type) != c10::elementSize(tensor.scalar_type()))
    throw ArgumentError(
        "values of dtype " + dtypeName(tensor.scalar_type()) +
        " have no typed array of their own; read a copy");
  if (tensor.numel() == 0) return readValues(call);
  auto* owner = new at::Tensor(tensor);
  napi_value buffer;
  const napi_status status = napi_create_external_arraybuffer(
      env, tensor.data_ptr(), tensor.nbytes(),
      [](napi_env, void*, void* hint) { delete static_cast<at::Tensor*>(hint); }, owner, &buffer);
  if (status != napi_ok) {
    delete owner;
    throw PendingException{};
  }
  return typedArray(env, arrayType, tensor.numel(), buffer);
}

// readNumbers(tensor): the values as a Float64Array; an int64 that a number cannot hold is an error.
napi_value readNumbers(const Call& call) {
  const napi_env env = call.env;
  const at::Tensor& tensor = tensorOf(env, call[0], "values");
  if (tensor.is_complex()) throw ArgumentError("complex values cannot be read as numbers");
  const at::Tensor read = plain(tensor, tensor.scalar_type());
  if (tensor.scalar_type() == at::kLong && tensor.numel() > 0) {
    const int64_t* data = read.data_ptr<int64_t>();
    for (int64_t i = 0; i < read.numel(); ++i)
      if (data[i] > 9007199254740991 || data[i] < -9007199254740991)
        throw ArgumentError(
            "element " + std::to_string(i) + " is " + std::to_string(data[i]) +
            ", which a JavaScript number cannot hold exactly; read it with "
            "toTypedArray() as a BigInt64Array");
  }
  const at::Tensor values = read.to(at::kDouble);
  void* data = nullptr;
  napi_value buffer;
  check(env, napi_create_arraybuffer(env, values.nbytes(), &data, &buffer));
  if (values.nbytes() > 0) memcpy(data, values.data_ptr(), values.nbytes());
  return typedArray(env, napi_float64_array, values.numel(), buffer);
}

}  // namespace

void registerTensors(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(shape);
  OPENMANUS_EXPORT(strides);
  OPENMANUS_EXPORT(dtype);
  OPENMANUS_EXPORT(device);
  OPENMANUS_EXPORT(elementCount);
  OPENMANUS_EXPORT(isContiguous);
  OPENMANUS_EXPORT(sharesStorage);
  OPENMANUS_EXPORT(fromBuffer);
  OPENMANUS_EXPORT(mapFile);
  OPENMANUS_EXPORT(readValues);
  OPENMANUS_EXPORT(shareValues);
  OPENMANUS_EXPORT(readNumbers);
}

}  // namespace openmanus
