#include "process_group.h"

#include <ATen/ATen.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "distributed/collectives/collectives.h"
#include "distributed/collectives/pending.h"
#include "distributed/rendezvous/agent_store.h"
#include "distributed/transport/traffic.h"
#include "door/handles.h"
#include "registry.h"
#include "subgroup.h"

namespace openmanus {

namespace {

// Never destroyed at process exit: groups end by destroyGroup, or with the process.
struct Groups {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Group>> byNumber;
  int64_t last = 0;
};

Groups& groups() {
  static auto* instance = new Groups();
  return *instance;
}

}  // namespace

int64_t addGroup(std::shared_ptr<Group> group) {
  std::lock_guard<std::mutex> lock(groups().mutex);
  const int64_t number = ++groups().last;
  groups().byNumber[number] = std::move(group);
  return number;
}

std::shared_ptr<Group> groupOf(const Call& call) {
  const int64_t number = toInteger(call.env, call[0], "group");
  std::lock_guard<std::mutex> lock(groups().mutex);
  const auto found = groups().byNumber.find(number);
  if (found == groups().byNumber.end()) throw ArgumentError("this process group was destroyed");
  return found->second;
}

void throwFailure(napi_env env, const GroupFailure& failure) {
  napi_value error;
  check(
      env,
      napi_create_error(
          env, stringValue(env, "ERR_PROCESS_GROUP"), stringValue(env, failure.what()), &error));
  const std::vector<int>& ranks = failure.verdict.ranks;
  const napi_value list = newArray(env, ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) setElement(env, list, i, numberValue(env, ranks[i]));
  setProperty(env, error, "ranks", list);
  setProperty(env, error, "reason", stringValue(env, reasonName(failure.verdict.reason)));
  check(env, napi_throw(env, error));
  throw PendingException{};
}

int toInt(napi_env env, napi_value value, const char* what) {
  const int64_t number = toInteger(env, value, what);
  if (number < INT32_MIN || number > INT32_MAX)
    throw ArgumentError(std::string(what) + ": out of range: " + std::to_string(number));
  return static_cast<int>(number);
}

Reduction reductionNamed(const std::string& name) {
  if (name == "sum") return Reduction::kSum;
  if (name == "average") return Reduction::kAverage;
  if (name == "product") return Reduction::kProduct;
  if (name == "minimum") return Reduction::kMinimum;
  if (name == "maximum") return Reduction::kMaximum;
  throw ArgumentError(
      "reduction: expected \"sum\", \"average\", \"product\", \"minimum\" or \"maximum\", got \"" +
      name + "\"");
}

namespace {

napi_value handles(napi_env env, const std::vector<at::Tensor>& tensors) {
  const napi_value result = newArray(env, tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    setElement(env, result, i, handleValue(env, tensors[i]));
  return result;
}

// processGroupBackends(): which transports the addon was built with.
napi_value processGroupBackends(const Call& call) {
  napi_value result;
  check(call.env, napi_create_object(call.env, &result));
  setProperty(call.env, result, "gloo", boolValue(call.env, hasGloo()));
  setProperty(call.env, result, "nccl", boolValue(call.env, hasNccl()));
  return result;
}

// A rank that launch() started ends with the launcher, even if that is killed: nobody else would stop
// it, and it would wait for the others until its timeout.
void endWithLauncher() {
  const char* launcher = std::getenv("OPENMANUS_LAUNCHER");
  if (!launcher || std::atoll(launcher) != getppid()) return;
  // A launcher that was itself killed cannot end what does not want to end.
  const bool kills = std::getenv("OPENMANUS_LAUNCHER_KILLS") != nullptr;
  prctl(PR_SET_PDEATHSIG, kills ? SIGKILL : SIGTERM);
}

// createGroup(rank, world, host, port, timeout, joinTimeout, backend, check): blocks until all ranks
// have joined. Times are in milliseconds.
napi_value createGroup(const Call& call) {
  const napi_env env = call.env;
  GroupOptions options;
  options.rank = toInt(env, call[0], "rank");
  options.world = toInt(env, call[1], "world");
  options.host = toString(env, call[2], "host");
  options.port = static_cast<uint16_t>(toInt(env, call[3], "port"));
  options.timeout = Milliseconds(toInteger(env, call[4], "timeout"));
  options.joinTimeout = Milliseconds(toInteger(env, call[5], "joinTimeout"));
  options.nccl = toString(env, call[6], "backend") == "nccl";
  options.check = toBool(env, call[7], "check");
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world)
    throw ArgumentError(
        "rank: expected 0 to world - 1, got rank " + std::to_string(options.rank) +
        " of a world of " + std::to_string(options.world));
  endWithLauncher();
  try {
    return integerValue(env, addGroup(std::make_shared<Group>(options)));
  } catch (const GroupFailure& failure) {
    throwFailure(env, failure);
  }
}

// destroyGroup(group, exitCode): exitCode is why the process ends, or -1. Twice is not an error.
napi_value destroyGroup(const Call& call) {
  const int64_t number = toInteger(call.env, call[0], "group");
  const int64_t exitCode = toInteger(call.env, call[1], "exitCode");
  std::shared_ptr<Group> group;
  {
    std::lock_guard<std::mutex> lock(groups().mutex);
    const auto found = groups().byNumber.find(number);
    if (found != groups().byNumber.end()) {
      group = std::move(found->second);
      groups().byNumber.erase(found);
    }
  }
  if (group) group->leave(exitCode);
  return undefinedValue(call.env);
}

uint16_t toPort(const Call& call, size_t index) {
  return static_cast<uint16_t>(toInt(call.env, call[index], "port"));
}

// agentStoreSet(host, port, key, value, timeout)
napi_value agentStoreSet(const Call& call) {
  const napi_env env = call.env;
  setInAgentStore(
      toString(env, call[0], "host"), toPort(call, 1), toString(env, call[2], "key"),
      toString(env, call[3], "value"), Milliseconds(toInteger(env, call[4], "timeout")));
  return undefinedValue(env);
}

// agentStoreGet(host, port, key, timeout): null while nobody has set it.
napi_value agentStoreGet(const Call& call) {
  const napi_env env = call.env;
  const std::optional<std::string> found = getFromAgentStore(
      toString(env, call[0], "host"), toPort(call, 1), toString(env, call[2], "key"),
      Milliseconds(toInteger(env, call[3], "timeout")));
  return found ? stringValue(env, *found) : nullValue(env);
}

// ownAddress(host, port, timeout): as seen from there; null when nobody listens there.
napi_value ownAddress(const Call& call) {
  const napi_env env = call.env;
  const std::string found = addressTowards(
      toString(env, call[0], "host"), toPort(call, 1),
      Milliseconds(toInteger(env, call[2], "timeout")));
  return found.empty() ? nullValue(env) : stringValue(env, found);
}

// groupFail(group, text): what went wrong here ends the group on all ranks, with this text.
napi_value groupFail(const Call& call) {
  groupOf(call)->failWith(toString(call.env, call[1], "text"));
  return undefinedValue(call.env);
}

// groupTrouble(group): why the next operation would fail, without waiting for one; or null.
napi_value groupTrouble(const Call& call) {
  const std::string text = groupOf(call)->trouble();
  return text.empty() ? nullValue(call.env) : stringValue(call.env, text);
}

// groupSubgroup(group, ranks): the number of a group of these ranks, this one among them.
napi_value groupSubgroup(const Call& call) {
  return withGroup(call, [&](Group& group) {
    const std::vector<int64_t> ranks = toIntegers(call.env, call[1], "ranks");
    return integerValue(call.env, addGroup(newSubgroup(group, ranks)));
  });
}

// networkTraffic(): [bytes sent, bytes received] over the connections that are open.
napi_value networkTraffic(const Call& call) {
  const Traffic traffic = socketTraffic();
  const napi_value result = newArray(call.env, 2);
  setElement(call.env, result, 0, numberValue(call.env, static_cast<double>(traffic.sent)));
  setElement(call.env, result, 1, numberValue(call.env, static_cast<double>(traffic.received)));
  return result;
}

napi_value groupAllReduce(const Call& call) {
  return withGroup(call, [&](Group& group) {
    allReduce(
        group, tensorOf(call.env, call[1], "allReduce"),
        reductionNamed(toString(call.env, call[2], "reduction")));
    return undefinedValue(call.env);
  });
}

napi_value groupBroadcast(const Call& call) {
  return withGroup(call, [&](Group& group) {
    broadcast(group, tensorOf(call.env, call[1], "broadcast"), toInt(call.env, call[2], "root"));
    return undefinedValue(call.env);
  });
}

napi_value groupAllGather(const Call& call) {
  return withGroup(call, [&](Group& group) {
    return handleValue(call.env, allGather(group, tensorOf(call.env, call[1], "allGather")));
  });
}

napi_value groupAllGatherUneven(const Call& call) {
  return withGroup(call, [&](Group& group) {
    return handles(
        call.env, allGatherUneven(group, tensorOf(call.env, call[1], "allGatherUneven")));
  });
}

// groupReduceScatter(group, tensor, reduction, sizes or null).
napi_value groupReduceScatter(const Call& call) {
  return withGroup(call, [&](Group& group) {
    const std::vector<int64_t> sizes = isNullish(call.env, call[3])
                                           ? std::vector<int64_t>{}
                                           : toIntegers(call.env, call[3], "sizes");
    return handleValue(
        call.env, reduceScatter(
                      group, tensorOf(call.env, call[1], "reduceScatter"),
                      reductionNamed(toString(call.env, call[2], "reduction")), sizes));
  });
}

napi_value groupBarrier(const Call& call) {
  return withGroup(call, [&](Group& group) {
    barrier(group);
    return undefinedValue(call.env);
  });
}

napi_value groupSend(const Call& call) {
  return withGroup(call, [&](Group& group) {
    send(
        group, tensorOf(call.env, call[1], "send"), toInt(call.env, call[2], "destination"),
        toInt(call.env, call[3], "tag"));
    return undefinedValue(call.env);
  });
}

napi_value groupReceive(const Call& call) {
  return withGroup(call, [&](Group& group) {
    return handleValue(
        call.env,
        receive(group, toInt(call.env, call[1], "source"), toInt(call.env, call[2], "tag")));
  });
}

napi_value groupReceiveInto(const Call& call) {
  return withGroup(call, [&](Group& group) {
    receiveInto(
        group, tensorOf(call.env, call[1], "receive"), toInt(call.env, call[2], "source"),
        toInt(call.env, call[3], "tag"));
    return undefinedValue(call.env);
  });
}

// groupBroadcastBytes(group, uint8 tensor on the root or null, root).
napi_value groupBroadcastBytes(const Call& call) {
  return withGroup(call, [&](Group& group) {
    const at::Tensor bytes = isNullish(call.env, call[1])
                                 ? at::empty({0}, at::kByte)
                                 : tensorOf(call.env, call[1], "broadcastObject");
    return handleValue(call.env, broadcastBytes(group, bytes, toInt(call.env, call[2], "root")));
  });
}

napi_value groupAllGatherBytes(const Call& call) {
  return withGroup(call, [&](Group& group) {
    return handles(call.env, allGatherBytes(group, tensorOf(call.env, call[1], "allGatherObject")));
  });
}

}  // namespace

void registerProcessGroups(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(processGroupBackends);
  OPENMANUS_EXPORT(createGroup);
  OPENMANUS_EXPORT(destroyGroup);
  OPENMANUS_EXPORT(agentStoreSet);
  OPENMANUS_EXPORT(agentStoreGet);
  OPENMANUS_EXPORT(ownAddress);
  OPENMANUS_EXPORT(groupFail);
  OPENMANUS_EXPORT(groupTrouble);
  OPENMANUS_EXPORT(groupSubgroup);
  OPENMANUS_EXPORT(networkTraffic);
  OPENMANUS_EXPORT(groupAllReduce);
  OPENMANUS_EXPORT(groupBroadcast);
  OPENMANUS_EXPORT(groupAllGather);
  OPENMANUS_EXPORT(groupAllGatherUneven);
  OPENMANUS_EXPORT(groupReduceScatter);
  OPENMANUS_EXPORT(groupBarrier);
  OPENMANUS_EXPORT(groupSend);
  OPENMANUS_EXPORT(groupReceive);
  OPENMANUS_EXPORT(groupReceiveInto);
  OPENMANUS_EXPORT(groupBroadcastBytes);
  OPENMANUS_EXPORT(groupAllGatherBytes);
  registerPending(env, exports);
}

}  // namespace openmanus
