// What moves tensors between ranks: c10d's Gloo and, on CUDA builds, NCCL.
//
// Only this room's gloo.cc and nccl.cc include c10d's headers, which differ between versions of
// libtorch and are absent from some builds; everything else works with the classes below.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "distributed/rendezvous/link.h"

namespace openmanus {

enum class Reduction : uint8_t { kSum, kAverage, kProduct, kMinimum, kMaximum };

// An operation on its way. It keeps its tensors alive.
class Flight {
 public:
  virtual ~Flight() = default;
  // Calls back from any thread when the operation has ended; false if it cannot, so that a thread
  // has to block for it.
  virtual bool whenEnded(std::function<void()> callback) = 0;
  virtual void block() = 0;
  // After the end, on the caller's thread; throws what the transport reports.
  virtual void finish() = 0;
};

// All tensors are contiguous, on the transport's device, and of equal size on all ranks.
class Transport {
 public:
  virtual ~Transport() = default;
  // Not kAverage, which is a sum for the transport.
  virtual std::shared_ptr<Flight> allReduce(const at::Tensor& tensor, Reduction reduction) = 0;
  virtual std::shared_ptr<Flight> broadcast(const at::Tensor& tensor, int root) = 0;
  virtual std::shared_ptr<Flight> allGather(
      const std::vector<at::Tensor>& outputs, const at::Tensor& input) = 0;
  // Vectors: the parts of `input` go to the ranks, those of `output` come from them. Counts are the
  // parts' lengths by rank; empty: all are equal.
  virtual std::shared_ptr<Flight> allToAll(
      const at::Tensor& output, const at::Tensor& input, std::vector<int64_t> outputCounts,
      std::vector<int64_t> inputCounts) = 0;
  virtual std::shared_ptr<Flight> send(const at::Tensor& tensor, int destination, int tag) = 0;
  virtual std::shared_ptr<Flight> receive(const at::Tensor& tensor, int source, int tag) = 0;
};

bool hasGloo();
// Connects to all other ranks; blocks.
std::shared_ptr<Transport> connectGloo(
    const std::shared_ptr<Link>& link, int rank, int world, Milliseconds timeout);

bool hasNccl();
std::shared_ptr<Transport> connectNccl(
    const std::shared_ptr<Link>& link, int rank, int world, Milliseconds timeout);

}  // namespace openmanus
