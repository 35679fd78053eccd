// The addon's entry: everything that TypeScript can call, gathered.
#include <c10/util/Logging.h>

#include "autograd.h"
#include "block_cache.h"
#include "door.h"
#include "handles.h"
#include "node.h"
#include "process_group.h"
#include "random.h"
#include "runtime.h"
#include "tensors.h"

NAPI_MODULE_INIT() {
  using namespace openmanus;
  installBlockCache();
  // Collecting the C++ stack takes libtorch milliseconds per error, and nobody would see it.
  c10::SetStackTraceFetcher([] { return std::string(); });
  registerHandles(env, exports);
  registerDoor(env, exports);
  registerTensors(env, exports);
  registerAutograd(env, exports);
  registerRandom(env, exports);
  registerRuntime(env, exports);
  registerProcessGroups(env, exports);
  return exports;
}
