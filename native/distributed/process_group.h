// Process groups as JavaScript calls them.
#pragma once

#include "door/node.h"

namespace openmanus {

void registerProcessGroups(napi_env env, napi_value exports);

}  // namespace openmanus
