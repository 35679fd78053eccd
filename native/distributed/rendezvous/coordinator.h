// The meeting point of the ranks: a thread in rank 0's process that every rank keeps a connection to.
//
// It holds the keys by which the ranks find each other (what c10d calls a store), it compares what the
// ranks call before each collective, and it is the one place that decides why a group failed. A process that dies closes its connection, whatever it died
// of, and the coordinator knows at once which rank that was; the transport between the ranks only
// knows that some neighbour is gone, and names the wrong one as soon as errors spread. When a rank
// reports a timeout or a broken transport, the coordinator asks all ranks what they are doing. Their
// answers come from a thread of their own, so a rank that is busy or slow still answers, and silence
// alone never fails a group.
//
// (c10d's TCPStore could hold the keys too, but it listens on all interfaces, tells nobody who left,
// and in newer versions runs a second copy of libuv inside a process that exports its own.)
#pragma once

#include <atomic>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "distributed/collectives/signature.h"
#include "protocol.h"

namespace openmanus {

class Coordinator {
 public:
  Coordinator(
      const std::string& host, uint16_t port, int world, Milliseconds joinTimeout,
      const std::string& settings);
  ~Coordinator();

  // Where it listens: the port given, or the one that the system chose where that was 0.
  uint16_t port() const { return localPort(listener_.number()); }

 private:
  struct Peer {
    Connection connection;
    bool joined = false;
    bool departed = false;
    bool dead = false;
    bool silent = false;  // dead because nothing was heard of it
    int64_t process = 0;
    std::string machine;
    std::string address;
    Activity activity;
    std::optional<Signature> arrived;  // the collective that it is in and the others are not yet
    Clock::time_point heard;           // when anything last came from it
    bool answered = false;             // since the last kAsk
    int64_t exitCode = -1;

    bool alive() const { return joined && !departed && !dead; }
  };

  struct Stranger {
    Connection connection;
    Clock::time_point arrived;
  };

  struct WaitingGet {
    int rank;
    int64_t request;
    std::string key;
  };

  struct Investigation {
    Trouble trouble;
    int rank;
    std::string text;
    std::vector<int> suspects;  // the other side of an operation between two ranks
    Activity activity;
    Clock::time_point since;
  };

  void run();
  int pollTimeout() const;
  void acceptStrangers();
  void greet(Stranger& stranger);
  void listenTo(int rank);
  void handle(int rank, const std::string& frame);
  void store(int rank, MessageReader& reader);
  void reply(int rank, int64_t request, bool found, const std::string& value);
  void arrive(int rank, MessageReader& reader);
  void beginInvestigation(int rank, MessageReader& reader);
  void noteDeath(int rank);
  void noteSilence();
  void checkComplete();
  void decide();
  std::optional<Clock::time_point> decisionTime() const;
  Verdict deathVerdict() const;
  Verdict troubleVerdict() const;
  Verdict joinVerdict() const;
  // What the rank has to do with the operation of the investigation; empty when it is not to blame.
  std::string blame(int rank, bool& silent) const;
  std::string name(int rank) const;
  void declare(Verdict verdict);
  void sendToAll(const std::string& frame);

  const int world_;
  const Milliseconds joinTimeout_;
  const std::string settings_;
  Descriptor listener_;
  WakeUp wakeUp_;
  std::vector<Peer> peers_;
  std::vector<Stranger> strangers_;
  std::unordered_map<std::string, std::string> values_;
  std::vector<WaitingGet> waiting_;
  bool complete_ = false;
  Clock::time_point joinDeadline_;
  std::optional<Clock::time_point> firstDeath_;
  std::optional<Investigation> investigation_;
  std::optional<Verdict> verdict_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace openmanus
