// The generic door: any operator of libtorch's dispatcher, by name, with arguments by its schema.
#pragma once

#include "node.h"

namespace openmanus {

void registerDoor(napi_env env, napi_value exports);

}  // namespace openmanus
