// What this process computes with: libtorch's version and build, BLAS, threads, devices.
#pragma once

#include "door/node.h"

namespace openmanus {

void registerRuntime(napi_env env, napi_value exports);

}  // namespace openmanus
