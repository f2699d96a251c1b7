#include "runtime/trace/trace.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Looks at the bits: the answer is the same under -ffast-math, which lets a compiler assume that every value is finite.
inline bool IsFinite(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7F800000u) != 0x7F800000u;
}

}  // namespace

double Now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A thread that wakes now and then and compares the heartbeat with what it was.
struct Watch::Watchdog {
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread thread;

  ~Watchdog() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }
};

Watch::Watch(const char* model_file) : model_file_(model_file) {}

Watch::~Watch() = default;

void Watch::EnterCollective(const char* name) {
  collective_.store(name, std::memory_order_relaxed);
  events_.fetch_add(1, std::memory_order_relaxed);
}

void Watch::LeaveCollective() {
  collective_.store(nullptr, std::memory_order_relaxed);
  events_.fetch_add(1, std::memory_order_relaxed);
}

std::string Watch::CurrentOp() const {
  const char* op = op_.load(std::memory_order_relaxed);
  const int line = line_.load(std::memory_order_relaxed);
  if (op[0] == '\0') return "no op";
  return line > 0 ? Format("`%s` (%s:%d)", op, model_file_, line) : Format("`%s` (%s)", op, model_file_);
}

void Watch::BeginChecking() {
  checking_ = true;
  result_ = nullptr;
  order_ = 0;
  found_.reset();
}

std::optional<Watch::NotFinite> Watch::EndChecking() {
  Finish();
  checking_ = false;
  return found_;
}

void Watch::ScanResult() {
  if (result_ != nullptr)
    Check(op_.load(std::memory_order_relaxed), line_.load(std::memory_order_relaxed), result_, count_);
  ++order_;
}

void Watch::Check(const char* name, int line, const float* values, int64_t count) {
  if (found_.has_value()) return;
  for (int64_t i = 0; i < count; ++i) {
    if (IsFinite(values[i])) continue;
    found_ = NotFinite{order_, name, line, i, values[i]};
    return;
  }
}

void Watch::StartWatchdog(int rank, double seconds) {
  watchdog_ = std::make_unique<Watchdog>();
  watchdog_->thread = std::thread([this, rank, seconds] {
    Watchdog& dog = *watchdog_;
    int64_t seen = -1;
    double since = Now();
    std::unique_lock<std::mutex> lock(dog.mutex);
    while (!dog.stop) {
      dog.wake.wait_for(lock, std::chrono::duration<double>(seconds < 4 ? seconds / 4 : 1));
      const int64_t events = events_.load(std::memory_order_relaxed);
      if (events != seen) {
        seen = events;
        since = Now();
        continue;
      }
      // A rank that waits for others gives them time to report themselves: what they say is nearer to the cause.
      const char* collective = collective_.load(std::memory_order_relaxed);
      const double limit = collective == nullptr ? seconds : seconds * 1.1 + 1;
      if (dog.stop || Now() - since < limit) continue;
      const std::string where = collective == nullptr
                                    ? Format("rank %d stands still in %s", rank, CurrentOp().c_str())
                                    : Format("rank %d waits in %s for %s", rank, collective, CurrentOp().c_str());
      Die(ExitCode::kFailed,
          Format("%s since %.0f s; the job is ended (CLEAVE_TIMEOUT is %g s)", where.c_str(), Now() - since, seconds));
    }
  });
}

namespace {

const Watch* signal_watch = nullptr;
int signal_rank = 0;

void OnCrash(int signal) {
  // CurrentOp allocates, which a handler should not; the process is lost anyway, and alarm bounds a deadlock in malloc.
  alarm(2);
  const std::string text =
      Format("error: rank %d: %s in %s\n", signal_rank, strsignal(signal), signal_watch->CurrentOp().c_str());
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(128 + signal);
  raise(signal);
}

void OnStop(int signal) { _exit(128 + signal); }

}  // namespace

void HandleSignals(const Watch& watch, int rank) {
  signal_watch = &watch;
  signal_rank = rank;
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
  action.sa_handler = OnStop;
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace cleave::runtime
