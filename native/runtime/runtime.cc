#include "runtime.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/version.h>

#include "block_cache.h"
#include "distributed/transport/transport.h"
#include "symbol.h"

namespace openmanus {

namespace {

napi_value setThreads(const Call& call) {
  const int64_t threads = toInteger(call.env, call[0], "threads");
  if (threads < 1 || threads > 4096)
    throw ArgumentError("threads: expected 1 to 4096, got " + std::to_string(threads));
  at::set_num_threads(static_cast<int>(threads));
  // OpenBLAS built on pthreads has a pool of its own that libtorch does not know about.
  if (auto* set = symbol<void(int)>("openblas_set_num_threads")) set(static_cast<int>(threads));
  return undefinedValue(call.env);
}

napi_value threads(const Call& call) { return numberValue(call.env, at::get_num_threads()); }

int cudaDevices() { return at::hasCUDA() ? at::detail::getCUDAHooks().getNumGPUs() : 0; }

// runtimeInfo(): what the doctor shows.
napi_value runtimeInfo(const Call& call) {
  const napi_env env = call.env;
  napi_value result;
  check(env, napi_create_object(env, &result));
  const auto set = [&](const char* name, const std::string& value) {
    setProperty(env, result, name, stringValue(env, value));
  };
  set("version", TORCH_VERSION);
  set("config", at::show_config());
  set("parallel", at::get_parallel_info());
  if (auto* core = symbol<char*()>("openblas_get_corename")) set("openblasKernel", core());
  if (auto* config = symbol<char*()>("openblas_get_config")) set("openblasConfig", config());
  setProperty(env, result, "hasMkl", boolValue(env, at::hasMKL()));
  setProperty(env, result, "hasOneDnn", boolValue(env, at::globalContext().hasMKLDNN()));
  setProperty(env, result, "hasCuda", boolValue(env, at::hasCUDA()));
  setProperty(env, result, "cudaDevices", numberValue(env, cudaDevices()));
  setProperty(env, result, "hasGloo", boolValue(env, hasGloo()));
  setProperty(env, result, "hasNccl", boolValue(env, hasNccl()));
  setProperty(env, result, "cxx11Abi", boolValue(env, _GLIBCXX_USE_CXX11_ABI != 0));
  return result;
}

// returnFreedMemory(): what was freed, to the system.
napi_value returnFreedMemory(const Call& call) {
  releaseFreedMemory();
  return undefinedValue(call.env);
}

}  // namespace

void registerRuntime(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(setThreads);
  OPENMANUS_EXPORT(threads);
  OPENMANUS_EXPORT(runtimeInfo);
  OPENMANUS_EXPORT(returnFreedMemory);
}

}  // namespace openmanus
