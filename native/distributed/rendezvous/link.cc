#include "link.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace openmanus {

namespace {

// How often a rank tells the coordinator what it is doing: soon after a change, so that the last word
// of a rank that dies is fresh, and otherwise as a sign of life.
constexpr Milliseconds kNews(200);
constexpr Milliseconds kSignOfLife(1000);
// Longer than the coordinator takes to question all ranks.
constexpr Milliseconds kVerdictPatience(4000);
constexpr size_t kFrameLimit = 64 << 20;

std::string machineName() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name);
  return name;
}

Verdict rendezvousVerdict(const std::string& text, std::vector<int> ranks = {}) {
  return Verdict{Reason::kRendezvous, std::move(ranks), text};
}

int64_t millisecondsSince(Clock::time_point time) {
  return std::chrono::duration_cast<Milliseconds>(Clock::now() - time).count();
}

}  // namespace

Link::Link(const LinkOptions& options)
    : rank_(options.rank),
      world_(options.world),
      where_(options.host + ":" + std::to_string(options.port)),
      joinTimeout_(options.joinTimeout),
      heard_(Clock::now()),
      activitySince_(Clock::now()) {
  join(options);
}

Link::~Link() { goodbye(-1, Milliseconds(0)); }

void Link::join(const LinkOptions& options) {
  const Clock::time_point deadline = Clock::now() + joinTimeout_;
  const std::string unreachable =
      "rank 0 does not answer at " + where_ + " within " + duration(joinTimeout_.count());
  while (true) {
    Descriptor socket;
    try {
      socket = connectTo(options.host, options.port, deadline);
    } catch (const std::exception& error) {
      throw rendezvousVerdict(
          unreachable + ": " + error.what() +
              ". Is it started, and do MASTER_ADDR and MASTER_PORT point to it?",
          {0});
    }
    address_ = localAddress(socket.number());
    connection_ = Connection(std::move(socket));
    connection_.frameLimit = kFrameLimit;
    connection_.send(MessageWriter(static_cast<uint8_t>(Message::kHello))
                         .text(kGreeting)
                         .integer(options.world)
                         .integer(options.rank)
                         .integer(getpid())
                         .text(machineName())
                         .text(address_)
                         .text(options.settings)
                         .bytes());
    std::string frame;
    while (!connection_.next(frame) && connection_.open()) {
      if (Clock::now() > deadline)
        throw rendezvousVerdict(
            unreachable + ": it accepts connections but is not a rank of openmanus-rl", {0});
      pollfd readable{connection_.number(), POLLIN, 0};
      poll(&readable, 1, 100);
      connection_.receive();
    }
    if (!frame.empty()) {
      MessageReader reader(frame);
      if (reader.type() == static_cast<uint8_t>(Message::kWelcome)) break;
      if (reader.type() == static_cast<uint8_t>(Message::kRefused))
        throw rendezvousVerdict(
            "rank 0 at " + where_ + " refuses rank " + std::to_string(rank_) + ": " +
            reader.text());
    }
    // Busy with an earlier group, or gone between two: try again.
    if (Clock::now() + Milliseconds(50) > deadline)
      throw rendezvousVerdict(unreachable + ": an earlier group is still there", {0});
    std::this_thread::sleep_for(Milliseconds(50));
  }
  thread_ = std::thread([this] { run(); });
  const bool settled = waitUntil(deadline, [this] { return complete_ || verdict_; });
  std::optional<Verdict> failure;
  if (!settled)
    failure = reportTrouble(Trouble::kJoining, "", Reason::kRendezvous, {});
  else if (verdict_)
    failure = verdict_;
  if (failure) {
    goodbye(-1, Milliseconds(0));
    throw *failure;
  }
}

void Link::run() {
  Clock::time_point sent = Clock::now();
  std::vector<std::string> frames;
  while (true) {
    pollfd polled[] = {{wakeUp_.number(), POLLIN, 0}, {-1, POLLIN, 0}};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      connection_.flush();
      connection_.receive();
      std::string frame;
      while (connection_.next(frame)) frames.push_back(std::move(frame));
      if (complete_ && !stopping_ && Clock::now() - heard_ > kSilence) {
        setVerdict(
            {Reason::kDied,
             {0},
             "rank 0 at " + where_ + " has not been heard for " + duration(kSilence.count()) +
                 ": its machine, or the network to it, is gone"});
        changed_.notify_all();
      }
      const Milliseconds pause = activityChanged_ ? kNews : kSignOfLife;
      if (millisecondsSince(sent) >= pause.count()) {
        sendActivity();
        sent = Clock::now();
      }
      if (stopping_ && !connection_.sending()) return;
      polled[1].fd = connection_.number();
      if (connection_.sending()) polled[1].events |= POLLOUT;
    }
    for (const std::string& frame : frames) handle(frame);
    frames.clear();
    if (polled[1].fd < 0) return connectionEnded();
    // Changes of activity are looked for at the rate at which they are told.
    poll(polled, 2, static_cast<int>(kNews.count()));
    wakeUp_.clear();
  }
}

void Link::handle(const std::string& frame) {
  MessageReader reader(frame);
  std::function<void()> proceed;
  std::unique_lock<std::mutex> lock(mutex_);
  heard_ = Clock::now();
  switch (static_cast<Message>(reader.type())) {
    case Message::kAsk:
      return sendActivity();
    case Message::kProceed:
      signatures_ = reader.text();
      proceed = std::move(proceed_);
      proceed_ = nullptr;
      lock.unlock();  // it takes the lock itself
      if (proceed) proceed();
      return;
    case Message::kStored: {
      const auto request = requests_.find(reader.integer());
      if (request == requests_.end()) return;  // nobody waits for it any more
      request->second.found = reader.integer() != 0;
      request->second.value = reader.text();
      request->second.done = true;
      break;
    }
    case Message::kComplete:
      complete_ = true;
      break;
    case Message::kDeparted: {
      const int rank = static_cast<int>(reader.integer());
      if (rank == rank_) return;
      Departure& departure = departures_[rank];
      departure.sequence = reader.integer();
      departure.exitCode = reader.integer();
      departure.heard = heard_;
      break;
    }
    case Message::kVerdict: {
      Verdict verdict;
      verdict.reason = static_cast<Reason>(reader.integer());
      verdict.text = reader.text();
      verdict.ranks = readRanks(reader);
      setVerdict(std::move(verdict));
      break;
    }
    default:
      break;
  }
  changed_.notify_all();
}

// Nothing comes from the coordinator any more.
void Link::connectionEnded() {
  std::lock_guard<std::mutex> lock(mutex_);
  coordinatorLeft_ = true;
  if (!departures_.count(0))
    setVerdict(
        {Reason::kDied,
         {0},
         "rank 0 died: its connection at " + where_ +
             ", where the ranks meet, closed without a goodbye"});
  changed_.notify_all();
}

// With the mutex held. The first verdict counts: later ones are consequences of it.
void Link::setVerdict(Verdict verdict) {
  if (verdict_) return;
  verdict_ = std::move(verdict);
  verdictTime_ = Clock::now();
}

Activity Link::activity() {
  Activity now = activity_;
  now.milliseconds = millisecondsSince(activitySince_);
  activityChanged_ = false;
  return now;
}

void Link::sendActivity() {
  MessageWriter writer(static_cast<uint8_t>(Message::kActivity));
  activity().write(writer);
  connection_.send(writer.bytes());
}

void Link::post(const std::string& frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  connection_.send(frame);
  if (connection_.sending()) wakeUp_.signal();  // the thread sends the rest
}

bool Link::waitUntil(Clock::time_point deadline, const std::function<bool()>& condition) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, condition);
}

void Link::update(const std::function<void()>& change) {
  std::lock_guard<std::mutex> lock(mutex_);
  change();
  changed_.notify_all();
}

void Link::enter(const std::string& name, bool collective) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (collective) ++activity_.sequence;
  activity_.collective = collective;
  activity_.inside = true;
  activity_.name = name;
  activitySince_ = Clock::now();
  activityChanged_ = true;
}

void Link::leave() {
  std::lock_guard<std::mutex> lock(mutex_);
  activity_.inside = false;
  activitySince_ = Clock::now();
  activityChanged_ = true;
}

int64_t Link::sequence() {
  std::lock_guard<std::mutex> lock(mutex_);
  return activity_.sequence;
}

Verdict Link::reportTrouble(
    Trouble trouble, const std::string& text, Reason reason, const std::vector<int>& ranks) {
  MessageWriter writer(static_cast<uint8_t>(Message::kTrouble));
  writer.integer(static_cast<int64_t>(trouble)).text(text).integer(static_cast<int64_t>(reason));
  writeRanks(writer, ranks);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    activity().write(writer);
  }
  post(writer.bytes());
  const bool decided = waitUntil(
      Clock::now() + kVerdictPatience, [this] { return verdict_.has_value() || coordinatorLeft_; });
  std::lock_guard<std::mutex> lock(mutex_);
  if (!verdict_) {
    const std::string here = text + " on rank " + std::to_string(rank_);
    const std::string left = here + "; rank 0, which would know more, has left the group";
    const std::string silent = here + ": rank 0, where the ranks meet, has not answered for " +
                               duration(millisecondsSince(heard_));
    if (decided)
      setVerdict({reason, ranks, left});
    else
      setVerdict({reason, {0}, silent});
  }
  return *verdict_;
}

void Link::arrive(const std::string& signature, std::function<void()> proceed) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    proceed_ = std::move(proceed);
  }
  post(MessageWriter(static_cast<uint8_t>(Message::kArrive)).text(signature).bytes());
}

std::string Link::signatures() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::move(signatures_);
}

std::string Link::store(
    StoreAction action, const std::string& key, const std::string& first, const std::string& second,
    Clock::time_point deadline, bool* found) {
  int64_t id;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    id = ++lastRequest_;
    requests_[id];
  }
  post(MessageWriter(static_cast<uint8_t>(Message::kStore))
           .integer(id)
           .integer(static_cast<int64_t>(action))
           .text(key)
           .text(first)
           .text(second)
           .bytes());
  waitUntil(
      deadline, [&] { return requests_[id].done || verdict_.has_value() || coordinatorLeft_; });
  std::lock_guard<std::mutex> lock(mutex_);
  const Request request = requests_[id];
  requests_.erase(id);
  if (!request.done) {
    if (verdict_) throw *verdict_;
    throw std::runtime_error("no rank has set '" + key + "' at " + where_ + " in time");
  }
  if (found) *found = request.found;
  return request.value;
}

void Link::goodbye(int64_t exitCode, Milliseconds patience) {
  if (!thread_.joinable()) return;
  post(MessageWriter(static_cast<uint8_t>(Message::kGoodbye))
           .integer(sequence())
           .integer(exitCode)
           .bytes());
  const auto others = static_cast<size_t>(world_ - 1);
  waitUntil(Clock::now() + patience, [&] {
    return departures_.size() == others || verdict_ || coordinatorLeft_;
  });
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    coordinatorLeft_ = true;  // nobody answers from now on
    wakeUp_.signal();
  }
  changed_.notify_all();
  thread_.join();
  connection_.close();
}

}  // namespace openmanus
