// What the ranks and the coordinator say to each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire.h"

namespace openmanus {

// The first thing a rank says; a change of the messages below changes it.
constexpr const char* kGreeting = "openmanus-rl process group, protocol 1";

enum class Message : uint8_t {
  // From a rank.
  kHello = 1,  // greeting, world, rank, process id, machine, address, settings
  kStore,      // request id, StoreAction, key, value, second value
  kArrive,     // the bytes of a Signature: this rank is in a collective
  kActivity,   // Activity; answers kAsk, and is the sign of life
  kTrouble,    // Trouble, text, reason (of kVerdict), ranks, Activity
  kGoodbye,    // sequence, exit code or -1
  // From the coordinator.
  kWelcome = 64,
  kRefused,   // text
  kBusy,      // an earlier group is still there: try again
  kStored,    // request id, found, value
  kProceed,   // the ranks' signatures match; their bytes, where they differ in size
  kAsk,       // for an Activity
  kEcho,      // answers kActivity
  kComplete,  // all ranks are there
  kDeparted,  // rank, sequence, exit code or -1
  kVerdict,   // Verdict
};

enum class StoreAction : uint8_t { kSet, kGet, kAdd, kCompareSet, kCheck, kDelete, kCount };

// What a rank asks the coordinator to look into.
enum class Trouble : uint8_t {
  kTimeout,  // an operation did not end in time
  kBroken,   // the transport reported an error
  kJoining,  // the others did not come in time
  kKnown,    // the rank knows the cause itself: it goes to everyone as it is
};

enum class Reason : uint8_t { kDied, kLeft, kTimeout, kMismatch, kTransport, kRendezvous, kFailed };

// A rank says something every second, also while it computes: after this long its machine or the
// network to it is gone, which no closed connection tells.
constexpr Milliseconds kSilence(15000);

// The word for JavaScript.
inline const char* reasonName(Reason reason) {
  switch (reason) {
    case Reason::kDied:
      return "died";
    case Reason::kLeft:
      return "left";
    case Reason::kTimeout:
      return "timeout";
    case Reason::kMismatch:
      return "mismatch";
    case Reason::kTransport:
      return "transport";
    case Reason::kFailed:
      return "failed";
    default:
      return "rendezvous";
  }
}

// Why a group failed. One verdict for all ranks: the first counts.
struct Verdict {
  Reason reason = Reason::kTransport;
  std::vector<int> ranks;  // who caused it; empty when nobody did
  std::string text;
};

// What a rank is doing, as it says itself.
struct Activity {
  int64_t sequence = 0;      // the number of the last collective that it called
  bool inside = false;       // whether it is in an operation now
  bool collective = true;    // whether that operation counts in the sequence
  std::string name;          // of this or the last operation: `allReduce #17`
  int64_t milliseconds = 0;  // since it went in, or came out

  void write(MessageWriter& writer) const {
    writer.integer(sequence).integer(inside).integer(collective).text(name).integer(milliseconds);
  }
  static Activity read(MessageReader& reader) {
    Activity activity;
    activity.sequence = reader.integer();
    activity.inside = reader.integer() != 0;
    activity.collective = reader.integer() != 0;
    activity.name = reader.text();
    activity.milliseconds = reader.integer();
    return activity;
  }
};

inline void writeRanks(MessageWriter& writer, const std::vector<int>& ranks) {
  writer.integer(static_cast<int64_t>(ranks.size()));
  for (const int rank : ranks) writer.integer(rank);
}

inline std::vector<int> readRanks(MessageReader& reader) {
  std::vector<int> ranks;
  for (int64_t left = reader.integer(); left > 0; --left)
    ranks.push_back(static_cast<int>(reader.integer()));
  return ranks;
}

// `2.1 s`, `140 ms`.
std::string duration(int64_t milliseconds);

// `rank 2`, `ranks 1, 2 and 3`.
std::string rankList(const std::vector<int>& ranks);

}  // namespace openmanus
