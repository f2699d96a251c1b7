// Lines about work that takes long, on standard error.
//
//   Progress progress("reading the data", bytes, {.is_shown = rank == 0});
//   for (…) progress.Add(bytes_of_one);      // After 2 s: "reading the data: 31 % after 2 s"
//
// Any thread may add.
#ifndef CLEAVE_RUNTIME_PROGRESS_PROGRESS_H_
#define CLEAVE_RUNTIME_PROGRESS_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace cleave::runtime {

struct ProgressOptions {
  bool is_shown = true;
  double seconds_between = 2;  // Lines, and before the first one.
};

class Progress {
 public:
  Progress(std::string what, int64_t total, ProgressOptions options);

  void Add(int64_t count) {
    if (done_.fetch_add(count, std::memory_order_relaxed) + count >= next_look_.load(std::memory_order_relaxed)) Look();
  }
  // At least so much is done.
  void Reach(int64_t count);

 private:
  void Look();

  const std::string what_;
  const int64_t total_;
  const ProgressOptions options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> done_ = 0;
  std::atomic<int64_t> next_look_;  // The clock is looked at when so much is done.
  std::atomic<double> next_line_;   // Seconds from the start.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PROGRESS_PROGRESS_H_
