// The addon's entry: everything that TypeScript can call, gathered.
#include <c10/util/Logging.h>

#include "autograd/autograd.h"
#include "devices/copies.h"
#include "distributed/nccl/door.h"
#include "distributed/process_group.h"
#include "door/door.h"
#include "door/handles.h"
#include "door/node.h"
#include "runtime/block_cache.h"
#include "runtime/runtime.h"
#include "tensor/random.h"
#include "tensor/tensors.h"

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
  registerDevices(env, exports);
  registerProcessGroups(env, exports);
  registerNccl(env, exports);
  return exports;
}
