// Collectives on their way, as functions of the addon.
#pragma once

#include <node_api.h>

namespace openmanus {

void registerPending(napi_env env, napi_value exports);

}  // namespace openmanus
