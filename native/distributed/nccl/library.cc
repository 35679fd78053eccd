#include "library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

// OPENMANUS_CUDA: only there can the header be found.
#if defined(OPENMANUS_CUDA) && __has_include(<nccl.h>) && __has_include(<crt/host_config.h>)
#include <nccl.h>

namespace openmanus::nccl {

static_assert(sizeof(ncclUniqueId) == kIdBytes, "NCCL's id has another size");
static_assert(
    offsetof(ncclConfig_t, size) == offsetof(Config, size) &&
        offsetof(ncclConfig_t, magic) == offsetof(Config, magic) &&
        offsetof(ncclConfig_t, version) == offsetof(Config, version) &&
        offsetof(ncclConfig_t, blocking) == offsetof(Config, blocking),
    "NCCL's configuration begins otherwise");
static_assert(
    ncclSuccess == kSuccess && ncclInProgress == kInProgress && ncclFloat16 == kFloat16 &&
        ncclFloat32 == kFloat32 && ncclBfloat16 == kBfloat16 && ncclSum == kSum,
    "NCCL has other numbers");

}  // namespace openmanus::nccl
#endif

namespace openmanus::nccl {

namespace {

template <class Pointer>
void find(void* handle, const std::string& name, const char* symbol, Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(dlsym(handle, symbol));
  if (!pointer)
    throw std::runtime_error(name + " has no " + symbol + "; expected NCCL 2.14 or newer");
}

Library load() {
  const char* said = std::getenv("OPENMANUS_NCCL");
  const std::string name = said && *said ? said : "libnccl.so.2";
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw std::runtime_error(
        "NCCL is not available (" + std::string(dlerror()) +
        "). Use a CUDA build of libtorch, or say where its libnccl.so.2 is: OPENMANUS_NCCL");
  Library found;
  find(handle, name, "ncclGetUniqueId", found.getUniqueId);
  find(handle, name, "ncclCommInitRankConfig", found.initRank);
  find(handle, name, "ncclCommGetAsyncError", found.asyncError);
  find(handle, name, "ncclAllReduce", found.allReduce);
  find(handle, name, "ncclBroadcast", found.broadcast);
  find(handle, name, "ncclCommAbort", found.abort);
  find(handle, name, "ncclGetErrorString", found.errorString);
  return found;
}

}  // namespace

const Library& library() {
  static const Library found = load();  // tried again where it threw
  return found;
}

}  // namespace openmanus::nccl
