// NCCL: the transport for tensors on CUDA devices, where both libtorch and the headers have it.
#include "transport.h"

#if defined(OPENMANUS_CUDA) && __has_include(<nccl.h>) && __has_include(<crt/host_config.h>) && \
    __has_include(<torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>)
#define OPENMANUS_NCCL
#define USE_C10D_NCCL
#endif

#ifdef OPENMANUS_NCCL

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>

#include "c10d_transport.h"

namespace openmanus {

namespace {

using c10d::ProcessGroupNCCL;

// NCCL's futures complete when the kernel is queued, so the end is polled for: only then can a dead
// peer end the wait.
class NcclFlight : public Flight {
 public:
  explicit NcclFlight(c10::intrusive_ptr<c10d::Work> work, at::Tensor tensor = {})
      : work_(std::move(work)), tensor_(std::move(tensor)) {}

  bool whenEnded(std::function<void()>) override { return false; }

  void block() override {
    Milliseconds pause(0);
    while (!work_->isCompleted()) {
      std::this_thread::sleep_for(std::chrono::microseconds(20) + pause);
      if (pause < Milliseconds(1)) pause += Milliseconds(1);
    }
  }

  void finish() override { work_->wait(); }  // orders the caller's stream behind it, and rethrows

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  at::Tensor tensor_;
};

}  // namespace

bool hasNccl() { return true; }

std::shared_ptr<Transport> connectNccl(
    const std::shared_ptr<Link>& link, int rank, int world, Milliseconds timeout) {
  // Otherwise c10d's watchdog ends the process on an error, before anybody can say what it was.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  const auto options = ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  auto group = c10::make_intrusive<ProcessGroupNCCL>(
      c10::make_intrusive<LinkStore>(link, timeout), rank, world, options);
  using NcclTransport = C10dTransport<ProcessGroupNCCL, NcclFlight, NcclFlight>;
  return std::make_shared<NcclTransport>(std::move(group));
}

}  // namespace openmanus

#else

namespace openmanus {

bool hasNccl() { return false; }

std::shared_ptr<Transport> connectNccl(const std::shared_ptr<Link>&, int, int, Milliseconds) {
  throw std::runtime_error(
      "NCCL is not available: the addon was built without CUDA or without NCCL's headers. Use the "
      "backend \"gloo\", or a CUDA build of libtorch on a machine with a GPU");
}

}  // namespace openmanus

#endif
