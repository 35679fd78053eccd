// Messages over TCP between the ranks and the coordinator: sockets, frames, and values in them.
//
// A frame is a 32-bit length and that many bytes; the first byte says what the message is. Integers
// are written as they lie in memory: all ranks of a run have the same byte order.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace openmanus {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

// Whether the name means this machine only: localhost, 127.x.x.x, ::1.
bool isLoopback(const std::string& host);

// Listens where `host` points to: a loopback name binds to loopback alone, an address of this machine
// to that address, and an address that this machine does not have itself (behind a container's or a
// cloud's translation) to all interfaces, since there is nothing narrower that could work.
Descriptor listenOn(const std::string& host, uint16_t port);

// The next connection that waits at a listening socket; not open when there is none.
Descriptor acceptFrom(const Descriptor& listener);

// Connects, trying again until the deadline: rank 0 may start last.
Descriptor connectTo(const std::string& host, uint16_t port, Clock::time_point deadline);

// The numeric address of this end of a connection.
std::string localAddress(int socket);

// The port of this end.
uint16_t localPort(int socket);

// An event that wakes a thread out of poll().
class WakeUp {
 public:
  WakeUp();
  int number() const { return event_.number(); }
  void signal();
  void clear();

 private:
  Descriptor event_;
};

class MessageWriter {
 public:
  explicit MessageWriter(uint8_t type) { bytes_.push_back(static_cast<char>(type)); }
  MessageWriter& integer(int64_t value);
  MessageWriter& text(const std::string& value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws on a message that is shorter than what is read from it.
class MessageReader {
 public:
  explicit MessageReader(const std::string& bytes) : bytes_(bytes) {}
  uint8_t type() const { return static_cast<uint8_t>(bytes_.at(0)); }
  int64_t integer();
  std::string text();

 private:
  const std::string& bytes_;
  size_t position_ = 1;
};

// A socket that never blocks, cut into frames in both directions.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}

  int number() const { return socket_.number(); }
  bool open() const { return socket_.open(); }
  void close() { socket_.close(); }

  // Reads what has arrived; closes on the end of the stream, an error, or a frame above the limit.
  void receive();
  // Takes the next whole frame, if one has arrived.
  bool next(std::string& frame);
  // Queues a frame and sends what the socket takes.
  void send(const std::string& frame);
  void flush();
  bool sending() const { return !outbound_.empty(); }

  // Frames of strangers are refused above this; whoever said hello may send more.
  size_t frameLimit = 4096;

 private:
  Descriptor socket_;
  std::string inbound_;
  std::string outbound_;
};

}  // namespace openmanus
