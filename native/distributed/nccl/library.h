// NCCL's own functions, from its shared library: for communicators with processes that are not ours, which c10d's
// process groups cannot join.
//
// The library is loaded when it is first asked for, and its interface written down here, so that this compiles, and
// is tested, where there is no CUDA. Where its header is, library.cc compares the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace openmanus::nccl {

using Communicator = void*;
using Stream = void*;  // cudaStream_t

constexpr size_t kIdBytes = 128;
struct UniqueId {
  char bytes[kIdBytes];
};

// Only what is used: NCCL reads as many bytes as `size` says, and takes its defaults for the rest.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;  // 2.14, the first that had it
  int blocking = 0;
};

using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kInProgress = 7;

using Datatype = int;
constexpr Datatype kFloat16 = 6;
constexpr Datatype kFloat32 = 7;
constexpr Datatype kBfloat16 = 9;

constexpr int kSum = 0;

struct Library {
  Result (*getUniqueId)(UniqueId*);
  // The configuration says that no call blocks: asyncError tells when it has ended, so that a peer that never comes
  // can be given up.
  Result (*initRank)(Communicator*, int world, UniqueId, int rank, Config*);
  Result (*asyncError)(Communicator, Result*);
  Result (*allReduce)(const void*, void*, size_t, Datatype, int operation, Communicator, Stream);
  Result (*broadcast)(const void*, void*, size_t, Datatype, int root, Communicator, Stream);
  Result (*abort)(Communicator);
  const char* (*errorString)(Result);
};

// $OPENMANUS_NCCL, else libnccl.so.2, which libtorch for CUDA has loaded already. Throws where there is none.
const Library& library();

}  // namespace openmanus::nccl
