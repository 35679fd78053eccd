#include "wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace openmanus {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const std::string& host, uint16_t port, int flags, std::string& problem) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(
      host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) problem = "the name does not resolve (" + std::string(gai_strerror(error)) + ")";
  return Addresses(error == 0 ? list : nullptr);
}

Descriptor newSocket(const addrinfo& address) {
  // Closed on exec: a child process that kept it open would hide this process's death.
  return Descriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void sendAtOnce(int socket) {
  const int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

bool pointsToLoopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
    return (ntohl(four->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address.ai_addr);
  return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

// One attempt per address of the list; the first that listens wins.
Descriptor listenOnAny(const addrinfo* list, bool loopback, int& problem) {
  for (const addrinfo* address = list; address; address = address->ai_next) {
    if (!loopback && pointsToLoopback(*address)) continue;
    Descriptor socket = newSocket(*address);
    if (!socket.open()) {
      problem = errno;
      continue;
    }
    const int one = 1;
    setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(socket.number(), address->ai_addr, address->ai_addrlen) == 0 &&
        listen(socket.number(), SOMAXCONN) == 0)
      return socket;
    problem = errno;
    if (problem == EADDRINUSE) break;
  }
  return Descriptor();
}

// Connects to one address; returns 0 or the error number.
int tryConnect(const addrinfo& address, Clock::time_point deadline, Descriptor& result) {
  Descriptor socket = newSocket(address);
  if (!socket.open()) return errno;
  if (connect(socket.number(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{socket.number(), POLLOUT, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left, 1, 10000)));
    if (ready == 0) return ETIMEDOUT;
    if (ready < 0) return errno;
    int problem = 0;
    socklen_t length = sizeof problem;
    getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem != 0) return problem;
  }
  sendAtOnce(socket.number());
  result = std::move(socket);
  return 0;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.number_;
    other.number_ = -1;
  }
  return *this;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

bool isLoopback(const std::string& host) {
  in_addr four;
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return host == "localhost" || host == "::1";
}

Descriptor listenOn(const std::string& host, uint16_t port) {
  std::string unresolved;
  int problem = EADDRNOTAVAIL;
  const bool loopback = isLoopback(host);
  Descriptor socket;
  if (const Addresses list = resolve(host, port, 0, unresolved))
    socket = listenOnAny(list.get(), loopback, problem);
  // A host's own name often means 127.0.1.1 to itself (/etc/hosts) while the others know its real
  // address; like an address that is translated on the way, it leaves no choice but all interfaces.
  if (!socket.open() && !loopback && problem == EADDRNOTAVAIL)
    if (const Addresses list = resolve("", port, AI_PASSIVE, unresolved))
      socket = listenOnAny(list.get(), true, problem);
  if (socket.open()) return socket;
  const std::string where = host + ":" + std::to_string(port);
  if (problem == EADDRINUSE)
    throw std::runtime_error(
        "rank 0 cannot listen on " + where +
        ": the port is in use, perhaps by another run. Set MASTER_PORT to a "
        "free port on all ranks");
  throw std::runtime_error(
      "rank 0 cannot listen on " + where + ": " +
      (unresolved.empty() ? strerror(problem) : unresolved) +
      ". MASTER_ADDR must name the machine of rank 0");
}

Descriptor acceptFrom(const Descriptor& listener) {
  Descriptor socket(accept4(listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.open()) sendAtOnce(socket.number());
  return socket;
}

Descriptor connectTo(const std::string& host, uint16_t port, Clock::time_point deadline) {
  std::string problem = "no time was left";
  Milliseconds pause(10);
  while (true) {
    if (const Addresses list = resolve(host, port, 0, problem)) {
      for (const addrinfo* address = list.get(); address; address = address->ai_next) {
        Descriptor socket;
        const int error = tryConnect(*address, deadline, socket);
        if (error == 0) return socket;
        problem = strerror(error);
      }
    }
    if (Clock::now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, Milliseconds(500));
  }
  throw std::runtime_error(problem);
}

std::string localAddress(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST];
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(
          reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0,
          NI_NUMERICHOST) != 0)
    throw std::runtime_error("cannot read the local address of a connection");
  return text;
}

uint16_t localPort(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("cannot read the local port of a socket");
  return ntohs(
      address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                    : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

WakeUp::WakeUp() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.open()) throw std::runtime_error(std::string("eventfd: ") + strerror(errno));
}

void WakeUp::signal() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.number(), &one, sizeof one);
}

void WakeUp::clear() {
  uint64_t count;
  [[maybe_unused]] const ssize_t taken = read(event_.number(), &count, sizeof count);
}

MessageWriter& MessageWriter::integer(int64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

MessageWriter& MessageWriter::text(const std::string& value) {
  integer(static_cast<int64_t>(value.size()));
  bytes_ += value;
  return *this;
}

int64_t MessageReader::integer() {
  int64_t value;
  if (bytes_.size() - position_ < sizeof value) throw std::runtime_error("a message is too short");
  memcpy(&value, bytes_.data() + position_, sizeof value);
  position_ += sizeof value;
  return value;
}

std::string MessageReader::text() {
  const auto length = static_cast<uint64_t>(integer());
  if (bytes_.size() - position_ < length) throw std::runtime_error("a message is too short");
  std::string value = bytes_.substr(position_, length);
  position_ += length;
  return value;
}

void Connection::receive() {
  char chunk[65536];
  while (open()) {
    const ssize_t count = ::recv(number(), chunk, sizeof chunk, 0);
    if (count > 0) {
      inbound_.append(chunk, static_cast<size_t>(count));
      if (count < static_cast<ssize_t>(sizeof chunk)) return;
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    } else {
      close();  // what has arrived before can still be taken with next()
    }
  }
}

bool Connection::next(std::string& frame) {
  uint32_t length;
  if (inbound_.size() < sizeof length) return false;
  memcpy(&length, inbound_.data(), sizeof length);
  if (length == 0 || length > frameLimit) {
    inbound_.clear();
    close();
    return false;
  }
  if (inbound_.size() - sizeof length < length) return false;
  frame = inbound_.substr(sizeof length, length);
  inbound_.erase(0, sizeof length + length);
  return true;
}

void Connection::send(const std::string& frame) {
  if (!open()) return;
  const auto length = static_cast<uint32_t>(frame.size());
  outbound_.append(reinterpret_cast<const char*>(&length), sizeof length);
  outbound_ += frame;
  flush();
}

void Connection::flush() {
  while (open() && !outbound_.empty()) {
    const ssize_t count = ::send(number(), outbound_.data(), outbound_.size(), MSG_NOSIGNAL);
    if (count > 0) {
      outbound_.erase(0, static_cast<size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      // A closed peer shows itself in receive(), which first hands out what it had sent.
      if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) outbound_.clear();
      return;
    }
  }
}

}  // namespace openmanus
