// What a rank is doing: which op of the model runs, for reports of hangs, crashes and values that are not finite.
//
//   watch.Start("h1.matmul", 7, h1_matmul, rows * 512);   // Before the op. The last two name its result, for Checking
//   mode. MatMul(...); watch.Start("h1.relu", 7, h1_relu, rows * 512); … watch.Finish(); // After the last op of
//   Forward, Metrics, Backward or Update.
//
// Start is a handful of stores. In checking mode each Start and Finish first scans the result of the op before it, and
// the first value that is not finite is kept in first_not_finite(). A thread watches the rank: when it has been in one
// op or one collective for longer than the limit, the job ends with exit code 6 and a message that names rank, op and
// line.
#ifndef CLEAVE_RUNTIME_TRACE_TRACE_H_
#define CLEAVE_RUNTIME_TRACE_TRACE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cleave::runtime {

class Watch {
 public:
  // `model_file` is what reports name: "mnist_mlp.model". It and every op name must outlive the Watch (literals do).
  explicit Watch(const char* model_file);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // A new op begins. `line` 0: no line of the model causes it.
  void Start(const char* op, int line) { Begin(op, line, nullptr, 0); }
  void Start(const char* op, int line, const float* result, int64_t count) { Begin(op, line, result, count); }
  void Start(const char* op, int line, const int32_t*, int64_t) { Begin(op, line, nullptr, 0); }  // Always finite.

  // The last op of a phase has ended.
  void Finish() { Begin("", 0, nullptr, 0); }

  // For runtime/comm: the rank waits in a collective. `name` as in plan.json: "all_reduce".
  void EnterCollective(const char* name);
  void LeaveCollective();

  // "`h1.matmul` (mnist_mlp.model:7)", or "no op" between phases.
  std::string CurrentOp() const;

  struct NotFinite {
    int64_t order = 0;  // Number of the op since checking began: the smallest over the ranks is the first.
    std::string op;
    int line = 0;
    int64_t index = 0;  // In the local piece, row-major.
    float value = 0;
  };
  // `observer` is called with every op that ends, until another one, or none (null), takes its place. For measurements.
  void Observe(std::function<void(const char* op)> observer) { observer_ = std::move(observer); }

  void BeginChecking();
  std::optional<NotFinite> EndChecking();  // What was found, if anything; checking mode ends.

  // Checks a tensor that no op has just computed, such as a parameter. REQUIRES: checking mode.
  void Check(const char* name, int line, const float* values, int64_t count);

  // From now on reports name this rank, and a thread ends the job when nothing has happened for `seconds`.
  void StartWatchdog(int rank, double seconds);

 private:
  void Begin(const char* op, int line, const float* result, int64_t count) {
    if (checking_) ScanResult();
    if (observer_) observer_(op_.load(std::memory_order_relaxed));
    op_.store(op, std::memory_order_relaxed);
    line_.store(line, std::memory_order_relaxed);
    result_ = result;
    count_ = count;
    events_.store(events_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void ScanResult();

  const char* model_file_;
  std::atomic<const char*> op_{""};
  std::atomic<int> line_{0};
  std::atomic<const char*> collective_{nullptr};
  std::atomic<int64_t> events_{0};  // Ops and collectives begun or ended so far: the heartbeat.
  const float* result_ = nullptr;
  int64_t count_ = 0;
  bool checking_ = false;
  std::function<void(const char*)> observer_;
  int64_t order_ = 0;
  std::optional<NotFinite> found_;

  struct Watchdog;
  std::unique_ptr<Watchdog> watchdog_;
};

// Installs handlers: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT report the rank's current op and then take their
// default course; SIGINT and SIGTERM end the process with exit code 128 + signal. `watch` must live until the process
// ends.
void HandleSignals(const Watch& watch, int rank);

// Seconds on a clock that only moves forward.
double Now();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRACE_TRACE_H_
