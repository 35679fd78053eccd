#include "coordinator.h"

#include <poll.h>

#include <algorithm>

namespace openmanus {

namespace {

// Deaths that come together are named together.
constexpr Milliseconds kSettle(100);
// A broken transport is often the first sign of a death; its connection closes a moment later.
constexpr Milliseconds kBrokenPatience(300);
// How long a rank may take to say what it is doing. Threads that only answer do so at once, even on
// a machine with far too much to do.
constexpr Milliseconds kAnswerPatience(2000);
constexpr Milliseconds kStrangerPatience(10000);
constexpr size_t kFrameLimit = 64 << 20;

std::string where(const Activity& activity) {
  return (activity.inside ? "in " : "after ") + activity.name;
}

}  // namespace

std::string duration(int64_t milliseconds) {
  char text[32];
  if (milliseconds < 1000)
    snprintf(text, sizeof text, "%lld ms", static_cast<long long>(milliseconds));
  else
    snprintf(text, sizeof text, "%.1f s", static_cast<double>(milliseconds) / 1000);
  return text;
}

std::string rankList(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

Coordinator::Coordinator(
    const std::string& host, uint16_t port, int world, Milliseconds joinTimeout,
    const std::string& settings)
    : world_(world),
      joinTimeout_(joinTimeout),
      settings_(settings),
      listener_(listenOn(host, port)),
      peers_(static_cast<size_t>(world)),
      joinDeadline_(Clock::now() + joinTimeout) {
  thread_ = std::thread([this] { run(); });
}

Coordinator::~Coordinator() {
  stopping_ = true;
  wakeUp_.signal();
  thread_.join();
}

void Coordinator::run() {
  std::vector<pollfd> polled;
  while (!stopping_) {
    polled.clear();
    polled.push_back({wakeUp_.number(), POLLIN, 0});
    polled.push_back({listener_.number(), POLLIN, 0});
    const auto add = [&](const Connection& connection) {
      const short events = connection.sending() ? POLLIN | POLLOUT : POLLIN;
      if (connection.open()) polled.push_back({connection.number(), events, 0});
    };
    for (const Peer& peer : peers_) add(peer.connection);
    for (const Stranger& stranger : strangers_) add(stranger.connection);
    if (poll(polled.data(), polled.size(), pollTimeout()) < 0) continue;

    // Connections are few and their sockets never block, so all are tried rather than looked up.
    // Known ranks first: one that comes back for the next group has said goodbye to this one.
    wakeUp_.clear();
    for (int rank = 0; rank < world_; ++rank) listenTo(rank);
    acceptStrangers();
    for (Stranger& stranger : strangers_) greet(stranger);
    strangers_.erase(
        std::remove_if(
            strangers_.begin(), strangers_.end(),
            [](const Stranger& one) { return !one.connection.open(); }),
        strangers_.end());
    decide();
  }
  // Rank 0 leaves: what was said to the others must still reach them.
  const Clock::time_point patience = Clock::now() + Milliseconds(500);
  for (Peer& peer : peers_)
    while (peer.connection.sending() && peer.connection.open() && Clock::now() < patience) {
      pollfd writable{peer.connection.number(), POLLOUT, 0};
      poll(&writable, 1, 50);
      peer.connection.flush();
    }
}

int Coordinator::pollTimeout() const {
  const std::optional<Clock::time_point> due = decisionTime();
  if (!due) return 1000;
  const auto left = std::chrono::duration_cast<Milliseconds>(*due - Clock::now()).count() + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
}

void Coordinator::acceptStrangers() {
  while (true) {
    Descriptor socket = acceptFrom(listener_);
    if (!socket.open()) return;
    strangers_.push_back({Connection(std::move(socket)), Clock::now()});
  }
}

// The first message of a new connection decides whether it becomes a rank.
void Coordinator::greet(Stranger& stranger) {
  stranger.connection.receive();
  std::string frame;
  if (!stranger.connection.next(frame)) {
    if (Clock::now() > stranger.arrived + kStrangerPatience) stranger.connection.close();
    return;
  }
  const auto refuse = [&](const std::string& text) {
    stranger.connection.send(
        MessageWriter(static_cast<uint8_t>(Message::kRefused)).text(text).bytes());
    stranger.connection.close();
  };
  try {
    MessageReader reader(frame);
    if (reader.type() != static_cast<uint8_t>(Message::kHello) || reader.text() != kGreeting)
      return refuse("the versions of openmanus-rl on the ranks differ");
    const int64_t world = reader.integer();
    const int64_t rank = reader.integer();
    if (world != world_)
      return refuse(
          "this rank was told that the world has " + std::to_string(world) +
          " ranks, rank 0 that it has " + std::to_string(world_) +
          ". Set the same WORLD_SIZE on all ranks");
    if (rank < 0 || rank >= world_) return refuse("there is no rank " + std::to_string(rank));
    const int64_t process = reader.integer();
    const std::string machine = reader.text();
    Peer& peer = peers_[static_cast<size_t>(rank)];
    const bool same = peer.process == process && peer.machine == machine;
    if (peer.alive() && !verdict_ && !same)
      return refuse(
          "another process (" + std::to_string(peer.process) + " on " + peer.machine +
          ") has already joined as rank " + std::to_string(rank) +
          ". Give every process its own RANK, and every run its own MASTER_PORT");
    if (peer.joined || verdict_) {
      // The group of this coordinator is over; the next one on this port has to wait for its end.
      stranger.connection.send(MessageWriter(static_cast<uint8_t>(Message::kBusy)).bytes());
      return stranger.connection.close();
    }
    const std::string address = reader.text();
    const std::string settings = reader.text();
    if (settings != settings_)
      return refuse(
          "this rank has " + settings + ", rank 0 has " + settings_ +
          ". Give all ranks the same options");
    peer.process = process;
    peer.machine = machine;
    peer.address = address;
    peer.joined = true;
    peer.heard = Clock::now();
    peer.connection = std::move(stranger.connection);
    peer.connection.frameLimit = kFrameLimit;
    peer.connection.send(MessageWriter(static_cast<uint8_t>(Message::kWelcome)).bytes());
    checkComplete();
  } catch (const std::exception&) {
    stranger.connection.close();
  }
}

void Coordinator::checkComplete() {
  if (!std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.joined; }))
    return;
  complete_ = true;
  std::vector<int> local, remote;
  for (int rank = 0; rank < world_; ++rank)
    (isLoopback(peers_[static_cast<size_t>(rank)].address) ? local : remote).push_back(rank);
  if (!local.empty() && !remote.empty())
    return declare(
        {Reason::kRendezvous, local,
         rankList(local) +
             " reached MASTER_ADDR by a loopback address, where the other machines "
             "cannot reach them back. Set MASTER_ADDR to an address that means the same "
             "on all machines, or GLOO_SOCKET_IFNAME to the network interface to use"});
  sendToAll(MessageWriter(static_cast<uint8_t>(Message::kComplete)).bytes());
}

void Coordinator::listenTo(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (!peer.joined || peer.dead || !peer.connection.open()) return;
  peer.connection.flush();
  peer.connection.receive();
  std::string frame;
  while (peer.connection.next(frame)) {
    peer.heard = Clock::now();
    try {
      handle(rank, frame);
    } catch (const std::exception&) {
      peer.connection.close();
    }
  }
  if (!peer.connection.open() && !peer.departed) noteDeath(rank);
}

void Coordinator::handle(int rank, const std::string& frame) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  MessageReader reader(frame);
  switch (static_cast<Message>(reader.type())) {
    case Message::kStore:
      return store(rank, reader);
    case Message::kArrive:
      return arrive(rank, reader);
    case Message::kActivity:
      peer.activity = Activity::read(reader);
      peer.answered = true;
      return peer.connection.send(MessageWriter(static_cast<uint8_t>(Message::kEcho)).bytes());
    case Message::kTrouble:
      return beginInvestigation(rank, reader);
    case Message::kGoodbye: {
      peer.departed = true;
      peer.activity.sequence = reader.integer();
      peer.exitCode = reader.integer();
      return sendToAll(MessageWriter(static_cast<uint8_t>(Message::kDeparted))
                           .integer(rank)
                           .integer(peer.activity.sequence)
                           .integer(peer.exitCode)
                           .bytes());
    }
    default:
      throw std::runtime_error("unknown message");
  }
}

void Coordinator::store(int rank, MessageReader& reader) {
  const int64_t request = reader.integer();
  const auto action = static_cast<StoreAction>(reader.integer());
  const std::string key = reader.text();
  const std::string first = reader.text();
  const std::string second = reader.text();
  const auto found = values_.find(key);
  const bool exists = found != values_.end();
  const auto put = [&](const std::string& value) {
    values_[key] = value;
    const auto answered = [&](const WaitingGet& get) {
      if (get.key != key) return false;
      reply(get.rank, get.request, true, value);
      return true;
    };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), answered), waiting_.end());
  };
  switch (action) {
    case StoreAction::kSet:
      put(first);
      return reply(rank, request, true, "");
    case StoreAction::kGet:
      if (exists) return reply(rank, request, true, found->second);
      waiting_.push_back({rank, request, key});
      return;
    case StoreAction::kAdd: {
      const int64_t before = exists ? std::stoll(found->second) : 0;
      const std::string sum = std::to_string(before + std::stoll(first));
      put(sum);
      return reply(rank, request, true, sum);
    }
    case StoreAction::kCompareSet:
      if (exists ? found->second == first : first.empty()) {
        put(second);
        return reply(rank, request, true, second);
      }
      return reply(rank, request, exists, exists ? found->second : first);
    case StoreAction::kCheck:
      return reply(rank, request, exists, "");
    case StoreAction::kDelete:
      if (exists) values_.erase(found);
      return reply(rank, request, exists, "");
    case StoreAction::kCount:
      return reply(rank, request, true, std::to_string(values_.size()));
  }
  throw std::runtime_error("unknown request");
}

void Coordinator::reply(int rank, int64_t request, bool found, const std::string& value) {
  peers_[static_cast<size_t>(rank)].connection.send(
      MessageWriter(static_cast<uint8_t>(Message::kStored))
          .integer(request)
          .integer(found)
          .text(value)
          .bytes());
}

void Coordinator::arrive(int rank, MessageReader& reader) {
  Peer& arriving = peers_[static_cast<size_t>(rank)];
  arriving.arrived = Signature::fromBytes(reader.text());
  arriving.activity.sequence = arriving.arrived->sequence;
  arriving.activity.name = arriving.arrived->name();
  arriving.activity.inside = arriving.activity.collective = true;
  arriving.activity.milliseconds = 0;
  std::vector<Signature> signatures;
  for (const Peer& peer : peers_) {
    if (!peer.arrived) return;
    signatures.push_back(*peer.arrived);
  }
  for (Peer& peer : peers_) peer.arrived.reset();
  if (verdict_) return;
  if (std::optional<Verdict> mismatch = compareSignatures(signatures))
    return declare(std::move(*mismatch));
  std::string bytes;
  if (signatures[0].sizesDiffer())
    for (const Signature& signature : signatures) bytes += signature.bytes();
  sendToAll(MessageWriter(static_cast<uint8_t>(Message::kProceed)).text(bytes).bytes());
}

void Coordinator::beginInvestigation(int rank, MessageReader& reader) {
  const auto trouble = static_cast<Trouble>(reader.integer());
  const std::string text = reader.text();
  const auto reason = static_cast<Reason>(reader.integer());
  const std::vector<int> ranks = readRanks(reader);
  const Activity activity = Activity::read(reader);
  if (verdict_ || investigation_) return;
  if (trouble == Trouble::kKnown) return declare({reason, ranks, text});
  if (trouble == Trouble::kJoining) return declare(joinVerdict());
  investigation_ = Investigation{trouble, rank, text, ranks, activity, Clock::now()};
  for (Peer& peer : peers_) peer.answered = false;
  Peer& asking = peers_[static_cast<size_t>(rank)];
  asking.activity = activity;
  asking.answered = true;
  const std::string ask = MessageWriter(static_cast<uint8_t>(Message::kAsk)).bytes();
  for (Peer& peer : peers_)
    if (peer.alive() && !peer.answered) peer.connection.send(ask);
}

void Coordinator::noteDeath(int rank) {
  peers_[static_cast<size_t>(rank)].dead = true;
  if (!firstDeath_) firstDeath_ = Clock::now();
}

// When the next decision can be taken, with what is known now.
std::optional<Clock::time_point> Coordinator::decisionTime() const {
  if (verdict_) return std::nullopt;
  if (firstDeath_) return *firstDeath_ + kSettle;
  std::optional<Clock::time_point> due;
  if (!complete_) due = joinDeadline_;
  if (investigation_) {
    const bool answered = std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
      return peer.answered || !peer.alive();
    });
    const bool broken = investigation_->trouble == Trouble::kBroken;
    const Milliseconds patience =
        !answered ? kAnswerPatience : (broken ? kBrokenPatience : Milliseconds(0));
    const Clock::time_point known = investigation_->since + patience;
    if (!due || known < *due) due = known;
  }
  return due;
}

void Coordinator::noteSilence() {
  if (!complete_ || verdict_) return;
  for (int rank = 0; rank < world_; ++rank) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (!peer.alive() || Clock::now() - peer.heard < kSilence) continue;
    peer.silent = true;
    noteDeath(rank);
  }
}

void Coordinator::decide() {
  noteSilence();
  const std::optional<Clock::time_point> due = decisionTime();
  if (!due || Clock::now() < *due) return;
  if (firstDeath_) return declare(deathVerdict());
  declare(investigation_ ? troubleVerdict() : joinVerdict());
}

std::string Coordinator::name(int rank) const {
  const Peer& peer = peers_[static_cast<size_t>(rank)];
  return "rank " + std::to_string(rank) + " (process " + std::to_string(peer.process) + " on " +
         peer.machine + ")";
}

Verdict Coordinator::deathVerdict() const {
  Verdict verdict;
  verdict.reason = Reason::kDied;
  for (int rank = 0; rank < world_; ++rank) {
    const Peer& peer = peers_[static_cast<size_t>(rank)];
    if (!peer.dead) continue;
    verdict.ranks.push_back(rank);
    const std::string how = peer.silent ? " has not been heard for " + duration(kSilence.count()) +
                                              ": its machine, or the network to it, is gone; "
                                        : " died: its connection closed without a goodbye, ";
    verdict.text += (verdict.text.empty() ? "" : "; ") + name(rank) + how +
                    (peer.activity.name.empty() ? "before it called any operation"
                                                : "last heard of " + where(peer.activity));
  }
  return verdict;
}

Verdict Coordinator::joinVerdict() const {
  Verdict verdict;
  verdict.reason = Reason::kRendezvous;
  for (int rank = 0; rank < world_; ++rank)
    if (!peers_[static_cast<size_t>(rank)].joined) verdict.ranks.push_back(rank);
  verdict.text = rankList(verdict.ranks) + " of " + std::to_string(world_) +
                 " did not join within " + duration(joinTimeout_.count()) +
                 ". Are they started, with the same MASTER_ADDR and MASTER_PORT?";
  return verdict;
}

std::string Coordinator::blame(int rank, bool& silent) const {
  const Peer& peer = peers_[static_cast<size_t>(rank)];
  const Activity& mine = investigation_->activity;
  const Activity& its = peer.activity;
  if (rank == investigation_->rank) return "";
  const std::string last =
      its.name.empty() ? "it has not called any operation yet"
      : its.inside
          ? "it is in " + its.name + " for " + duration(its.milliseconds)
          : "its last operation, " + its.name + ", ended " + duration(its.milliseconds) + " ago";
  if (peer.departed)
    return its.sequence < mine.sequence || !mine.collective ? name(rank) + " has left the group"
                                                            : "";
  if (!peer.answered) {
    silent = true;
    const auto quiet = std::chrono::duration_cast<Milliseconds>(Clock::now() - peer.heard).count();
    return name(rank) + " has not answered for " + duration(quiet) +
           (its.name.empty() ? "" : " (last heard of " + where(its) + ")");
  }
  if (!mine.collective) {
    const std::vector<int>& suspects = investigation_->suspects;
    if (std::find(suspects.begin(), suspects.end(), rank) == suspects.end()) return "";
    return name(rank) + " has not called the other side: " + last;
  }
  const bool there = its.inside && its.collective && its.sequence == mine.sequence;
  const bool past = its.sequence > mine.sequence || (its.sequence == mine.sequence && !its.inside);
  if (there || past) return "";
  return name(rank) + " has not called it: " + last;
}

Verdict Coordinator::troubleVerdict() const {
  const Investigation& found = *investigation_;
  Verdict verdict;
  verdict.reason = found.trouble == Trouble::kTimeout ? Reason::kTimeout : Reason::kTransport;
  std::vector<std::string> named;
  for (int rank = 0; rank < world_; ++rank) {
    bool silent = false;
    const std::string text = blame(rank, silent);
    if (text.empty()) continue;
    // A broken transport is only explained by ranks that are not there.
    if (found.trouble == Trouble::kBroken && !silent && !peers_[static_cast<size_t>(rank)].departed)
      continue;
    verdict.ranks.push_back(rank);
    named.push_back(text);
  }
  verdict.text = found.text + " on rank " + std::to_string(found.rank) +
                 (named.empty() ? ", although all ranks are alive and answer" : "");
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < named.size() && i < kShown; ++i)
    verdict.text += (i == 0 ? ": " : "; ") + named[i];
  if (named.size() > kShown)
    verdict.text += "; and " + std::to_string(named.size() - kShown) + " more ranks";
  return verdict;
}

void Coordinator::declare(Verdict verdict) {
  verdict_ = std::move(verdict);
  MessageWriter writer(static_cast<uint8_t>(Message::kVerdict));
  writer.integer(static_cast<int64_t>(verdict_->reason)).text(verdict_->text);
  writeRanks(writer, verdict_->ranks);
  sendToAll(writer.bytes());
}

// Rank 0 comes last: when it acts on the message and ends, the others have theirs.
void Coordinator::sendToAll(const std::string& frame) {
  for (size_t rank = peers_.size(); rank-- > 0;)
    if (peers_[rank].joined && !peers_[rank].dead) peers_[rank].connection.send(frame);
}

}  // namespace openmanus
