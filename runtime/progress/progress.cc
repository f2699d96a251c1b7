#include "runtime/progress/progress.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace cleave::runtime {
namespace {

constexpr int64_t kLooks = 1000;  // In all.

}  // namespace

Progress::Progress(std::string what, int64_t total, ProgressOptions options)
    : what_(std::move(what)),
      total_(std::max<int64_t>(total, 1)),
      options_(options),
      next_look_(options.is_shown ? 0 : INT64_MAX),
      next_line_(options.seconds_between) {}

void Progress::Reach(int64_t count) {
  const int64_t missing = count - done_.load(std::memory_order_relaxed);
  if (missing > 0) Add(missing);
}

void Progress::Look() {
  const int64_t done = done_.load(std::memory_order_relaxed);
  next_look_ = done + std::max<int64_t>(1, total_ / kLooks);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  double expected = next_line_;
  if (seconds < expected || done >= total_) return;
  // One of the threads that look writes.
  if (!next_line_.compare_exchange_strong(expected, seconds + options_.seconds_between)) return;
  std::fprintf(stderr, "%s: %" PRId64 " %% after %.0f s\n", what_.c_str(),
               static_cast<int64_t>(100 * static_cast<double>(done) / static_cast<double>(total_)), seconds);
}

}  // namespace cleave::runtime
