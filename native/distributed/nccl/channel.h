// One communicator of NCCL with processes that are not ours: whoever has its id joins, and rank 0 broadcasts.
//
// Everything runs on a thread of its own, because the other side is asked over HTTP meanwhile, by the thread that
// started it; that one looks from time to time how far it is.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/collectives/background.h"
#include "library.h"

namespace openmanus::nccl {

struct ChannelOptions {
  UniqueId id;
  int rank;
  int world;
  c10::Device device;
  std::chrono::milliseconds timeout;  // of each operation
};

// Never destroyed: its thread uses it.
class Channel {
 public:
  explicit Channel(const ChannelOptions& options) : options_(options) {}

  // Begins to join. The other ranks must come at the same time.
  void join();
  // Begins to broadcast these, one after the other, from the root into those of all others.
  void broadcast(std::vector<at::Tensor> tensors, int root);
  // Whether the last operation that was begun has ended; throws what went wrong.
  bool isDone();
  // Ends whatever is underway, here; the others notice when they wait for it next. Nothing can be begun afterwards.
  void abort();

 private:
  void start(std::function<void()> work);
  void connect();
  void send(const at::Tensor& tensor, int root);
  // Waits until NCCL and the device have done what they were told.
  void settle(const char* what);
  void require(Result result, const char* what);
  Stream stream() const;
  bool streamIsDone() const;

  const ChannelOptions options_;
  Communicator communicator_ = nullptr;  // of the thread
  std::atomic<bool> aborted_{false};
  Background thread_;
  std::mutex mutex_;
  bool busy_ = false;
  std::string problem_;
};

}  // namespace openmanus::nccl
