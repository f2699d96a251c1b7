// Reading guide. A path has three parts, each made in one of two ways; every combination that differs is a candidate.
//
// 1. Slices: only where an atom comes to its final place, or every replicated atom, so that ranks with equal
//    pieces share the work of what follows.
// 2. Partial sums: one all_reduce, or reduce_scatters, where that is possible to the final places.
// 3. The rest: towards the target dimension by dimension (all_to_all where a suffix belongs elsewhere, else
//    all_gather), or by one permute between layouts of equal cut counts: now with more slices, and cuts moved
//    between dimensions where need be, and the target with more cuts, which are gathered at the end. With everything
//    sliced the permute moves little: a rank receives one smallest piece more than what it wants.

#include "ir/program/redistribute/direct.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

class PathBuilder {
 public:
  PathBuilder(const Problem& problem, const Arrangement& start) : problem_(problem), now_(start) {}

  const Arrangement& now() const { return now_; }
  ArrangementPath Take() && { return std::move(path_); }

  // Brings replicated atoms to their final places.
  void SliceInPlace() {
    for (size_t d = 0; d < now_.rank(); ++d) {
      while (const std::optional<AtomIndex> next = NextWanted(d)) {
        if (!Contains(problem_.ReplicatedAtoms(now_), *next)) break;
        Add(SliceMove(now_, d, *next));
      }
    }
  }

  // Brings replicated atoms into dimensions whose cuts are not a multiple of those in the target, as far as the atoms
  // suffice.
  void SliceToCounts() {
    for (size_t d = 0; d < now_.rank(); ++d) {
      while (const std::optional<AtomIndex> atom =
                 Fitting(problem_.ReplicatedAtoms(now_), MissingCuts(d), problem_.target.Dimension(d), CutsOf(d))) {
        Add(SliceMove(now_, d, *atom));
      }
    }
  }

  void SliceEverything() {
    if (now_.rank() == 0) return;
    for (AtomIndex atom : problem_.ReplicatedAtoms(now_)) Add(SliceMove(now_, BestDimension({atom}), atom));
  }

  void AllReduce() {
    for (Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
      const AtomList partial = PartialBy(reduction);
      if (!partial.empty()) Add(AllReduceMove(now_, partial));
    }
  }

  // Brings to their final places what can come there, and the rest together into the dimension where the pieces stay
  // smallest, or by an all_reduce where `is_spread` is false.
  void ReduceScatter(bool is_spread) {
    for (bool is_again = true; is_again;) {
      is_again = false;
      for (size_t d = 0; d < now_.rank(); ++d) {
        const AtomList placed = PartialRun(d);
        if (placed.empty()) continue;
        Add(ReduceScatterMove(now_, placed, d));
        SliceInPlace();
        is_again = true;
      }
    }
    if (!is_spread || now_.rank() == 0) return AllReduce();
    for (Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
      const AtomList partial = PartialBy(reduction);
      if (!partial.empty()) Add(ReduceScatterMove(now_, partial, BestDimension(partial)));
    }
  }

  // Every move brings atoms to their final places. Where no such move is left, it makes the wrong atoms of a dimension
  // replicated; after that the dimension stays right.
  void MoveByDimension() {
    for (;;) {
      SliceInPlace();
      if (now_ == problem_.target) return;
      if (AllToAllInPlace()) continue;
      if (HasSameCounts(problem_, now_, problem_.target)) {
        Add(PermuteMove(problem_, now_, problem_.target));
        return;
      }
      GatherWrong();
    }
  }

  // Returns false where no permute is possible.
  bool MoveByPermute() {
    SliceToCounts();
    if (!MoveCutsToCounts()) return false;
    std::optional<Arrangement> result = TargetWithCountsOfNow();
    if (!result.has_value()) return false;
    if (!(*result == now_)) Add(PermuteMove(problem_, now_, *result));
    GatherToTarget();
    return true;
  }

 private:
  void Add(ArrangementMove move) {
    now_ = move.result;
    path_.push_back(std::move(move));
  }

  // The atom that comes next in dimension `d`; nullopt where its atoms are wrong or complete.
  std::optional<AtomIndex> NextWanted(size_t d) const {
    const AtomSpan here = now_.Dimension(d);
    const AtomSpan wanted = problem_.target.Dimension(d);
    if (!problem_.IsInPlace(here, d) || here.size() == wanted.size()) return std::nullopt;
    return wanted[here.size()];
  }

  int64_t CutsOf(size_t d) const { return problem_.CutCount(now_.Dimension(d)); }

  // The smallest factor that makes dimension `d`'s cuts a multiple of those in the target.
  int64_t MissingCuts(size_t d) const {
    const int64_t wanted = problem_.CutCount(problem_.target.Dimension(d));
    return wanted / std::gcd(wanted, CutsOf(d));
  }

  // Like SliceToCounts, with atoms that cut other dimensions. Returns false where none fit.
  bool MoveCutsToCounts() {
    for (size_t round = 0; round < 2 * problem_.atoms.size(); ++round) {
      size_t d = 0;
      while (d < now_.rank() && MissingCuts(d) == 1) ++d;
      if (d == now_.rank()) return true;
      std::optional<ArrangementMove> move = CutsFromElsewhere(d, /*may_be_wanted=*/false);
      if (!move.has_value()) move = CutsFromElsewhere(d, /*may_be_wanted=*/true);
      if (!move.has_value()) return false;
      Add(*std::move(move));
    }
    return false;
  }

  // The shortest suffix of another dimension that helps dimension `to`.
  std::optional<ArrangementMove> CutsFromElsewhere(size_t to, bool may_be_wanted) const {
    for (size_t d = 0; d < now_.rank(); ++d) {
      const AtomSpan here = now_.Dimension(d);
      for (size_t keep = here.size(); d != to && keep-- > 0;) {
        const int64_t size = problem_.atom(here[keep]).size;
        if (size == 1 || MissingCuts(to) % size != 0) continue;
        const bool is_wanted =
            problem_.CutCount(here.subspan(0, keep)) % problem_.CutCount(problem_.target.Dimension(d)) != 0;
        if (is_wanted && !may_be_wanted) continue;
        return AllToAllMove(now_, d, keep, to);
      }
    }
    return std::nullopt;
  }

  // One of `available` whose size divides `missing`: preferably the atom that `example` has behind `before` atoms'
  // cuts, otherwise the one on the cheapest link.
  std::optional<AtomIndex> Fitting(const AtomList& available, int64_t missing, AtomSpan example, int64_t before) const {
    int64_t count = 1;
    for (AtomIndex atom : example) {
      const int64_t size = problem_.atom(atom).size;
      if (count == before && size > 1 && Contains(available, atom) && missing % size == 0) return atom;
      count *= size;
    }
    std::optional<AtomIndex> best;
    for (AtomIndex atom : available) {
      const int64_t size = problem_.atom(atom).size;
      if (size == 1 || missing % size != 0) continue;
      if (!best.has_value() || Weight(atom) < Weight(*best)) best = atom;
    }
    return best;
  }

  size_t Weight(AtomIndex index) const {
    const std::vector<int64_t>& ranks = problem_.atom(index).ranks;
    for (size_t i = ranks.size(); i-- > 0;) {
      if (ranks[i] > 1) return i;
    }
    return 0;
  }

  AtomList PartialBy(Reduction reduction) const {
    AtomList partial;
    for (AtomIndex atom : now_.Partial()) {
      if (problem_.atom(atom).reduction == reduction) partial.push_back(atom);
    }
    return partial;
  }

  // The partial atoms of one reduction that come next in dimension `d`.
  AtomList PartialRun(size_t d) const {
    AtomList run;
    if (!problem_.IsInPlace(now_.Dimension(d), d)) return run;
    for (AtomIndex atom : problem_.target.Dimension(d).subspan(now_.Dimension(d).size())) {
      if (!Contains(now_.Partial(), atom)) break;
      if (!run.empty() && problem_.atom(run[0]).reduction != problem_.atom(atom).reduction) break;
      run.push_back(atom);
    }
    return run;
  }

  // The dimension in which more cuts leave the smallest pieces; of several the one that lacks most cuts.
  size_t BestDimension(AtomSpan atoms) const {
    size_t best = 0;
    std::pair<double, double> least;
    for (size_t d = 0; d < now_.rank(); ++d) {
      Arrangement result = now_;
      result.Append(d, atoms);
      const double surplus = static_cast<double>(problem_.CutCount(result.Dimension(d))) /
                             static_cast<double>(problem_.CutCount(problem_.target.Dimension(d)));
      const std::pair<double, double> order(problem_.LocalBytes(result), surplus);
      if (d == 0 || order < least) {
        best = d;
        least = order;
      }
    }
    return best;
  }

  bool AllToAllInPlace() {
    for (size_t d = 0; d < now_.rank(); ++d) {
      const AtomSpan here = now_.Dimension(d);
      for (size_t keep = 0; keep < here.size(); ++keep) {
        for (size_t to = 0; to < now_.rank(); ++to) {
          if (to == d || NextWanted(to) != here[keep]) continue;
          ArrangementMove move = AllToAllMove(now_, d, keep, to);
          if (!problem_.IsInPlace(move.result.Dimension(to), to)) continue;
          Add(std::move(move));
          return true;
        }
      }
    }
    return false;
  }

  size_t CommonPrefix(size_t d) const {
    const AtomSpan here = now_.Dimension(d);
    const AtomSpan wanted = problem_.target.Dimension(d);
    return static_cast<size_t>(std::mismatch(here.begin(), here.end(), wanted.begin(), wanted.end()).first -
                               here.begin());
  }

  // The dimension whose wrong atoms cross the most expensive link: it is gathered while the pieces are small.
  void GatherWrong() {
    std::optional<size_t> dearest;
    size_t most = 0;
    for (size_t d = 0; d < now_.rank(); ++d) {
      for (AtomIndex atom : now_.Dimension(d).subspan(CommonPrefix(d))) {
        if (dearest.has_value() && Weight(atom) <= most) continue;
        dearest = d;
        most = Weight(atom);
      }
    }
    CLEAVE_CHECK(dearest.has_value()) << "every dimension is right, and yet not the target";
    Add(GatherMove(now_, *dearest, CommonPrefix(*dearest)));
  }

  // The target, cut further by atoms that it does not use, until every dimension has as many pieces as now.
  std::optional<Arrangement> TargetWithCountsOfNow() const {
    Arrangement result = problem_.target;
    for (size_t d = 0; d < now_.rank(); ++d) {
      while (problem_.CutCount(result.Dimension(d)) < CutsOf(d)) {
        const int64_t count = problem_.CutCount(result.Dimension(d));
        const std::optional<AtomIndex> atom =
            Fitting(problem_.ReplicatedAtoms(result), CutsOf(d) / count, now_.Dimension(d), count);
        if (!atom.has_value()) return std::nullopt;
        result.Append(d, {*atom});
      }
    }
    return result;
  }

  void GatherToTarget() {
    while (!(now_ == problem_.target)) GatherWrong();
  }

  const Problem& problem_;
  Arrangement now_;
  ArrangementPath path_;
};

}  // namespace

std::vector<ArrangementPath> DirectPaths(const Problem& problem, const Arrangement& arrangement) {
  const bool is_partial = !arrangement.Partial().empty();
  const bool has_replicas = !problem.ReplicatedAtoms(arrangement).empty();
  std::vector<ArrangementPath> paths;
  for (const bool is_sliced : {false, true}) {
    for (const bool is_scattered : {false, true}) {
      for (const bool is_permuted : {false, true}) {
        if ((is_sliced && !has_replicas) || (is_scattered && !is_partial)) continue;
        PathBuilder builder(problem, arrangement);
        builder.SliceInPlace();
        if (is_sliced) {
          builder.SliceToCounts();
          builder.SliceEverything();
        }
        if (is_scattered) {
          builder.ReduceScatter(/*is_spread=*/is_sliced || is_permuted);
        } else {
          builder.AllReduce();
        }
        builder.SliceInPlace();
        if (is_permuted) {
          if (!builder.MoveByPermute()) continue;
        } else {
          builder.MoveByDimension();
        }
        paths.push_back(std::move(builder).Take());
      }
    }
  }
  return paths;
}

}  // namespace cleave::ir
