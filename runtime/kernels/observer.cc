#include "runtime/kernels/observer.h"

#include <algorithm>
#include <utility>

namespace cleave::runtime {

void Observer::Keep(int number, std::function<void()> show) {
  if (occasion_ != Occasion::kAgain) seen_.push_back({number, std::move(show)});
}

void Observer::Show() {
  std::vector<Seen> seen = std::move(seen_);
  seen_.clear();
  std::stable_sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.number < b.number; });
  for (const Seen& one : seen) one.show();
}

}  // namespace cleave::runtime
