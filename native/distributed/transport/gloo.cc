// Gloo: the transport for tensors on the CPU.
#include "transport.h"

#if defined(USE_C10D_GLOO) && __has_include(<torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>)
#define OPENMANUS_GLOO
#endif

#ifdef OPENMANUS_GLOO

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>

#include "c10d_transport.h"

namespace openmanus {

namespace {

using c10d::ProcessGroupGloo;

// Gloo's collectives run on a thread of c10d and complete a future.
class GlooFlight : public Flight {
 public:
  explicit GlooFlight(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}

  bool whenEnded(std::function<void()> callback) override {
    work_->getFuture()->addCallback(
        [callback = std::move(callback)](c10::ivalue::Future&) { callback(); });
    return true;
  }

  void block() override {}
  void finish() override { work_->wait(); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

// Gloo's messages between two ranks have no thread and no future: somebody has to wait for them.
class GlooPairFlight : public Flight {
 public:
  GlooPairFlight(c10::intrusive_ptr<c10d::Work> work, at::Tensor tensor)
      : work_(std::move(work)), tensor_(std::move(tensor)) {}

  bool whenEnded(std::function<void()>) override { return false; }
  void block() override { work_->wait(); }
  void finish() override {}

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  at::Tensor tensor_;
};

}  // namespace

bool hasGloo() { return true; }

std::shared_ptr<Transport> connectGloo(
    const std::shared_ptr<Link>& link, int rank, int world, Milliseconds timeout) {
  const auto options = ProcessGroupGloo::Options::create();
  options->timeout = timeout;
  options->threads = 1;  // operations come one at a time
  const char* named = std::getenv("GLOO_SOCKET_IFNAME");
  const std::string interface = named ? named : "";
  // The address by which this rank reaches the meeting point is one that the others can reach: on
  // loopback everything stays on loopback, without any look at the machine's name.
  options->devices.push_back(
      interface.empty()
          ? ProcessGroupGloo::createDeviceForHostname(link->address())
          : ProcessGroupGloo::createDeviceForInterface(interface.substr(0, interface.find(','))));
  auto group = c10::make_intrusive<ProcessGroupGloo>(
      c10::make_intrusive<LinkStore>(link, timeout), rank, world, options);
  using GlooTransport = C10dTransport<ProcessGroupGloo, GlooFlight, GlooPairFlight>;
  return std::make_shared<GlooTransport>(std::move(group));
}

}  // namespace openmanus

#else

namespace openmanus {

bool hasGloo() { return false; }

std::shared_ptr<Transport> connectGloo(const std::shared_ptr<Link>&, int, int, Milliseconds) {
  throw std::runtime_error(
      "this libtorch was built without Gloo, so processes cannot work together on the CPU. Use "
      "another libtorch (Debian's libtorch-dev and PyPI's torch have it), or a single process");
}

}  // namespace openmanus

#endif
