// A process group: its lifetime, the numbering of its operations, and the waiting in them.
//
// Operations block the JavaScript thread. They end with their result, or with a GroupFailure that
// says which rank caused it; after that the group refuses everything except its destruction.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>

#include "distributed/collectives/background.h"
#include "distributed/collectives/signature.h"
#include "distributed/rendezvous/coordinator.h"
#include "distributed/rendezvous/link.h"
#include "distributed/transport/transport.h"

namespace openmanus {

struct GroupFailure : std::runtime_error {
  GroupFailure(const std::string& message, Verdict cause)
      : std::runtime_error(message), verdict(std::move(cause)) {}
  Verdict verdict;
};

struct GroupOptions {
  int rank = 0;
  int world = 1;
  std::string host;
  uint16_t port = 0;
  Milliseconds timeout{0};
  Milliseconds joinTimeout{0};
  bool nccl = false;
  bool check = true;
};

// What must be the same on all ranks.
std::string settingsOf(const GroupOptions& options);

class Group {
 public:
  // A coordinator that listens already may be given, to rank 0.
  explicit Group(const GroupOptions& options, std::unique_ptr<Coordinator> coordinator = nullptr);
  ~Group();

  const GroupOptions& options() const { return options_; }
  // The address of this rank that the others can reach; empty in a world of one.
  std::string address() const { return link_ ? link_->address() : ""; }

  // Operations that nobody waits for yet: one after the other, on a thread of their own. All other
  // operations wait for the end of those before (`drain`): the order is the same on all ranks.
  Background& background() { return background_; }

  int rank() const { return options_.rank; }
  int world() const { return options_.world; }

  // Throws GroupFailure once the group has failed.
  void requireUsable() const;
  Transport& gloo() { return *gloo_; }
  // Null unless the group was made with it.
  Transport* nccl() { return nccl_.get(); }

  // The operation that is going on; there is one at a time.
  class Operation {
   public:
    Operation(Group& group, Signature signature);                // a collective
    Operation(Group& group, const std::string& name, int peer);  // between two ranks
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // Waits until all ranks have called the same; also when `check` is off if `always`. The result
    // has their signatures if sizes may differ.
    std::vector<Signature> meet(bool always = false);
    // Starts something on the transport and waits for it.
    void await(const std::function<std::shared_ptr<Flight>()>& start);
    // Fails the group on all ranks for a cause that this rank knows.
    [[noreturn]] void fail(const std::string& text, std::vector<int> ranks);

   private:
    std::optional<Clock::time_point> interruption() const;
    std::optional<Verdict> departure() const;
    Group& group_;
    Signature signature_;
    std::string name_;
    int peer_ = -1;
    bool collective_ = true;
    const int exceptions_ = std::uncaught_exceptions();
  };

  // Fails the group on all ranks: this rank's own work failed, and the text says of what.
  void failWith(const std::string& text);
  // Why the group has failed, as far as is known now; empty: it has not.
  std::string trouble();

  // Says goodbye and frees everything. exitCode: why the process ends, or -1.
  void leave(int64_t exitCode);

 private:
  void connect();
  [[noreturn]] void fail(const std::string& operation, Verdict verdict);

  const GroupOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Transport> gloo_;
  std::shared_ptr<Transport> nccl_;
  Background background_;
  std::optional<Verdict> failed_;
  bool left_ = false;
  int64_t sequence_ = -1;  // joining is collective number 0
};

}  // namespace openmanus
