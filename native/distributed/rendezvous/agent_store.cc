// A client of c10d's TCPStore, as PyTorch speaks it since version 2.1. libtorch has one, too, but that
// of another version than the agent's does not understand it, and an older one does not greet.
#include "agent_store.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace openmanus {

namespace {

enum class Query : uint8_t { kValidate = 0, kSet = 1, kGet = 3, kCheck = 5 };
constexpr uint32_t kMagic = 0x3C85F7CE;
constexpr uint64_t kLongestValue = 4096;

class Store {
 public:
  Store(const std::string& host, uint16_t port, Milliseconds timeout)
      : where_(host + ":" + std::to_string(port)),
        socket_(connectTo(host, port, Clock::now() + timeout)) {
    const int number = socket_.number();
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) & ~O_NONBLOCK);
    timeval patience{};
    patience.tv_sec = timeout.count() / 1000;
    patience.tv_usec = (timeout.count() % 1000) * 1000;
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    std::string greeting(1, static_cast<char>(Query::kValidate));
    greeting.append(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
    write(greeting);
  }

  void set(const std::string& key, const std::string& value) {
    write(static_cast<char>(Query::kSet) + text(key) + text(value));
  }

  bool has(const std::string& key) {
    const uint64_t one = 1;
    std::string count(reinterpret_cast<const char*>(&one), sizeof one);
    write(static_cast<char>(Query::kCheck) + count + text(key));
    return read(1)[0] == 0;
  }

  std::string get(const std::string& key) {
    write(static_cast<char>(Query::kGet) + text(key));
    uint64_t length = 0;
    read(sizeof length).copy(reinterpret_cast<char*>(&length), sizeof length);
    if (length > kLongestValue) fail("gives a value of another kind");
    return read(length);
  }

 private:
  static std::string text(const std::string& value) {
    const uint64_t length = value.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + value;
  }

  void write(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count =
          send(socket_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) fail("takes nothing");
      sent += static_cast<size_t>(count);
    }
  }

  std::string read(size_t size) {
    std::string bytes(size, '\0');
    for (size_t got = 0; got < size;) {
      const ssize_t count = recv(socket_.number(), &bytes[got], size - got, 0);
      if (count <= 0) fail("does not answer");
      got += static_cast<size_t>(count);
    }
    return bytes;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(
        "the store of torchrun's agent at " + where_ + " " + what +
        ". PyTorch 2.1 or newer is needed, on all machines the same");
  }

  const std::string where_;
  Descriptor socket_;
};

}  // namespace

void setInAgentStore(
    const std::string& host, uint16_t port, const std::string& key, const std::string& value,
    Milliseconds timeout) {
  Store store(host, port, timeout);
  store.set(key, value);
  if (!store.has(key)) throw std::runtime_error("the store of torchrun's agent lost '" + key + "'");
}

std::optional<std::string> getFromAgentStore(
    const std::string& host, uint16_t port, const std::string& key, Milliseconds timeout) {
  Store store(host, port, timeout);
  if (!store.has(key)) return std::nullopt;
  return store.get(key);
}

std::string addressTowards(const std::string& host, uint16_t port, Milliseconds timeout) {
  try {
    return localAddress(connectTo(host, port, Clock::now() + timeout).number());
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace openmanus
