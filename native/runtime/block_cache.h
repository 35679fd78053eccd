// Memory of large tensors on the CPU: blocks that one training step frees are kept for the next.
#pragma once

namespace openmanus {

// To be called once, before the first tensor.
void installBlockCache();

// Gives all blocks that nobody uses, and what malloc keeps, back to the system.
void releaseFreedMemory();

}  // namespace openmanus
