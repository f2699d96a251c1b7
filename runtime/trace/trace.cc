#include "runtime/trace/trace.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Looks at the bits: the answer is the same under -ffast-math, which lets a compiler assume that every value is finite.
inline bool IsFinite(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7F800000u) != 0x7F800000u;
}

// The ranks of this process.
struct Reported {
  const Watch* watch;
  int rank;
};
std::mutex reported_mutex;
std::vector<Reported> reported;
thread_local Reported of_this_thread = {nullptr, 0};

std::string Position(const Reported& reported_rank) {
  return Format("rank %d %s", reported_rank.rank, reported_rank.watch->Where().c_str());
}

bool IsWaiting(const std::string& where) { return where.rfind("waits ", 0) == 0; }

// The number of a rank that has joined the job. Before that, a scheduler may not have given it one.
int RankOf(const Watch& watch, int otherwise) {
  const std::lock_guard<std::mutex> lock(reported_mutex);
  for (const Reported& rank : reported) {
    if (rank.watch == &watch) return rank.rank;
  }
  return otherwise;
}

// "; rank 1 waits in …; rank 2 is in …"
std::string OthersOfThisProcess(const Watch& watch) {
  const std::lock_guard<std::mutex> lock(reported_mutex);
  std::string text;
  for (const Reported& other : reported) {
    if (other.watch != &watch) text += "; " + Position(other);
  }
  return text;
}

}  // namespace

double Now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

MissingRanks FindMissing(const std::vector<SeenRank>& ranks, int own) {
  constexpr int kMostListed = 8;
  MissingRanks missing;
  std::string waiting;
  int listed = 0;
  for (const SeenRank& seen : ranks) {
    const bool waits = seen.answers && IsWaiting(seen.where);
    if (waits && seen.rank < own) missing.is_for_another = true;
    if (seen.rank == own || (!waits && ++listed > kMostListed)) continue;
    if (waits) {
      waiting += Format("; rank %d %s", seen.rank, seen.where.c_str());
    } else if (seen.answers) {
      missing.text += Format("; rank %d is missing: it %s", seen.rank, seen.where.c_str());
    } else {
      missing.text += Format("; rank %d is missing: it does not answer", seen.rank);
      // "is in …" or "waits in …"
      if (!seen.where.empty()) missing.text += ", and was last seen" + seen.where.substr(seen.where.find(' '));
    }
  }
  if (missing.text.empty()) missing.text = waiting;
  return missing;
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

struct Watch::Shared {
  struct Collective {
    const char* name;
    OpName op;
    int line;
  };
  std::mutex collectives_mutex;  // The rank adds to the list, its watchdog reads it.
  std::vector<Collective> collectives;

  Collective At(int32_t number) {
    const std::lock_guard<std::mutex> lock(collectives_mutex);
    return collectives[static_cast<size_t>(number)];
  }

  std::mutex others_mutex;
  Others* others = nullptr;  // Protected by others_mutex.
};

Watch::Watch(const char* model_file) : model_file_(model_file), shared_(std::make_unique<Shared>()) {}

Watch::~Watch() {
  watchdog_.reset();
  if (of_this_thread.watch == this) of_this_thread.watch = nullptr;
  const std::lock_guard<std::mutex> lock(reported_mutex);
  reported.erase(
      std::remove_if(reported.begin(), reported.end(), [this](const Reported& rank) { return rank.watch == this; }),
      reported.end());
}

void Watch::EnterCollective(const char* name) {
  collective_.store(name, std::memory_order_relaxed);
  events_.fetch_add(1, std::memory_order_relaxed);
}

void Watch::LeaveCollective() {
  collective_.store(nullptr, std::memory_order_relaxed);
  events_.fetch_add(1, std::memory_order_relaxed);
}

void Watch::EnterBeside(int32_t collective) {
  beside_.store(collective, std::memory_order_relaxed);
  events_beside_.fetch_add(1, std::memory_order_relaxed);
}

void Watch::LeaveBeside() { EnterBeside(-1); }

namespace {

std::string OpText(OpName op, const char* model_file, int line) {
  const std::string name = op.ToString();
  if (name.empty()) return "no op";
  return line > 0 ? Format("`%s` (%s:%d)", name.c_str(), model_file, line)
                  : Format("`%s` (%s)", name.c_str(), model_file);
}

}  // namespace

std::string Watch::CurrentOp() const { return OpText(Op(), model_file_, line_.load(std::memory_order_relaxed)); }

int32_t Watch::NumberOfCollective(const char* name) {
  const OpName op = Op();
  const int line = line_.load(std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(shared_->collectives_mutex);
  std::vector<Shared::Collective>& collectives = shared_->collectives;
  for (size_t i = 0; i < collectives.size(); ++i) {
    const Shared::Collective& known = collectives[i];
    if (known.name == name && known.op == op && known.line == line) return static_cast<int32_t>(i);
  }
  collectives.push_back({name, op, line});
  return static_cast<int32_t>(collectives.size()) - 1;
}

std::optional<std::string> Watch::CurrentCollective() const {
  if (const char* const collective = collective_.load(std::memory_order_relaxed)) {
    return Format("%s for %s", collective, CurrentOp().c_str());
  }
  const int32_t beside = awaits_.load(std::memory_order_relaxed) ? beside_.load(std::memory_order_relaxed) : -1;
  if (beside >= 0) return TextOf(beside);
  const volatile DeviceProgress* const device = device_.load();
  const int32_t number = device == nullptr ? -1 : DeviceProgress::CollectiveOf(device->word);
  if (number < 0) return std::nullopt;
  return TextOf(number) + " on its GPU";
}

std::string Watch::TextOf(int32_t collective) const {
  return Format("%s for %s", shared_->At(collective).name, OpOfCollective(collective).c_str());
}

std::string Watch::OpOfCollective(int32_t number) const {
  const Shared::Collective known = shared_->At(number);
  return OpText(known.op, model_file_, known.line);
}

uint64_t Watch::Heartbeat() const {
  const volatile DeviceProgress* const device = device_.load();
  const int64_t events = events_.load(std::memory_order_relaxed) + events_beside_.load(std::memory_order_relaxed);
  return static_cast<uint64_t>(events) << 32 | (device == nullptr ? 0 : DeviceProgress::MarkOf(device->word));
}

void Watch::BeginChecking(Reader reader) {
  checking_ = true;
  reader_ = reader;
  result_ = {};
  order_ = 0;
  found_.reset();
}

std::optional<Watch::NotFinite> Watch::EndChecking() {
  Finish();
  checking_ = false;
  return found_;
}

void Watch::ScanResult() {
  if (result_.values != nullptr) Check(Op().ToString(), line_.load(std::memory_order_relaxed), result_);
  ++order_;
}

void Watch::Check(const std::string& name, int line, const Tensor& tensor) {
  if (found_.has_value()) return;
  const void* values = tensor.values;
  if (reader_ != nullptr) values = reader_(values, tensor.count * tensor.element_size);
  for (int64_t i = 0; i < tensor.count; ++i) {
    const float value = tensor.element_at(values, i);
    if (IsFinite(value)) continue;
    found_ = NotFinite{order_, name, line, i, value};
    return;
  }
}

std::string Watch::Where() const {
  const std::optional<std::string> collective = CurrentCollective();
  return collective.has_value() ? "waits in " + *collective : "is in " + CurrentOp();
}

void Watch::SetOthers(Others* others) {
  const std::lock_guard<std::mutex> lock(shared_->others_mutex);
  shared_->others = others;
}

MissingRanks Watch::Missing() {
  const std::lock_guard<std::mutex> lock(shared_->others_mutex);
  return shared_->others == nullptr ? MissingRanks{OthersOfThisProcess(*this)} : shared_->others->Missing();
}

void Watch::StartWatchdog(int rank, double seconds) {
  SetTimeout(seconds);
  watchdog_ = std::make_unique<Watchdog>();
  const double interval = seconds < 4 ? seconds / 4 : 1;
  watchdog_->thread = std::thread([this, &dog = *watchdog_, rank, interval] {
    constexpr double kSecondsForAnother = 15;
    uint64_t seen = ~uint64_t{0};
    double stood_still = 0;
    double looked = Now();
    std::unique_lock<std::mutex> lock(dog.mutex);
    while (!dog.stop) {
      dog.wake.wait_for(lock, std::chrono::duration<double>(interval));
      if (dog.stop) return;
      const double now = Now();
      stood_still += std::min(now - looked, 2 * interval);  // More has passed where the process was stopped.
      looked = now;
      const std::string where = Where();
      {
        const std::lock_guard<std::mutex> others_lock(shared_->others_mutex);
        if (shared_->others != nullptr) shared_->others->Show(where);
      }
      const uint64_t heartbeat = Heartbeat();
      if (heartbeat != seen) {
        seen = heartbeat;
        stood_still = 0;
        has_stalled_ = false;
        continue;
      }
      // A rank that waits for others gives them time to report themselves: their reports are nearer to the cause.
      const double timeout = this->timeout();
      const bool waits = IsWaiting(where);
      const double limit = waits ? timeout * 1.1 + 1 : timeout;
      if (stood_still < limit) continue;
      has_stalled_ = true;
      const MissingRanks missing = waits ? Missing() : MissingRanks{OthersOfThisProcess(*this)};
      if (Heartbeat() != seen || (missing.is_for_another && stood_still < limit + kSecondsForAnother)) continue;
      Die(ExitCode::kFailed,
          Format("rank %d %s since %.0f s%s; the job is ended (CLEAVE_TIMEOUT is %g s)", RankOf(*this, rank),
                 waits ? where.c_str() : ("stands still in " + CurrentOp()).c_str(), stood_still, missing.text.c_str(),
                 timeout));
    }
  });
}

namespace {

// Threads of OpenMP and of libraries belong to no rank, except that in a process of one rank they belong to that rank.
std::string CrashText(const char* signal) {
  const std::unique_lock<std::mutex> lock(reported_mutex, std::try_to_lock);
  Reported rank = of_this_thread;
  if (rank.watch == nullptr && reported.size() == 1) rank = reported[0];
  if (rank.watch != nullptr) {
    return Format("error: rank %d: %s in %s\n", rank.rank, signal, rank.watch->CurrentOp().c_str());
  }
  std::string text = Format("error: %s", signal);
  for (const Reported& other : reported) text += "; " + Position(other);
  return text + "\n";
}

// What a handler may do: it allocates nothing.
template <size_t kSize>
[[noreturn]] void EndBySignal(const char (&text)[kSize], int signal) {
  const ssize_t written = write(STDERR_FILENO, text, kSize - 1);
  static_cast<void>(written);
  _exit(128 + signal);
}

volatile sig_atomic_t crashed_with = 0;

void OnStuckCrash(int) {
  EndBySignal("error: a rank crashed while it held its memory allocator, so nothing says where\n", crashed_with);
}

void OnCrash(int signal) {
  // CrashText allocates, which a handler should not do. But the process is lost anyway, and an alarm ends it if malloc
  // deadlocks.
  crashed_with = signal;
  struct sigaction action = {};
  action.sa_handler = OnStuckCrash;
  sigaction(SIGALRM, &action, nullptr);
  alarm(2);
  const std::string text = CrashText(strsignal(signal));
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(128 + signal);
  raise(signal);
}

void OnStop(int signal) { _exit(128 + signal); }

volatile sig_atomic_t was_asked_to_stop = 0;
volatile sig_atomic_t seconds_of_grace = 0;
volatile sig_atomic_t starter = 0;  // The process that hands on what it gets, or 0.
volatile sig_atomic_t starter_has_asked = 0;
std::atomic<double> asked_at = 0;
static_assert(std::atomic<double>::is_always_lock_free, "signal handlers use it");

// What stops a job signals its processes one by one, or a group of them, and the starter signals those that it has
// started: what comes within this time, or from the starter alone, has the same cause.
void OnSigterm(int signal, siginfo_t* info, void*) {
  const bool is_handed_on = starter != 0 && info->si_pid == starter && starter_has_asked == 0;
  if (is_handed_on) starter_has_asked = 1;
  if (was_asked_to_stop == 0) {
    was_asked_to_stop = 1;
    asked_at = Now();
    alarm(static_cast<unsigned>(seconds_of_grace));
  } else if (!is_handed_on && Now() - asked_at >= kSecondsOfOneCause) {
    _exit(128 + signal);
  }
}

void OnEndOfGrace(int) { EndBySignal("error: the time to save is over after SIGTERM (CLEAVE_GRACE)\n", SIGTERM); }

}  // namespace

bool IsIgnored(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

void DeferSigterm(int grace) {
  seconds_of_grace = grace;
  starter = StarterOfThisProcess();
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = OnEndOfGrace;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = OnSigterm;
  sigaction(SIGTERM, &action, nullptr);
}

bool WasAskedToStop() { return was_asked_to_stop != 0; }

void HandleSignals(const Watch& watch, int rank) {
  of_this_thread = {&watch, rank};
  {
    const std::lock_guard<std::mutex> lock(reported_mutex);
    reported.push_back(of_this_thread);
  }
  // Handlers are of the process. A rank that begins late must not take back what another one, which crashes or saves,
  // has changed.
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_handler = OnCrash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
    action.sa_handler = OnStop;
    for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
    if (!IsIgnored(SIGHUP)) sigaction(SIGHUP, &action, nullptr);
  });
}

}  // namespace cleave::runtime
