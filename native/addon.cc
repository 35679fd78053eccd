// The addon's entry: everything that TypeScript can call, gathered.
#include <c10/util/Logging.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cstdlib>

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
/// the next allocation. Activations and gradients come and go at every step: clearing their pages took
/// longer than the cheap operators on them, and a sixth of a training step of a 0.5B model. So what was
/// freed is kept for the next step. Whoever has set one of glibc's own variables knows better.
void keep_freed_memory() {
#if defined(__GLIBC__)
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_"})
    if (getenv(name)) return;
  mallopt(M_MMAP_MAX, 0); // no block has a mapping of its own
  mallopt(M_TRIM_THRESHOLD, -1); // the heap does not shrink
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
