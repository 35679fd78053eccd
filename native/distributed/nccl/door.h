// What TypeScript calls of NCCL's communicators with others (src/torch/nccl.ts).
#pragma once

#include "door/node.h"

namespace openmanus {

void registerNccl(napi_env env, napi_value exports);

}  // namespace openmanus
