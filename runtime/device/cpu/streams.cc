#include "runtime/device/streams.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/device/cpu/workspace_count.h"

namespace cleave::runtime {
namespace {

// Does what a rank asks for, one after another. Used by the rank's thread. Who waits sleeps at once: there may be no
// core for one that looks.
class CommunicationThread {
 public:
  CommunicationThread() : thread_([this, &count = CountOfThread()] { Run(count); }) {}
  ~CommunicationThread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      leaves_ = true;
    }
    is_asked_.notify_one();
    thread_.join();
  }

  // How often it has been asked.
  int64_t asked() const { return asked_; }

  void Ask(std::function<void()> work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      works_.push_back(std::move(work));
    }
    ++asked_;
    is_asked_.notify_one();
  }

  // Waits until the first `works` that it was asked for are done.
  void Await(int64_t works) {
    std::unique_lock<std::mutex> lock(mutex_);
    is_done_.wait(lock, [&] { return done_ >= works; });
  }

 private:
  void Run(WorkspaceCount& count) {
    CountIn(count);
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        is_asked_.wait(lock, [&] { return leaves_ || !works_.empty(); });
        if (works_.empty()) return;
        work = std::move(works_.front());
        works_.pop_front();
      }
      work();
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++done_;
      }
      is_done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable is_asked_;
  std::condition_variable is_done_;
  std::deque<std::function<void()>> works_;
  bool leaves_ = false;
  int64_t done_ = 0;
  int64_t asked_ = 0;   // Only the rank's thread looks at it.
  std::thread thread_;  // The last member: it uses the others.
};

// Of the calling thread's rank; null where it has none.
thread_local std::unique_ptr<CommunicationThread> the_thread;

}  // namespace

void BeginCommunication() {}
void BeginHostCopies() {}
int64_t EndCommunication() { return the_thread == nullptr ? 0 : the_thread->asked(); }
void LeaveCommunication() {}

void AwaitCommunication(int64_t number) {
  if (the_thread != nullptr) the_thread->Await(number);
}

void AwaitAllCommunication() { AwaitCommunication(EndCommunication()); }

void CommunicateOnThread() {
  if (the_thread == nullptr) the_thread = std::make_unique<CommunicationThread>();
}

bool CommunicatesOnThread() { return the_thread != nullptr; }

void Communicate(std::function<void()> work) { the_thread->Ask(std::move(work)); }

}  // namespace cleave::runtime
