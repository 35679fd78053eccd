#include "door.h"

#include <cstring>
#include <map>

#include "channel.h"
#include "door/handles.h"

namespace openmanus {

namespace {

using nccl::Channel;

// Only JavaScript's thread comes here. They stay, because their threads use them: a few in a run.
std::map<int64_t, std::unique_ptr<Channel>>& channels() {
  static auto* instance = new std::map<int64_t, std::unique_ptr<Channel>>();
  return *instance;
}

Channel& channelOf(const Call& call) {
  const auto found = channels().find(toInteger(call.env, call[0], "channel"));
  if (found == channels().end()) throw ArgumentError("there is no such connection of NCCL");
  return *found->second;
}

// ncclProblem(): why there is no NCCL, or null.
napi_value ncclProblem(const Call& call) {
  try {
    nccl::library();
    return nullValue(call.env);
  } catch (const std::runtime_error& error) {
    return stringValue(call.env, error.what());
  }
}

// ncclNewId(): of a new communicator, as hexadecimal digits.
napi_value ncclNewId(const Call& call) {
  const nccl::Library& library = nccl::library();
  nccl::UniqueId id{};
  const nccl::Result result = library.getUniqueId(&id);
  if (result != nccl::kSuccess)
    throw std::runtime_error(std::string("NCCL: no new id: ") + library.errorString(result));
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (const char byte : id.bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return stringValue(call.env, text);
}

// ncclJoin(id, rank, world, device, timeout): begins to join; the number of the channel. Milliseconds.
napi_value ncclJoin(const Call& call) {
  const napi_env env = call.env;
  static int64_t last = 0;
  const std::string text = toString(env, call[0], "id");
  nccl::UniqueId id{};
  if (text.size() != 2 * nccl::kIdBytes ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw ArgumentError("id: expected 256 hexadecimal digits");
  for (size_t i = 0; i < nccl::kIdBytes; ++i)
    id.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  auto channel = std::make_unique<Channel>(nccl::ChannelOptions{
      id, static_cast<int>(toInteger(env, call[1], "rank")),
      static_cast<int>(toInteger(env, call[2], "world")),
      c10::Device(toString(env, call[3], "device")),
      std::chrono::milliseconds(toInteger(env, call[4], "timeout"))});
  channel->join();
  channels()[++last] = std::move(channel);
  return integerValue(env, last);
}

// ncclBroadcast(channel, tensors, root): begins it.
napi_value ncclBroadcast(const Call& call) {
  channelOf(call).broadcast(
      tensorsOf(call.env, call[1], "tensors"),
      static_cast<int>(toInteger(call.env, call[2], "root")));
  return undefinedValue(call.env);
}

// ncclIsDone(channel): whether what was begun last has ended; throws what went wrong.
napi_value ncclIsDone(const Call& call) { return boolValue(call.env, channelOf(call).isDone()); }

// ncclAbort(channel): twice is not an error.
napi_value ncclAbort(const Call& call) {
  channelOf(call).abort();
  return undefinedValue(call.env);
}

}  // namespace

void registerNccl(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(ncclProblem);
  OPENMANUS_EXPORT(ncclNewId);
  OPENMANUS_EXPORT(ncclJoin);
  OPENMANUS_EXPORT(ncclBroadcast);
  OPENMANUS_EXPORT(ncclIsDone);
  OPENMANUS_EXPORT(ncclAbort);
}

}  // namespace openmanus
