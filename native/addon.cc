// The addon's entry: everything that TypeScript can call, gathered.
#include <c10/util/Logging.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "autograd.h"
#include "door.h"
#include "handles.h"
#include "node.h"
#include "process_group.h"
#include "random.h"
#include "runtime.h"
#include "tensors.h"

namespace {

/// glibc gives large blocks back to the system at every free, and gets them again, page by page, at
/// the next allocation: activations come and go all the time, and zeroing their pages took longer
/// than the cheap operators on them. Who set glibc's own variables knows better.
void keep_freed_memory() {
#if defined(__GLIBC__)
  if (getenv("MALLOC_TRIM_THRESHOLD_") || getenv("MALLOC_MMAP_THRESHOLD_")) return;
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // the highest that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

} // namespace

NAPI_MODULE_INIT() {
  using namespace openmanus;
  keep_freed_memory();
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
