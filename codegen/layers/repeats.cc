#include "codegen/layers/repeats.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cleave::codegen {
namespace {

// Symbols [begin, begin + period * count) are one sequence of `period` symbols, `count` times.
struct Run {
  int begin = 0;
  int period = 0;
  int count = 0;
  int before = 0;  // So many symbols before it are the last ones of the sequence.
  int behind = 0;  // So many symbols behind it are the first ones of the sequence.

  // Symbols that need not be said again.
  int saved() const { return (count - 1) * period; }
  int end() const { return begin + period * count; }
};

class Finder {
 public:
  Finder(const std::vector<int>& symbols, const RepeatOptions& options)
      : symbols_(symbols), options_(options), taken_(symbols.size(), false) {}

  std::vector<Repeat> Run() && {
    std::vector<Repeat> repeats;
    for (struct Run run = Longest(); run.count > 1; run = Longest()) {
      for (const auto& [offset, length] : PartsOf(run)) repeats.push_back(Take(run, offset, length));
    }
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
    for (const auto& [distance, count] : seen) by_count.emplace_back(-count, distance);
    std::sort(by_count.begin(), by_count.end());
    by_count.resize(std::min(by_count.size(), kTried));
    std::vector<int> periods;
    for (const auto& [count, distance] : by_count) periods.push_back(distance);
    return periods;
  }

  // Where a sequence of `period` symbols follows itself and saves enough.
  void AddRuns(int period, std::vector<struct Run>& runs) const {
    int matched = 0;  // Symbols before `i` that equal those a period later.
    for (int i = 0; i + period <= size(); ++i) {
      if (i + period < size() && Matches(i, i + period)) {
        ++matched;
        continue;
      }
      const struct Run run = {i - matched, period, matched / period + 1, 0, matched % period};
      if (run.count > 1 && run.saved() >= options_.least_saved) runs.push_back(run);
      matched = 0;
    }
  }

  // The run that saves most and is worth it; of several the one with the shortest period, then the first. One of less
  // than two if there is none.
  struct Run Longest() {
    std::vector<struct Run> runs;
    for (const int period : Periods()) AddRuns(period, runs);
    std::sort(runs.begin(), runs.end(), [](const struct Run& a, const struct Run& b) {
      return std::make_tuple(-a.saved(), a.period, a.begin) < std::make_tuple(-b.saved(), b.period, b.begin);
    });
    for (struct Run run : runs) {
      const std::pair<int, int> key = {run.begin, run.period};
      if (refused_.count(key) > 0) continue;
      BeginAtStart(run);
      Repeat repeat{.period = run.period, .begins = {}};
      for (int i = 0; i < run.count; ++i) repeat.begins.push_back(run.begin + i * run.period);
      if (options_.accepts(repeat)) return run;
      refused_.insert(key);
    }
    return {};
  }

  void BeginAtStart(struct Run& run) const {
    const auto start = options_.starts.lower_bound(run.begin);
    if (start == options_.starts.end() || *start > run.begin + run.behind) return;
    run.before = *start - run.begin;
    run.behind -= run.before;
    run.begin = *start;
  }

  // The pieces into which the run's sequence is cut, by offset and length.
  static std::vector<std::pair<int, int>> PartsOf(const struct Run& run) {
    const int cut = 2 * run.behind > run.period   ? run.behind
                    : 2 * run.before > run.period ? run.period - run.before
                                                  : 0;
    if (cut == 0) return {{0, run.period}};
    return {{0, cut}, {cut, run.period - cut}};
  }

  bool StandsAt(int begin, int other, int length) const {
    for (int i = 0; i < length; ++i) {
      const size_t place = static_cast<size_t>(begin + i);
      if (taken_[place] || symbols_[place] != symbols_[static_cast<size_t>(other + i)]) return false;
    }
    return true;
  }

  // A part of the run's sequence wherever it stands.
  Repeat Take(const struct Run& run, int offset, int length) {
    Repeat repeat{.period = length, .begins = {}};
    const int first = run.begin + offset;
    const bool is_whole = length == run.period;
    const int from = is_whole ? run.begin : run.begin - run.before;
    const int to = is_whole ? run.end() : run.end() + run.behind;
    for (int begin = 0; begin + length <= size();) {
      // Within the run a part stands only where the sequence has it.
      const bool is_inside = begin < to && begin + length > from;
      const bool fits = !is_inside || (begin >= from && begin + length <= to && (begin - first) % run.period == 0);
      if (fits && StandsAt(begin, first, length)) {
        repeat.begins.push_back(begin);
        begin += length;
      } else {
        ++begin;
      }
    }
    for (const int begin : repeat.begins) std::fill_n(taken_.begin() + begin, length, true);
    return repeat;
  }

  const std::vector<int>& symbols_;
  const RepeatOptions& options_;
  std::set<std::pair<int, int>> refused_;  // Runs that are not worth saying once, by begin and period.
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Repeat> FindRepeats(const std::vector<int>& symbols, const RepeatOptions& options) {
  return Finder(symbols, options).Run();
}

}  // namespace cleave::codegen
