// A rank's connection to the coordinator, with a thread of its own.
//
// The thread answers for this rank whatever the JavaScript thread is doing, and hears what happened
// to the others. Everything that a blocked operation waits for (its own end, a verdict, a rank that
// left) is announced by one condition variable, so that no wait can miss the end of the group.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "protocol.h"

namespace openmanus {

struct LinkOptions {
  std::string host;
  uint16_t port = 0;
  int rank = 0;
  int world = 1;
  Milliseconds joinTimeout{0};
  std::string settings;  // what must be the same on all ranks
};

// A rank that said goodbye.
struct Departure {
  int64_t sequence = 0;   // the last collective that it called
  int64_t exitCode = -1;  // -1: it destroyed its group
  Clock::time_point heard;
};

class Link {
 public:
  // Connects and joins; returns when all ranks have. Throws a Verdict on failure.
  explicit Link(const LinkOptions& options);
  ~Link();

  // The address of this rank that the others can reach.
  const std::string& address() const { return address_; }

  // Waits until the condition holds or the deadline passes. Conditions are evaluated with the mutex
  // held, so they may use the functions below.
  bool waitUntil(Clock::time_point deadline, const std::function<bool()>& condition);
  // Changes what conditions look at.
  void update(const std::function<void()>& change);

  const std::optional<Verdict>& verdict() const { return verdict_; }
  Clock::time_point verdictTime() const { return verdictTime_; }
  const std::map<int, Departure>& departures() const { return departures_; }
  bool coordinatorLeft() const { return coordinatorLeft_; }

  void enter(const std::string& name, bool collective);
  void leave();
  int64_t sequence();

  // Asks the coordinator for a verdict and waits for it; if it does not answer, that is the verdict.
  Verdict reportTrouble(
      Trouble trouble, const std::string& text, Reason reason, const std::vector<int>& ranks);

  // Tells the coordinator what this rank calls; calls back when all ranks have called the same. Then
  // `signatures` has the bytes of all ranks' signatures, for operations whose sizes differ.
  void arrive(const std::string& signature, std::function<void()> proceed);
  std::string signatures();

  // One request to the coordinator's keys. Throws when the group fails or the deadline passes.
  std::string store(
      StoreAction action, const std::string& key, const std::string& first,
      const std::string& second, Clock::time_point deadline, bool* found);

  // Leaves the group, and stays for at most `patience` until all others have left too: they may
  // still be reading what this rank sent in the last operation.
  void goodbye(int64_t exitCode, Milliseconds patience);

 private:
  struct Request {
    bool done = false;
    bool found = false;
    std::string value;
  };

  void join(const LinkOptions& options);
  void run();
  void handle(const std::string& frame);
  void connectionEnded();
  // With the mutex held.
  Activity activity();
  void sendActivity();
  void post(const std::string& frame);
  void setVerdict(Verdict verdict);  // with the mutex held

  const int rank_;
  const int world_;
  const std::string where_;
  const Milliseconds joinTimeout_;
  std::string address_;
  WakeUp wakeUp_;

  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  Connection connection_;
  bool stopping_ = false;
  bool complete_ = false;
  bool coordinatorLeft_ = false;
  std::optional<Verdict> verdict_;
  Clock::time_point verdictTime_;
  std::map<int, Departure> departures_;
  std::map<int64_t, Request> requests_;
  int64_t lastRequest_ = 0;
  std::function<void()> proceed_;
  std::string signatures_;
  Clock::time_point heard_;  // when the coordinator last said anything

  Activity activity_{-1};  // joining is collective number 0
  Clock::time_point activitySince_;
  bool activityChanged_ = false;

  std::thread thread_;
};

}  // namespace openmanus
