#include "group.h"

#include "door/node.h"

namespace openmanus {

namespace {

// A rank that died or left may have done its part of the operation before: then the operation ends
// by itself within this time, and only the next one fails.
constexpr Milliseconds kGrace(500);
// How long a rank that leaves waits for the others to be done with what it sent.
constexpr Milliseconds kLinger(1000);
// The transport gives up later than we do: its errors do not know who is to blame.
constexpr Milliseconds kTransportMargin(10000);

std::string messageOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& problem) {
    return messageWithoutBacktrace(problem);
  } catch (const std::exception& problem) {
    return problem.what();
  } catch (...) {
    return "unknown error";
  }
}

// Shared with threads that may outlive the wait.
struct Progress {
  bool ended = false;
  std::exception_ptr error;
};

// The wait at the coordinator for all ranks to call the same.
class Meeting : public Flight {
 public:
  Meeting(std::shared_ptr<Link> link, std::string signature)
      : link_(std::move(link)), signature_(std::move(signature)) {}

  bool whenEnded(std::function<void()> callback) override {
    link_->arrive(signature_, std::move(callback));
    return true;
  }

  void block() override {}
  void finish() override {}

 private:
  const std::shared_ptr<Link> link_;
  const std::string signature_;
};

// Runs what blocks on a thread of its own, which a failed group leaves behind.
void runDetached(
    const std::shared_ptr<Link>& link, const std::shared_ptr<Progress>& progress,
    std::function<void()> body) {
  std::thread([link, progress, body = std::move(body)] {
    std::exception_ptr error;
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
    link->update([&] {
      progress->error = error;
      progress->ended = true;
    });
  }).detach();
}

}  // namespace

std::string settingsOf(const GroupOptions& options) {
  return std::string("backend ") + (options.nccl ? "nccl" : "gloo") + ", check " +
         (options.check ? "on" : "off");
}

Group::Group(const GroupOptions& options, std::unique_ptr<Coordinator> coordinator)
    : options_(options), coordinator_(std::move(coordinator)) {
  if (options_.world == 1) {
    sequence_ = 0;
    return;
  }
  if (!hasGloo()) connectGloo(nullptr, 0, 0, Milliseconds(0));  // throws, and says what to do
  if (options_.nccl && !hasNccl()) connectNccl(nullptr, 0, 0, Milliseconds(0));
  if (options_.rank == 0 && !coordinator_)
    coordinator_ = std::make_unique<Coordinator>(
        options_.host, options_.port, options_.world, options_.joinTimeout, settingsOf(options_));
  try {
    link_ = std::make_shared<Link>(LinkOptions{
        options_.host, options_.port, options_.rank, options_.world, options_.joinTimeout,
        settingsOf(options_)});
  } catch (const Verdict& verdict) {
    fail("initializeProcessGroup", verdict);
  }
  connect();
}

void Group::connect() {
  const auto progress = std::make_shared<Progress>();
  // Results go to a place of their own: after a failure nobody may wait for the thread.
  const auto gloo = std::make_shared<std::shared_ptr<Transport>>();
  const auto nccl = std::make_shared<std::shared_ptr<Transport>>();
  const GroupOptions options = options_;
  runDetached(link_, progress, [options, gloo, nccl, link = link_] {
    const Milliseconds timeout = options.timeout + kTransportMargin;
    *gloo = connectGloo(link, options.rank, options.world, timeout);
    if (options.nccl) *nccl = connectNccl(link, options.rank, options.world, timeout);
  });
  std::optional<Verdict> verdict;
  const auto settled = [&] {
    verdict = link_->verdict();
    return progress->ended || verdict.has_value();
  };
  const bool inTime = link_->waitUntil(Clock::now() + options_.joinTimeout, settled);
  if (inTime && !verdict && !progress->error) {
    gloo_ = *gloo;
    nccl_ = *nccl;
    // Nobody goes on before all are here: a rank that fails the group at once would otherwise fail
    // the joining of those that still connect.
    Operation(*this, Signature::of(OperationKind::kBarrier)).meet(/*always=*/true);
    return;
  }
  if (!verdict) {
    const std::string problem =
        inTime ? "connecting to the other ranks broke (" + messageOf(progress->error) + ")"
               : "connecting to the other ranks did not end within " +
                     duration(options_.joinTimeout.count());
    verdict = link_->reportTrouble(
        inTime ? Trouble::kBroken : Trouble::kTimeout, problem, Reason::kRendezvous, {});
  }
  link_->goodbye(-1, Milliseconds(0));  // the thread that still connects keeps the link alive
  fail("initializeProcessGroup", *verdict);
}

Group::~Group() { leave(-1); }

void Group::leave(int64_t exitCode) {
  if (left_) return;
  left_ = true;
  // What is still on its way needs ranks that may never come: it is left behind, as after a failure.
  const bool abandoned = !background_.stop();
  if (failed_ || abandoned) {
    // Its threads may be stuck in an operation until the transport's own timeout, and joining them
    // would take as long: they are left behind.
    new std::shared_ptr<Transport>(std::move(gloo_));
    new std::shared_ptr<Transport>(std::move(nccl_));
  }
  if (link_) link_->goodbye(exitCode, failed_ || abandoned ? Milliseconds(0) : kLinger);
  gloo_.reset();
  nccl_.reset();
  coordinator_.reset();
}

void Group::failWith(const std::string& text) {
  if (!link_ || failed_ || left_) return;
  failed_ = link_->reportTrouble(Trouble::kKnown, text, Reason::kFailed, {rank()});
}

std::string Group::trouble() {
  if (failed_) return failed_->text;
  if (!link_ || left_) return "";
  std::string text;
  link_->update([&] {
    if (link_->verdict()) text = link_->verdict()->text;
  });
  return text;
}

void Group::requireUsable() const {
  if (left_) throw ArgumentError("this process group was destroyed");
  if (failed_)
    throw GroupFailure(
        "this process group cannot be used any more: " + failed_->text +
            ". Destroy it, and start the ranks again",
        *failed_);
}

void Group::fail(const std::string& operation, Verdict verdict) {
  if (!failed_) failed_ = verdict;
  const std::string message = operation + " failed: " + verdict.text;
  throw GroupFailure(message, std::move(verdict));
}

Group::Operation::Operation(Group& group, Signature signature)
    : group_(group), signature_(signature) {
  signature_.sequence = ++group_.sequence_;
  name_ = signature_.name();
  if (group_.link_) group_.link_->enter(name_, true);
}

Group::Operation::Operation(Group& group, const std::string& name, int peer)
    : group_(group), name_(name), peer_(peer), collective_(false) {
  if (group_.link_) group_.link_->enter(name_, false);
}

Group::Operation::~Operation() {
  if (!group_.link_) return;
  // An error of this rank alone (no memory, say): the others wait for a part that will not come.
  if (std::uncaught_exceptions() > exceptions_ && !group_.failed_) {
    const std::string text = "rank " + std::to_string(group_.rank()) + " failed inside " + name_ +
                             " with an error of its own, which its output shows";
    try {
      group_.failed_ =
          group_.link_->reportTrouble(Trouble::kKnown, text, Reason::kTransport, {group_.rank()});
    } catch (...) {
      group_.failed_ = Verdict{Reason::kTransport, {group_.rank()}, text};
    }
  }
  group_.link_->leave();
}

// Whether somebody whose part this operation needs has left before doing it. With the link's mutex.
std::optional<Verdict> Group::Operation::departure() const {
  std::vector<int> ranks;
  std::string text;
  for (const auto& [rank, departure] : group_.link_->departures()) {
    const bool needed = collective_ ? departure.sequence < signature_.sequence : rank == peer_;
    if (!needed) continue;
    ranks.push_back(rank);
    text +=
        (text.empty() ? "rank " : "; rank ") + std::to_string(rank) +
        (departure.exitCode >= 0 ? " has ended with exit code " + std::to_string(departure.exitCode)
                                 : std::string(" has left the group")) +
        " after its collective #" + std::to_string(departure.sequence);
  }
  if (ranks.empty()) return std::nullopt;
  return Verdict{Reason::kLeft, std::move(ranks), std::move(text)};
}

// When to stop waiting because of what happened to others. With the link's mutex held.
std::optional<Clock::time_point> Group::Operation::interruption() const {
  const Link& link = *group_.link_;
  if (link.verdict()) {
    const bool died = link.verdict()->reason == Reason::kDied;
    return link.verdictTime() + (died ? kGrace : Milliseconds(0));
  }
  std::optional<Clock::time_point> soonest;
  for (const auto& [rank, departure] : link.departures()) {
    if (collective_ ? departure.sequence >= signature_.sequence : rank != peer_) continue;
    const Clock::time_point time = departure.heard + (collective_ ? Milliseconds(0) : kGrace);
    if (!soonest || time < *soonest) soonest = time;
  }
  return soonest;
}

void Group::Operation::await(const std::function<std::shared_ptr<Flight>()>& start) {
  const std::shared_ptr<Link> link = group_.link_;
  const auto progress = std::make_shared<Progress>();
  std::shared_ptr<Flight> flight;
  try {
    flight = start();
  } catch (...) {
    // Connections that broke between two operations show here.
    progress->error = std::current_exception();
    progress->ended = true;
  }
  if (flight &&
      !flight->whenEnded([link, progress] { link->update([&] { progress->ended = true; }); }))
    runDetached(link, progress, [flight] { flight->block(); });

  Clock::time_point until = Clock::now() + group_.options_.timeout;
  bool done = false;
  std::optional<Verdict> cause;
  do {
    link->waitUntil(until, [&] {
      done = progress->ended;
      if (done && !progress->error) return true;
      cause = link->verdict() ? link->verdict() : departure();
      const std::optional<Clock::time_point> interrupted = interruption();
      if (!interrupted || *interrupted >= until) return done;
      until = *interrupted;  // wait again, but not as long
      return true;
    });
  } while (!done && Clock::now() < until);

  std::string problem = "did not end within " + duration(group_.options_.timeout.count());
  if (done) {
    try {
      if (progress->error) std::rethrow_exception(progress->error);
      flight->finish();
      return;
    } catch (...) {
      problem = "broke (" + messageOf(std::current_exception()) + ")";
    }
  }
  // The transport goes on with what it was told until it notices; its tensors must live as long.
  new std::shared_ptr<Flight>(flight);
  if (!cause) {
    const std::vector<int> ranks = peer_ < 0 ? std::vector<int>{} : std::vector<int>{peer_};
    cause = link->reportTrouble(
        done ? Trouble::kBroken : Trouble::kTimeout, name_ + " " + problem,
        done ? Reason::kTransport : Reason::kTimeout, ranks);
  }
  group_.fail(name_, *cause);
}

std::vector<Signature> Group::Operation::meet(bool always) {
  if (group_.world() == 1) return {signature_};
  if (!always && !group_.options_.check) return {};
  await([this] { return std::make_shared<Meeting>(group_.link_, signature_.bytes()); });
  const std::string bytes = group_.link_->signatures();
  std::vector<Signature> signatures;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Signature))
    signatures.push_back(Signature::fromBytes(bytes.substr(at, sizeof(Signature))));
  return signatures;
}

void Group::Operation::fail(const std::string& text, std::vector<int> ranks) {
  group_.fail(name_, group_.link_->reportTrouble(Trouble::kKnown, text, Reason::kMismatch, ranks));
}

}  // namespace openmanus
