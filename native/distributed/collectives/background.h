// A thread that runs one job after the other, for collectives that nobody waits for yet.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace openmanus {

class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Runs a job after all that were given before it. Jobs report their errors themselves.
  void run(std::function<void()> job);
  // Waits until all jobs are done.
  void drain();
  // Takes no more jobs and ends the thread. False where a job is not done: the thread is then left
  // behind, and whatever its job uses must be kept by that job.
  bool stop();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    bool busy = false;
    bool started = false;
    bool stopping = false;
  };

  static void work(const std::shared_ptr<State>& state);
  // Shared with the thread, which may outlive this.
  const std::shared_ptr<State> state_;
};

}  // namespace openmanus
