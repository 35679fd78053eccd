// A process group: its lifetime, the numbering of its operations, and the waiting in them.
//
// Operations block the JavaScript thread. They end with their result, or with a GroupFailure that
// says which rank caused it; after that the group refuses everything except its destruction.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>

#include "coordinator.h"
#include "link.h"
#include "signature.h"
#include "transport.h"

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

class Group {
 public:
  explicit Group(const GroupOptions& options);
  ~Group();

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
  std::optional<Verdict> failed_;
  bool left_ = false;
  int64_t sequence_ = -1;  // joining is collective number 0
};

}  // namespace openmanus
