#include "background.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <thread>

namespace openmanus {

Background::Background() : state_(std::make_shared<State>()) {}

Background::~Background() { stop(); }

void Background::run(std::function<void()> job) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->jobs.push_back(std::move(job));
  if (!state_->started) {
    state_->started = true;
    std::thread([state = state_] { work(state); }).detach();
  }
  state_->changed.notify_all();
}

void Background::drain() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->jobs.empty() && !state_->busy; });
}

bool Background::stop() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopping = true;
  const bool done = state_->jobs.empty() && !state_->busy;
  state_->jobs.clear();
  state_->changed.notify_all();
  return done;
}

void Background::work(const std::shared_ptr<State>& state) {
  // Sums and copies of this thread are not to take the cores from what is computed meanwhile. (The
  // first call sets this thread's number from the process's; ours must come after it.)
  at::get_num_threads();
  omp_set_num_threads(1);
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopping || !state->jobs.empty(); });
    if (state->stopping) return;
    const std::function<void()> job = std::move(state->jobs.front());
    state->jobs.pop_front();
    state->busy = true;
    lock.unlock();
    job();
    lock.lock();
    state->busy = false;
    state->changed.notify_all();
  }
}

}  // namespace openmanus
