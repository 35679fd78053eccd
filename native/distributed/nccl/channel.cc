#include "channel.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <stdexcept>
#include <thread>

#if defined(OPENMANUS_CUDA) && __has_include(<crt/host_config.h>)
#include <c10/cuda/CUDAStream.h>
#define OPENMANUS_STREAMS
#endif

namespace openmanus::nccl {

namespace {

Datatype datatypeOf(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return kFloat32;
    case at::kHalf:
      return kFloat16;
    case at::kBFloat16:
      return kBfloat16;
    default:
      throw std::runtime_error(
          std::string("weights go over NCCL as float32, float16 or bfloat16, not as ") +
          c10::toString(tensor.scalar_type()));
  }
}

}  // namespace

void Channel::join() {
  start([this] { connect(); });
}

void Channel::broadcast(std::vector<at::Tensor> tensors, int root) {
  for (const at::Tensor& tensor : tensors) {
    datatypeOf(tensor);
    if (tensor.device() != options_.device || !tensor.is_contiguous())
      throw std::runtime_error(
          "broadcast: expected contiguous tensors on " + options_.device.str() + ", got one on " +
          tensor.device().str());
  }
  start([this, tensors = std::move(tensors), root] {
    for (const at::Tensor& tensor : tensors) send(tensor, root);
    settle("the broadcast of the weights");
  });
}

bool Channel::isDone() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (busy_) return false;
  if (!problem_.empty()) throw std::runtime_error(problem_);
  return true;
}

void Channel::abort() {
  if (aborted_.exchange(true)) return;
  // After what runs now, which sees that it is to end.
  thread_.run([this] {
    if (communicator_) library().abort(communicator_);
    communicator_ = nullptr;
  });
}

void Channel::start(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_) throw std::runtime_error("NCCL: the operation before this one has not ended");
    if (!problem_.empty()) throw std::runtime_error(problem_);
    if (aborted_) throw std::runtime_error("NCCL: the connection was ended");
    busy_ = true;
  }
  thread_.run([this, work = std::move(work)] {
    std::string problem;
    try {
      const c10::DeviceGuard guard(options_.device);
      work();
    } catch (const c10::Error& error) {
      problem = error.what_without_backtrace();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    problem_ = std::move(problem);
    busy_ = false;
  });
}

void Channel::connect() {
  Config config;
  require(
      library().initRank(&communicator_, options_.world, options_.id, options_.rank, &config),
      "joining");
  settle("the meeting with the other processes");
  // vLLM's communicators begin with a sum of one number, in which all must take part.
  const at::Tensor one =
      at::zeros({1}, at::TensorOptions().dtype(at::kFloat).device(options_.device));
  require(
      library().allReduce(
          one.data_ptr(), one.data_ptr(), 1, kFloat32, kSum, communicator_, stream()),
      "the first sum");
  settle("the first sum with the other processes");
}

void Channel::send(const at::Tensor& tensor, int root) {
  if (tensor.numel() == 0) return;
  // Some operations are on their way at once; NCCL takes the next when it has taken this one.
  require(
      library().broadcast(
          tensor.data_ptr(), tensor.data_ptr(), static_cast<size_t>(tensor.numel()),
          datatypeOf(tensor), root, communicator_, stream()),
      "a broadcast");
  const auto until = std::chrono::steady_clock::now() + options_.timeout;
  Result state = kInProgress;
  while (state == kInProgress) {
    if (aborted_) throw std::runtime_error("NCCL: the connection was ended");
    require(library().asyncError(communicator_, &state), "a broadcast");
    if (state == kInProgress && std::chrono::steady_clock::now() > until)
      throw std::runtime_error(
          "NCCL: a broadcast of weights was not taken within " +
          std::to_string(options_.timeout.count() / 1000) + " s");
    if (state == kInProgress) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  require(state, "a broadcast");
}

void Channel::settle(const char* what) {
  const auto until = std::chrono::steady_clock::now() + options_.timeout;
  while (true) {
    if (aborted_) throw std::runtime_error("NCCL: the connection was ended");
    Result state = kSuccess;
    require(library().asyncError(communicator_, &state), what);
    if (state != kInProgress) require(state, what);
    if (state == kSuccess && streamIsDone()) return;
    if (std::chrono::steady_clock::now() > until)
      throw std::runtime_error(
          std::string("NCCL: ") + what + " did not end within " +
          std::to_string(options_.timeout.count() / 1000) + " s");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Channel::require(Result result, const char* what) {
  if (result == kSuccess || result == kInProgress) return;
  throw std::runtime_error(
      std::string("NCCL: ") + what + " failed: " + library().errorString(result) +
      " (NCCL_DEBUG=INFO says more)");
}

// The weights were computed on the stream of the thread that gave them; nobody here changes streams, so that it is
// the device's current one, and the broadcast comes after them.
Stream Channel::stream() const {
#ifdef OPENMANUS_STREAMS
  if (options_.device.is_cuda())
    return c10::cuda::getCurrentCUDAStream(options_.device.index()).stream();
#endif
  if (options_.device.is_cuda())
    throw std::runtime_error(
        "NCCL: the addon was built without CUDA's headers; set it up on a machine with CUDA");
  return nullptr;
}

bool Channel::streamIsDone() const {
#ifdef OPENMANUS_STREAMS
  if (options_.device.is_cuda())
    return c10::cuda::getCurrentCUDAStream(options_.device.index()).query();
#endif
  return true;
}

}  // namespace openmanus::nccl
