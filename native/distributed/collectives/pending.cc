#include "pending.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>

#include "collectives.h"
#include "distributed/registry.h"
#include "door/handles.h"

namespace openmanus {

namespace {

// A collective that was started. Written by the group's thread, read by whoever waits.
struct Pending {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;
  at::Tensor result;   // undefined where the operation is in place
  double seconds = 0;  // that it took, without its wait for those before
};

std::map<int64_t, std::shared_ptr<Pending>>& started() {
  static auto* instance = new std::map<int64_t, std::shared_ptr<Pending>>();
  return *instance;
}

// Numbers one and runs it. Only JavaScript's thread comes here.
napi_value start(const Call& call, std::function<at::Tensor(Group&)> body) {
  static int64_t last = 0;
  const std::shared_ptr<Group> group = groupOf(call);
  group->requireUsable();
  const auto pending = std::make_shared<Pending>();
  started()[++last] = pending;
  group->background().run([group, pending, body = std::move(body)] {
    const auto begun = std::chrono::steady_clock::now();
    at::Tensor result;
    std::exception_ptr error;
    try {
      result = body(*group);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(pending->mutex);
    pending->result = std::move(result);
    pending->error = error;
    pending->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    pending->done = true;
    pending->changed.notify_all();
  });
  return integerValue(call.env, last);
}

// groupStartAllGather(group, tensor).
napi_value groupStartAllGather(const Call& call) {
  const at::Tensor tensor = tensorOf(call.env, call[1], "allGather");
  return start(call, [tensor](Group& group) { return allGather(group, tensor); });
}

// groupStartReduceScatter(group, tensor, reduction, sizes or null).
napi_value groupStartReduceScatter(const Call& call) {
  const at::Tensor tensor = tensorOf(call.env, call[1], "reduceScatter");
  const Reduction reduction = reductionNamed(toString(call.env, call[2], "reduction"));
  const std::vector<int64_t> sizes = isNullish(call.env, call[3])
                                         ? std::vector<int64_t>{}
                                         : toIntegers(call.env, call[3], "sizes");
  return start(call, [tensor, reduction, sizes](Group& group) {
    return reduceScatter(group, tensor, reduction, sizes);
  });
}

// groupStartAllReduce(group, tensor, reduction).
napi_value groupStartAllReduce(const Call& call) {
  const at::Tensor tensor = tensorOf(call.env, call[1], "allReduce");
  const Reduction reduction = reductionNamed(toString(call.env, call[2], "reduction"));
  return start(call, [tensor, reduction](Group& group) {
    allReduce(group, tensor, reduction);
    return at::Tensor();
  });
}

// groupFinish(number): waits for its end. Gives [seconds, the result or null]; throws what went wrong.
napi_value groupFinish(const Call& call) {
  const int64_t number = toInteger(call.env, call[0], "pending");
  const auto found = started().find(number);
  if (found == started().end()) throw ArgumentError("this operation was waited for already");
  const std::shared_ptr<Pending> pending = found->second;
  started().erase(found);
  std::unique_lock<std::mutex> lock(pending->mutex);
  pending->changed.wait(lock, [&] { return pending->done; });
  if (pending->error) {
    try {
      std::rethrow_exception(pending->error);
    } catch (const GroupFailure& failure) {
      throwFailure(call.env, failure);
    }
  }
  const napi_value result = newArray(call.env, 2);
  setElement(call.env, result, 0, numberValue(call.env, pending->seconds));
  setElement(
      call.env, result, 1,
      pending->result.defined() ? handleValue(call.env, pending->result) : nullValue(call.env));
  return result;
}

// groupIsDone(number): whether a wait for it would return at once.
napi_value groupIsDone(const Call& call) {
  const auto found = started().find(toInteger(call.env, call[0], "pending"));
  if (found == started().end()) return boolValue(call.env, true);
  const std::lock_guard<std::mutex> lock(found->second->mutex);
  return boolValue(call.env, found->second->done);
}

}  // namespace

void registerPending(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(groupStartAllGather);
  OPENMANUS_EXPORT(groupStartReduceScatter);
  OPENMANUS_EXPORT(groupStartAllReduce);
  OPENMANUS_EXPORT(groupFinish);
  OPENMANUS_EXPORT(groupIsDone);
}

}  // namespace openmanus
