// A stand-in for NCCL's shared library, for machines without GPUs: the functions that our addon and vLLM's pynccl
// call, over sockets of this machine, for memory of the host and of the stand-in device. It refuses what NCCL would
// hang on or get wrong: an operation, count or type that is not the same on all ranks. Broadcasts come from rank 0.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

struct Id {
  char bytes[128];
};

enum : int { kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5, kInProgress = 7 };

struct Communicator {
  int rank = 0;
  std::vector<int> peers;  // of rank 0: all others; of others: rank 0
  bool blocking = true;
  std::atomic<int> state{kSuccess};
  std::thread thread;
};

// The root of an id is in the process that made it, as with NCCL.
struct Address {
  int listener;
  uint16_t port;
  pid_t process;
};

bool all(int file, void* bytes, size_t count, bool writes) {
  char* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t done = writes ? send(file, at, count, MSG_NOSIGNAL) : recv(file, at, count, 0);
    if (done <= 0) return false;
    at += done;
    count -= static_cast<size_t>(done);
  }
  return true;
}

// Memory of the stand-in device has bit 52 (native/standin/device.cc).
char* host(const void* pointer) {
  constexpr uintptr_t kOffset = uintptr_t(1) << 52;
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(pointer) & ~kOffset);
}

size_t sizeOf(int type) { return type == 6 || type == 9 ? 2 : type == 7 ? 4 : type <= 1 ? 1 : 0; }

int meet(Communicator* made, int world, const Id& id) {
  Address address;
  memcpy(&address, id.bytes, sizeof address);
  if (made->rank != 0) {
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(address.port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(file, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) return kSystemError;
    made->peers.push_back(file);
    int both[2] = {made->rank, world};
    return all(file, both, sizeof both, true) ? kSuccess : kSystemError;
  }
  if (address.process != getpid()) return kInvalidUsage;
  while (static_cast<int>(made->peers.size()) < world - 1) {
    const int file = accept(address.listener, nullptr, nullptr);
    int both[2];
    if (file < 0 || !all(file, both, sizeof both, false)) return kSystemError;
    if (both[1] != world || both[0] < 1 || both[0] >= world) return kInvalidUsage;
    made->peers.push_back(file);
  }
  close(address.listener);
  return kSuccess;
}

// What each says before an operation; rank 0 hears it and says whether it goes on.
int agree(Communicator* one, int operation, size_t count, int type) {
  int64_t mine[3] = {operation, static_cast<int64_t>(count), type};
  int64_t answer = kSuccess;
  if (one->rank != 0) {
    if (!all(one->peers[0], mine, sizeof mine, true)) return kSystemError;
    if (!all(one->peers[0], &answer, sizeof answer, false)) return kSystemError;
    return static_cast<int>(answer);
  }
  for (const int peer : one->peers) {
    int64_t theirs[3];
    if (!all(peer, theirs, sizeof theirs, false)) return kSystemError;
    if (memcmp(mine, theirs, sizeof mine) != 0) answer = kInvalidUsage;
  }
  for (const int peer : one->peers)
    if (!all(peer, &answer, sizeof answer, true)) return kSystemError;
  return static_cast<int>(answer);
}

int run(Communicator* one, std::function<int()> work) {
  if (one->blocking) return work();
  if (one->state == kInProgress) return kInvalidUsage;
  if (one->thread.joinable()) one->thread.join();
  one->state = kInProgress;
  one->thread = std::thread([one, work] { one->state = work(); });
  return kInProgress;
}

int begin(void** result, int world, const Id& id, int rank, bool blocking) {
  auto* made = new Communicator();
  made->rank = rank;
  made->blocking = blocking;
  *result = made;
  return run(made, [made, world, id] { return meet(made, world, id); });
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(int result) {
  return result == kSuccess          ? "no error"
         : result == kSystemError    ? "the connection broke"
         : result == kInvalidUsage   ? "the ranks do not do the same"
         : result == kInvalidArgument ? "not in the stand-in"
                                      : "unknown";
}

int ncclGetVersion(int* version) {
  *version = 23007;
  return kSuccess;
}

int ncclGetUniqueId(Id* id) {
  memset(id->bytes, 0x80, sizeof id->bytes);  // bytes above 127, which texts would spoil
  Address address{socket(AF_INET, SOCK_STREAM, 0), 0, getpid()};
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  if (bind(address.listener, reinterpret_cast<sockaddr*>(&where), size) != 0 ||
      listen(address.listener, 16) != 0 ||
      getsockname(address.listener, reinterpret_cast<sockaddr*>(&where), &size) != 0)
    return kSystemError;
  address.port = ntohs(where.sin_port);
  memcpy(id->bytes, &address, sizeof address);
  return kSuccess;
}

int ncclCommInitRank(void** result, int world, Id id, int rank) {
  return begin(result, world, id, rank, true);
}

int ncclCommInitRankConfig(void** result, int world, Id id, int rank, const void* config) {
  int blocking;
  memcpy(&blocking, static_cast<const char*>(config) + 16, sizeof blocking);
  return begin(result, world, id, rank, blocking != 0);
}

int ncclCommGetAsyncError(void* communicator, int* state) {
  *state = static_cast<Communicator*>(communicator)->state;
  return kSuccess;
}

int ncclAllReduce(
    const void* from, void* to, size_t count, int type, int operation, void* communicator, void*) {
  if (type != 7 || operation != 0) return kInvalidArgument;
  auto* one = static_cast<Communicator*>(communicator);
  return run(one, [=] {
    if (const int refused = agree(one, 1, count, type)) return refused;
    const size_t bytes = 4 * count;
    std::vector<float> sum(count), other(count);
    memcpy(sum.data(), host(from), bytes);
    for (const int peer : one->peers) {
      if (one->rank != 0 && !all(peer, sum.data(), bytes, true)) return int(kSystemError);
      if (!all(peer, other.data(), bytes, false)) return int(kSystemError);
      if (one->rank != 0) sum = other;
      else
        for (size_t i = 0; i < count; ++i) sum[i] += other[i];
    }
    if (one->rank == 0)
      for (const int peer : one->peers)
        if (!all(peer, sum.data(), bytes, true)) return int(kSystemError);
    memcpy(host(to), sum.data(), bytes);
    return int(kSuccess);
  });
}

int ncclBroadcast(
    const void* from, void* to, size_t count, int type, int root, void* communicator, void*) {
  const size_t bytes = count * sizeOf(type);
  if (root != 0 || bytes == 0) return kInvalidArgument;
  auto* one = static_cast<Communicator*>(communicator);
  return run(one, [=] {
    if (const int refused = agree(one, 2, count, type)) return refused;
    for (const int peer : one->peers)
      if (!all(peer, host(one->rank == 0 ? from : to), bytes, one->rank == 0))
        return int(kSystemError);
    return int(kSuccess);
  });
}

int ncclCommAbort(void* communicator) {
  auto* one = static_cast<Communicator*>(communicator);
  for (const int peer : one->peers) shutdown(peer, SHUT_RDWR);
  // One that still waits for others is left behind, with its memory.
  if (one->state == kInProgress && one->peers.empty()) return kSuccess;
  if (one->thread.joinable()) one->thread.join();
  for (const int peer : one->peers) close(peer);
  return kSuccess;
}

int ncclCommDestroy(void* communicator) { return ncclCommAbort(communicator); }

// pynccl looks for these and, for weights, calls none.
int ncclReduce() { return kInvalidArgument; }
int ncclAllGather() { return kInvalidArgument; }
int ncclReduceScatter() { return kInvalidArgument; }
int ncclSend() { return kInvalidArgument; }
int ncclRecv() { return kInvalidArgument; }
int ncclCommSuspend() { return kInvalidArgument; }
int ncclCommResume() { return kInvalidArgument; }
int ncclGroupStart() { return kInvalidArgument; }
int ncclGroupEnd() { return kInvalidArgument; }
int ncclCommWindowRegister() { return kInvalidArgument; }
int ncclCommWindowDeregister() { return kInvalidArgument; }
}
