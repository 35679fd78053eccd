// Random generators with a seed and a state that can be saved.
#pragma once

#include "door/node.h"

namespace openmanus {

void registerRandom(napi_env env, napi_value exports);

}  // namespace openmanus
