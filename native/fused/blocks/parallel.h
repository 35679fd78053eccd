/// @file Sharing work of uneven size among the intra-op threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

namespace openmanus::fused {

/// Runs worker(next) once on each thread. next() gives the number of an item nobody has taken yet,
/// or -1 when none is left; a free thread takes the next one, so that items may differ in size.
/// What an item computes must not depend on who takes it: then results do not depend on the number
/// of threads.
template <typename Worker>
void share_items(int64_t items, const Worker& worker) {
  if (items <= 0) return;
  std::atomic<int64_t> taken{0};
  const auto next = [&taken, items]() -> int64_t {
    const int64_t item = taken.fetch_add(1, std::memory_order_relaxed);
    return item < items ? item : -1;
  };
  const int64_t threads = std::min<int64_t>(items, at::get_num_threads());
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) { worker(next); });
}

}  // namespace openmanus::fused
