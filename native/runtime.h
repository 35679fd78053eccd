// What this process computes with: libtorch's version and build, BLAS, threads, devices.
#pragma once

#include "node.h"

namespace openmanus {

/// To be called once, before the first large allocation.
void keepFreedMemory();

void registerRuntime(napi_env env, napi_value exports);

}  // namespace openmanus
