#include "codegen/layers/repeats.h"

#include <algorithm>
#include <map>

namespace cleave::codegen {
namespace {

// Symbols [begin, begin + period * count) are one sequence of `period` symbols, `count` times.
struct Run {
  int begin = 0;
  int period = 0;
  int count = 0;
  int slack = 0;  // It could begin so many symbols later.

  // Symbols that need not be said again.
  int saved() const { return (count - 1) * period; }
};

class Finder {
 public:
  Finder(const std::vector<int>& symbols, const std::set<int>& starts, int least_period)
      : symbols_(symbols), starts_(starts), least_period_(least_period), taken_(symbols.size(), false) {}

  std::vector<Repeat> Run() && {
    std::vector<Repeat> repeats;
    for (struct Run run = Longest(); run.count > 1; run = Longest()) repeats.push_back(Take(run));
    std::sort(repeats.begin(), repeats.end(), [](const Repeat& a, const Repeat& b) { return a.begins < b.begins; });
    return repeats;
  }

 private:
  int size() const { return static_cast<int>(symbols_.size()); }
  bool Matches(int a, int b) const {
    const size_t i = static_cast<size_t>(a);
    const size_t j = static_cast<size_t>(b);
    return !taken_[i] && !taken_[j] && symbols_[i] == symbols_[j];
  }

  // The distances at which symbols return: those that are seen most. A symbol may stand several times in a period.
  std::vector<int> Periods() const {
    constexpr size_t kTried = 32;
    constexpr size_t kPlaces = 32;
    std::map<int, std::vector<int>> places;  // The last ones, by symbol.
    std::map<int, int> seen;                 // How often, by distance.
    for (int i = 0; i < size(); ++i) {
      if (taken_[static_cast<size_t>(i)]) continue;
      std::vector<int>& before = places[symbols_[static_cast<size_t>(i)]];
      for (const int place : before) ++seen[i - place];
      before.push_back(i);
      if (before.size() > kPlaces) before.erase(before.begin());
    }
    std::vector<std::pair<int, int>> by_count;
    for (const auto& [distance, count] : seen) {
      if (distance >= least_period_) by_count.emplace_back(-count, distance);
    }
    std::sort(by_count.begin(), by_count.end());
    by_count.resize(std::min(by_count.size(), kTried));
    std::vector<int> periods;
    for (const auto& [count, distance] : by_count) periods.push_back(distance);
    return periods;
  }

  // The run that saves most; of several the one with the shortest period, then the first.
  struct Run Longest() const {
    struct Run best;
    std::vector<int> periods = Periods();
    std::sort(periods.begin(), periods.end());
    for (const int period : periods) {
      int matched = 0;  // Symbols before `i` that equal those a period later.
      for (int i = 0; i + period <= size(); ++i) {
        if (i + period < size() && Matches(i, i + period)) {
          ++matched;
          continue;
        }
        const struct Run run = {i - matched, period, matched / period + 1, matched % period};
        if (run.saved() > best.saved()) best = run;
        matched = 0;
      }
    }
    const auto start = starts_.lower_bound(best.begin);
    if (start != starts_.end() && *start <= best.begin + best.slack) best.begin = *start;
    return best;
  }

  bool StandsAt(const struct Run& run, int begin) const {
    for (int i = 0; i < run.period; ++i) {
      const size_t place = static_cast<size_t>(begin + i);
      if (taken_[place] || symbols_[place] != symbols_[static_cast<size_t>(run.begin + i)]) return false;
    }
    return true;
  }

  // The run's sequence wherever it stands.
  Repeat Take(const struct Run& run) {
    Repeat repeat{.period = run.period, .begins = {}};
    for (int begin = 0; begin + run.period <= size();) {
      // Places within the run are those of its own beginnings.
      const bool is_inside = begin > run.begin && begin < run.begin + run.period * run.count;
      const bool crosses = begin < run.begin && begin + run.period > run.begin;
      const bool fits = is_inside ? (begin - run.begin) % run.period == 0 : !crosses;
      if (fits && StandsAt(run, begin)) {
        repeat.begins.push_back(begin);
        begin += run.period;
      } else {
        ++begin;
      }
    }
    for (const int begin : repeat.begins) {
      std::fill_n(taken_.begin() + begin, run.period, true);
    }
    return repeat;
  }

  const std::vector<int>& symbols_;
  const std::set<int>& starts_;
  const int least_period_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Repeat> FindRepeats(const std::vector<int>& symbols, const std::set<int>& starts, int least_period) {
  return Finder(symbols, starts, least_period).Run();
}

}  // namespace cleave::codegen
