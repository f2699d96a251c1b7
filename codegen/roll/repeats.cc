#include "codegen/roll/repeats.h"

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
  int slack = 0;  // It could begin so many symbols later.

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
      Take(run, repeats);
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
      const struct Run run = {i - matched, period, matched / period + 1, matched % period};
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
      if (options_.loops(Repeated(run, 0, run.period, {})) > 0) return run;
      refused_.insert(key);
    }
    return {};
  }

  void BeginAtStart(struct Run& run) const {
    const auto start = options_.starts.lower_bound(run.begin);
    if (start != options_.starts.end() && *start <= run.begin + run.slack) run.begin = *start;
  }

  // A part of a run's sequence, and a place beside the run where it stands once more.
  struct Piece {
    int offset = 0;
    int length = 0;
    int place = 0;
  };

  // The pieces of the sequence that follow each other behind the run, or before it, with a few other symbols between
  // them, as if the sequence began at `beside`. None where they are too few or too many or of no layer of the same
  // loop.
  std::vector<Piece> PiecesBeside(const struct Run& run, int beside, int direction) const {
    constexpr int kMostBetween = 8;
    constexpr size_t kMostPieces = 4;
    const int first = direction > 0 ? 0 : run.period - 1;
    const auto matches = [&](int i, int skipped) {
      const int place = beside + first + direction * (i + skipped);
      return i >= run.period || (place >= 0 && place < size() && Matches(run.begin + first + direction * i, place));
    };
    std::vector<Piece> pieces;
    int skipped = 0;
    int i = 0;
    for (; i < run.period; ++i) {
      int more = 0;
      if (!matches(i, skipped)) {
        more = 1;
        while (more <= kMostBetween && !(matches(i, skipped + more) && matches(i + 1, skipped + more))) ++more;
      }
      if (more > kMostBetween) break;
      skipped += more;
      const int offset = first + direction * i;
      const int place = beside + offset + direction * skipped;
      if (pieces.empty() || more > 0) pieces.push_back({.offset = offset, .length = 0, .place = place});
      Piece& piece = pieces.back();
      ++piece.length;
      piece.offset = std::min(piece.offset, offset);
      piece.place = std::min(piece.place, place);
    }
    if (2 * i <= run.period || pieces.size() > kMostPieces) return {};
    const bool is_same_loop = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return options_.loops(Repeated(run, piece.offset, piece.length, {piece})) == 1;
    });
    return is_same_loop ? pieces : std::vector<Piece>();
  }

  // A part of the sequence in all places of the run, and in those pieces that have it.
  static Repeat Repeated(const struct Run& run, int offset, int length, const std::vector<Piece>& pieces) {
    Repeat repeat{.period = length, .begins = {}};
    for (int i = 0; i < run.count; ++i) repeat.begins.push_back(run.begin + i * run.period + offset);
    for (const Piece& piece : pieces) {
      if (piece.offset > offset || piece.offset + piece.length < offset + length) continue;
      repeat.begins.push_back(piece.place + offset - piece.offset);
    }
    std::sort(repeat.begins.begin(), repeat.begins.end());
    return repeat;
  }

  // Takes the run's sequence: wherever it stands as a whole, or in pieces that also stand beside the run.
  void Take(const struct Run& run, std::vector<Repeat>& repeats) {
    std::vector<Piece> pieces = PiecesBeside(run, run.end(), 1);
    for (const Piece& piece : PiecesBeside(run, run.begin - run.period, -1)) pieces.push_back(piece);
    std::set<int> ends = {run.period};
    for (const Piece& piece : pieces) ends.insert({piece.offset, piece.offset + piece.length});
    ends.erase(0);
    int offset = 0;
    for (const int end : ends) {
      repeats.push_back(ends.size() == 1 ? Everywhere(run) : Repeated(run, offset, end - offset, pieces));
      for (const int begin : repeats.back().begins) std::fill_n(taken_.begin() + begin, end - offset, true);
      offset = end;
    }
  }

  bool StandsAt(const struct Run& run, int begin) const {
    for (int i = 0; i < run.period; ++i) {
      const size_t place = static_cast<size_t>(begin + i);
      if (taken_[place] || symbols_[place] != symbols_[static_cast<size_t>(run.begin + i)]) return false;
    }
    return true;
  }

  Repeat Everywhere(const struct Run& run) const {
    Repeat repeat{.period = run.period, .begins = {}};
    for (int begin = 0; begin + run.period <= size();) {
      // Places within the run are those of its own beginnings.
      const bool is_inside = begin > run.begin && begin < run.end();
      const bool crosses = begin < run.begin && begin + run.period > run.begin;
      const bool fits = is_inside ? (begin - run.begin) % run.period == 0 : !crosses;
      const bool stands = fits && StandsAt(run, begin);
      if (stands) repeat.begins.push_back(begin);
      begin += stands ? run.period : 1;
    }
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
