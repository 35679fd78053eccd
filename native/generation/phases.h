/// @file A team of threads that goes through many short phases together: the whole pass of a model
/// through its layers is one call, where a call for each of its hundred products would cost more than
/// some of the products.
#pragma once

#include <ATen/Parallel.h>
#include <sched.h>

#include <atomic>
#include <vector>

#include "fused/blocks/scratch.h"

namespace openmanus::generation {

/// Every thread calls run() for the same phases in the same order. A phase's items go to whoever is
/// free, and the next phase begins when all are done. Nothing waits for a thread that has not come:
/// if the threads ran one after the other, the first would do everything.
class Phases {
 public:
  explicit Phases(int64_t count) : counters_(size_t(count)) {}

  class Member {
   public:
    explicit Member(Phases& phases) : phases_(phases) {}

    /// body(item) for each of [0, items) that nobody else has taken; returns when all are done.
    template <typename Body>
    void run(int64_t items, const Body& body) {
      Counter& counter = phases_.counters_[size_t(next_++)];
      int64_t done = 0;
      for (int64_t item; (item = counter.taken.fetch_add(1, std::memory_order_relaxed)) < items;
           ++done)
        body(item);
      if (done > 0) counter.done.fetch_add(done, std::memory_order_acq_rel);
      for (int64_t turns = 0; counter.done.load(std::memory_order_acquire) < items; ++turns) {
        if (turns < spins) continue;
        // The others have lost their cores to another process: it may be this one they need.
        sched_yield();
      }
    }

   private:
    static constexpr int64_t spins = 4000;  // some microseconds: as long as a phase's last item
    Phases& phases_;
    int64_t next_ = 0;
  };

  /// Runs program(member) on every intra-op thread.
  template <typename Program>
  void run(const Program& program) {
    at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) {
      Member member(*this);
      program(member);
    });
  }

 private:
  struct alignas(fused::cache_line) Counter {
    std::atomic<int64_t> taken{0}, done{0};
  };
  std::vector<Counter> counters_;
};

}  // namespace openmanus::generation
