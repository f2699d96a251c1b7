// What a rank is doing: which op of the model runs, for reports of hangs, crashes and values that are not finite.
//
//   watch.Start("h1.matmul", 7, h1_matmul, rows * 512);  // Before the op. The last two name its result.
//   MatMul(...);
//   watch.Start("h1.relu", 7, h1_relu, rows * 512);
//   …
//   watch.Finish();                                      // After the last op of Forward, Metrics, Backward or Update.
//
// Start is a handful of stores. In checking mode each Start and Finish first scans the result of the op before it, and
// the first value that is not finite is kept in first_not_finite(). A thread watches the rank: when it has been in one
// op or one collective for longer than the limit, the job ends with exit code 6 and a message that names rank, op and
// line. A rank is a thread: several may live in one process, each with a Watch of its own.
#ifndef CLEAVE_RUNTIME_TRACE_TRACE_H_
#define CLEAVE_RUNTIME_TRACE_TRACE_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/op_name.h"

namespace cleave::runtime {

// Which ranks a rank waits for, as the end of a sentence: "; rank 1 is missing: it does not answer".
struct MissingRanks {
  std::string text;
  bool is_for_another = false;  // A lower rank that answers waits too: it reports.
};

// What a rank can learn of the others while it waits for them, for its report. Called by its watchdog.
class Others {
 public:
  virtual ~Others() = default;

  // Tells them where this rank is: "waits in all_reduce for `h1.matmul` (mnist_mlp.model:7)". Called once a second.
  virtual void Show(const std::string& where) = 0;

  // May take seconds.
  virtual MissingRanks Missing() = 0;
};

// A rank as the others see it.
struct SeenRank {
  int rank = 0;
  bool answers = true;  // A process that is stopped does not.
  std::string where;    // Where it was last seen; empty: not known.
};

// The ranks that do not wait as rank `own` does; where all wait, what they wait in.
MissingRanks FindMissing(const std::vector<SeenRank>& ranks, int own);

// Is told of every op that ends. For measurements.
class OpListener {
 public:
  virtual ~OpListener() = default;
  virtual void EndOf(OpName op, int line) = 0;
};

class Watch {
 public:
  // `model_file` is the name in reports: "mnist_mlp.model". It and every op name must outlive the Watch, as string
  // literals do.
  explicit Watch(const char* model_file);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // A new op begins. `line` 0: no line of the model causes it.
  void Start(OpName op, int line) { Begin(op, line, {}); }
  template <typename T>
  void Start(OpName op, int line, const T* result, int64_t count) {
    Begin(op, line, {result, count, sizeof(T), ElementAt<T>});
  }
  void Start(OpName op, int line, const int32_t*, int64_t) { Begin(op, line, {}); }  // Always finite.

  // The last op of a phase has ended.
  void Finish() { Begin("", 0, {}); }

  // For runtime/comm: the rank waits in a collective. `name` as in plan.json: "all_reduce".
  void EnterCollective(const char* name);
  void LeaveCollective();

  // For runtime/comm where another thread communicates for the rank: it is in a collective, by NumberOfCollective, or
  // no longer. Called by that thread.
  void EnterBeside(int32_t collective);
  void LeaveBeside();
  // The rank waits for that thread, or no longer.
  void BeginAwait() { awaits_.store(true, std::memory_order_relaxed); }
  void EndAwait() { awaits_.store(false, std::memory_order_relaxed); }

  // How far a GPU has come in its work. The GPU writes it itself, because the host runs ahead of it: one word, at once.
  struct DeviceProgress {
    uint64_t word = WordOf(-1, 0);

    // `collective`: the number of the one that it is in; -1: none. `mark`: which of the places that are marked this is.
    // Work that is recorded passes the same places each time.
    static uint64_t WordOf(int32_t collective, uint32_t mark) {
      return uint64_t{mark} << 32 | static_cast<uint32_t>(collective);
    }
    static int32_t CollectiveOf(uint64_t word) { return static_cast<int32_t>(static_cast<uint32_t>(word)); }
    static uint32_t MarkOf(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  };

  // For runtime/comm on a GPU: from now on reports and the watchdog look there too; null: no longer.
  void ObserveDevice(const volatile DeviceProgress* progress) { device_.store(progress); }

  // The number of a collective of that name in the current op, for DeviceProgress and EnterBeside; the op by the
  // number.
  int32_t NumberOfCollective(const char* name);
  std::string OpOfCollective(int32_t number) const;

  // "`h1.matmul` (mnist_mlp.model:7)", or "no op" between phases.
  std::string CurrentOp() const;

  // What the rank waits in, on the host or on its GPU: "all_reduce for `h1.matmul` (mnist_mlp.model:7)"; nullopt where
  // it waits for nobody, whatever another thread waits in for it.
  std::optional<std::string> CurrentCollective() const;

  struct NotFinite {
    int64_t order = 0;  // Number of the op since checking began: the smallest over the ranks is the first.
    std::string op;
    int line = 0;
    int64_t index = 0;  // In the local piece, row-major.
    float value = 0;
  };
  // From now on `listener` is told of the ops; null: nobody.
  void TellOf(OpListener* listener) { listener_ = listener; }

  // Checking mode reads values at the place that this function returns. Null: it reads them where they are.
  using Reader = const void* (*)(const void* values, int64_t bytes);
  void BeginChecking(Reader reader = nullptr);
  std::optional<NotFinite> EndChecking();  // Checking mode ends; returns what was found, if anything.

  // Checks a tensor that no op has just computed, such as a parameter. REQUIRES: checking mode.
  void Check(const std::string& name, int line, const float* values, int64_t count) {
    Check(name, line, {values, count, sizeof(float), ElementAt<float>});
  }

  // "waits in all_reduce for `h1.matmul` (mnist_mlp.model:7)" or "is in `h1.matmul` (mnist_mlp.model:7)".
  std::string Where() const;

  // From now on reports name this rank, and a thread ends the job when nothing has happened for `seconds` seconds. Time
  // in which the whole process was stopped does not count.
  void StartWatchdog(int rank, double seconds);

  // Another limit for the watchdog.
  void SetTimeout(double seconds) { timeout_.store(seconds, std::memory_order_relaxed); }
  double timeout() const { return timeout_.load(std::memory_order_relaxed); }

  // From now on the watchdog asks there which rank is missing; null: no longer. Returns when it is not asking.
  void SetOthers(Others* others);

  // Whether the watchdog has found that the rank stands still: the end of another rank is not the cause then.
  bool HasStalled() const { return has_stalled_.load(); }

 private:
  // A tensor of float, BFloat16 or Float16.
  struct Tensor {
    const void* values = nullptr;
    int64_t count = 0;
    int64_t element_size = 0;
    float (*element_at)(const void* values, int64_t i) = nullptr;
  };
  template <typename T>
  static float ElementAt(const void* values, int64_t i) {
    return static_cast<const T*>(values)[i];
  }
  void Check(const std::string& name, int line, const Tensor& tensor);

  OpName Op() const { return {op_.load(std::memory_order_relaxed), layer_.load(std::memory_order_relaxed)}; }
  void Begin(OpName op, int line, const Tensor& result) {
    if (checking_) ScanResult();
    if (listener_ != nullptr) listener_->EndOf(Op(), line_.load(std::memory_order_relaxed));
    op_.store(op.text, std::memory_order_relaxed);
    layer_.store(op.layer, std::memory_order_relaxed);
    line_.store(line, std::memory_order_relaxed);
    result_ = result;
    events_.store(events_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void ScanResult();
  // What changes when the rank, the thread that communicates for it, or its GPU gets on.
  uint64_t Heartbeat() const;
  std::string TextOf(int32_t collective) const;
  MissingRanks Missing();

  const char* model_file_;
  std::atomic<const char*> op_{""};
  std::atomic<int64_t> layer_{-1};
  std::atomic<int> line_{0};
  std::atomic<const char*> collective_{nullptr};
  std::atomic<int64_t> events_{0};  // Ops and collectives begun or ended so far.
  std::atomic<int32_t> beside_{-1};
  std::atomic<int64_t> events_beside_{0};
  std::atomic<bool> awaits_{false};
  Tensor result_;
  bool checking_ = false;
  Reader reader_ = nullptr;
  OpListener* listener_ = nullptr;
  int64_t order_ = 0;
  std::optional<NotFinite> found_;

  std::atomic<const volatile DeviceProgress*> device_{nullptr};

  std::atomic<double> timeout_{0};
  std::atomic<bool> has_stalled_{false};

  struct Shared;  // What the rank and its watchdog both write or ask, each behind a lock.
  const std::unique_ptr<Shared> shared_;
  struct Watchdog;
  std::unique_ptr<Watchdog> watchdog_;
};

// Installs handlers: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT report the current op of the rank whose thread has
// crashed and then take their default course; SIGHUP, SIGINT and SIGTERM end the process with exit code 128 + signal,
// but for a SIGHUP that is ignored. The calling thread becomes the rank's; the watchdogs of other ranks
// of the process name it too. Reports end with `watch`.
void HandleSignals(const Watch& watch, int rank);

// From now on the first SIGTERM only makes WasAskedToStop true. The process ends at a second one that has another
// cause, and `grace` seconds after the first. Of one cause are all within kSecondsOfOneCause, and the first from the
// process whose number is in kStarterVariable, which hands on what it gets itself.
void DeferSigterm(int grace);
inline constexpr double kSecondsOfOneCause = 1;
inline constexpr char kStarterVariable[] = "CLEAVE_STARTER";

// That process, or 0 where there is none.
inline int StarterOfThisProcess() {
  const char* const process = std::getenv(kStarterVariable);
  return process == nullptr ? 0 : std::atoi(process);
}
bool WasAskedToStop();

// Whether this process ignores a signal, as it does SIGHUP under nohup.
bool IsIgnored(int signal);

// Seconds of a clock that never goes back.
double Now();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRACE_TRACE_H_
