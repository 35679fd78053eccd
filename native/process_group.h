// Process groups as JavaScript calls them; what they do is in distributed/.
#pragma once

#include "node.h"

namespace openmanus {

void registerProcessGroups(napi_env env, napi_value exports);

}  // namespace openmanus
