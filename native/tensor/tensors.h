// Facts about a tensor (shape, dtype, device) and its data in and out.
#pragma once

#include "door/node.h"

namespace openmanus {

void registerTensors(napi_env env, napi_value exports);

}  // namespace openmanus
