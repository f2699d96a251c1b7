#include "ir/program/redistribute/moves.h"

#include <algorithm>
#include <utility>

#include "ir/program/redistribute/price.h"

namespace cleave::ir {
namespace {

// Where an atom's axes are. While this stays the same, the number of a piece in the dimension has the same digit for
// them.
struct Digit {
  size_t dimension = 0;
  size_t position = 0;  // Axes before it.
  int64_t stride = 0;   // Pieces per step of its coordinate; 0 where it cuts nothing.

  bool operator==(const Digit&) const = default;
};

Digit DigitOf(const Problem& problem, const Arrangement& arrangement, AtomIndex atom) {
  for (size_t d = 0; d < arrangement.rank(); ++d) {
    Digit digit{.dimension = d};
    for (AtomIndex here : arrangement.Dimension(d)) {
      if (here == atom) {
        digit.stride = 1;
      } else if (digit.stride == 0) {
        digit.position += problem.atom(here).axes.size();
      } else {
        digit.stride *= problem.atom(here).size;
      }
    }
    if (digit.stride != 0) return digit;
  }
  return {};
}

class MoveLister {
 public:
  MoveLister(const Problem& problem, const Arrangement& arrangement, MoveChoice choice)
      : problem_(problem), now_(arrangement), choice_(choice) {}

  std::vector<ArrangementMove> List() && {
    AddSlices();
    for (size_t d = 0; d < now_.rank(); ++d) {
      for (size_t keep = 0; keep < now_.Dimension(d).size(); ++keep) AddMovesOfSuffix(d, keep);
    }
    for (Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) AddReductions(reduction);
    AddPermutes();
    return std::move(moves_);
  }

 private:
  void AddSlices() {
    AtomList seen;
    for (AtomIndex atom : problem_.ReplicatedAtoms(now_)) {
      const bool is_known = std::any_of(seen.begin(), seen.end(), [&](AtomIndex other) {
        return problem_.atom(other).kind == problem_.atom(atom).kind;
      });
      if (is_known) continue;
      seen.push_back(atom);
      for (size_t d = 0; d < now_.rank(); ++d) moves_.push_back(SliceMove(now_, d, atom));
    }
  }

  // The atoms of dimension `d` after the first `keep`: gathered, or moved to another dimension.
  void AddMovesOfSuffix(size_t d, size_t keep) {
    moves_.push_back(GatherMove(now_, d, keep));
    for (size_t to = 0; to < now_.rank(); ++to) {
      if (to != d) moves_.push_back(AllToAllMove(now_, d, keep, to));
    }
  }

  void AddReductions(Reduction reduction) {
    AtomList partial;
    for (AtomIndex atom : now_.Partial()) {
      if (problem_.atom(atom).reduction == reduction) partial.push_back(atom);
    }
    if (partial.empty()) return;
    if (choice_ == MoveChoice::kAll) {
      AddEveryAllReduce(partial);
      AtomList chosen;
      for (size_t d = 0; d < now_.rank(); ++d) AddEveryReduceScatter(d, partial, chosen);
    } else {
      AddPromisingReductions(partial);
    }
  }

  void AddEveryAllReduce(const AtomList& partial) {
    for (size_t subset = 1; subset < (size_t{1} << partial.size()); ++subset) {
      AtomList chosen;
      for (size_t i = 0; i < partial.size(); ++i) {
        if ((subset >> i & 1) != 0) chosen.push_back(partial[i]);
      }
      moves_.push_back(AllReduceMove(now_, chosen));
    }
  }

  // Into dimension `d`, every ordered choice of `partial` that begins with `chosen`.
  void AddEveryReduceScatter(size_t d, const AtomList& partial, AtomList& chosen) {
    for (AtomIndex atom : partial) {
      if (Contains(chosen, atom)) continue;
      chosen.push_back(atom);
      moves_.push_back(ReduceScatterMove(now_, chosen, d));
      AddEveryReduceScatter(d, partial, chosen);
      chosen.pop_back();
    }
  }

  void AddPromisingReductions(const AtomList& partial) {
    moves_.push_back(AllReduceMove(now_, partial));
    AtomList unwanted;  // Replicated in the target.
    for (AtomIndex atom : partial) {
      if (problem_.atom(atom).target_dimension < 0) unwanted.push_back(atom);
    }
    if (!unwanted.empty() && unwanted.size() < partial.size()) moves_.push_back(AllReduceMove(now_, unwanted));
    for (size_t d = 0; d < now_.rank(); ++d) {
      if (partial.size() > 1) moves_.push_back(ReduceScatterMove(now_, partial, d));
      if (!unwanted.empty() && unwanted.size() < partial.size()) {
        moves_.push_back(ReduceScatterMove(now_, unwanted, d));
      }
      for (AtomIndex atom : partial) moves_.push_back(ReduceScatterMove(now_, {atom}, d));
      if (!problem_.IsInPlace(now_.Dimension(d), d)) continue;
      AtomList placed;
      for (AtomIndex atom : problem_.target.Dimension(d).subspan(now_.Dimension(d).size())) {
        if (!Contains(partial, atom)) break;
        placed.push_back(atom);
        if (placed.size() > 1) moves_.push_back(ReduceScatterMove(now_, placed, d));
      }
    }
  }

  void AddPermutes() {
    if (choice_ == MoveChoice::kAll) {
      AtomList available = problem_.ReplicatedAtoms(now_);
      for (size_t d = 0; d < now_.rank(); ++d) {
        available.insert(available.end(), now_.Dimension(d).begin(), now_.Dimension(d).end());
      }
      std::sort(available.begin(), available.end());
      Arrangement result(now_.rank());
      for (AtomIndex atom : now_.Partial()) result.AddPartial(atom);
      FillPermutes(0, 1, available, result);
    } else if (HasSameCounts(problem_, now_, problem_.target)) {
      moves_.push_back(PermuteMove(problem_, now_, problem_.target));
    }
  }

  // Continues `result`, whose dimension `d` is cut into `count` pieces so far, in every way that ends with the numbers
  // of pieces that there are now.
  void FillPermutes(size_t d, int64_t count, const AtomList& available, Arrangement& result) {
    if (d == now_.rank()) {
      if (!(result == now_)) moves_.push_back(PermuteMove(problem_, now_, result));
      return;
    }
    const int64_t wanted = problem_.CutCount(now_.Dimension(d));
    if (count == wanted) FillPermutes(d + 1, 1, available, result);
    for (AtomIndex atom : available) {
      const int64_t size = problem_.atom(atom).size;
      if (size == 1 || wanted % (count * size) != 0) continue;
      AtomList rest = available;
      rest.erase(std::find(rest.begin(), rest.end(), atom));
      const size_t keep = result.Dimension(d).size();
      result.Append(d, {atom});
      FillPermutes(d, count * size, rest, result);
      result.ToInt32(d, keep);
    }
  }

  const Problem& problem_;
  const Arrangement& now_;
  MoveChoice choice_;
  std::vector<ArrangementMove> moves_;
};

}  // namespace

ArrangementMove SliceMove(const Arrangement& now, size_t d, AtomIndex atom) {
  ArrangementMove move{.collective = std::nullopt, .atoms = {atom}, .result = now};
  move.result.Append(d, move.atoms);
  return move;
}

ArrangementMove GatherMove(const Arrangement& now, size_t d, size_t keep) {
  const AtomSpan suffix = now.Dimension(d).subspan(keep);
  ArrangementMove move{.collective = CollectiveKind::kAllGather,
                       .atoms = AtomList(suffix.begin(), suffix.end()),
                       .from_dimension = static_cast<int>(d),
                       .result = now};
  move.result.ToInt32(d, keep);
  return move;
}

ArrangementMove AllToAllMove(const Arrangement& now, size_t d, size_t keep, size_t to) {
  ArrangementMove move = GatherMove(now, d, keep);
  move.collective = CollectiveKind::kAllToAll;
  move.to_dimension = static_cast<int>(to);
  move.result.Append(to, move.atoms);
  return move;
}

ArrangementMove AllReduceMove(const Arrangement& now, AtomSpan atoms) {
  ArrangementMove move{
      .collective = CollectiveKind::kAllReduce, .atoms = AtomList(atoms.begin(), atoms.end()), .result = now};
  move.result.RemovePartial(atoms);
  return move;
}

ArrangementMove ReduceScatterMove(const Arrangement& now, AtomSpan atoms, size_t to) {
  ArrangementMove move = AllReduceMove(now, atoms);
  move.collective = CollectiveKind::kReduceScatter;
  move.to_dimension = static_cast<int>(to);
  move.result.Append(to, move.atoms);
  return move;
}

ArrangementMove PermuteMove(const Problem& problem, const Arrangement& now, const Arrangement& result) {
  ArrangementMove move{.collective = CollectiveKind::kPermute, .atoms = {}, .result = result};
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    const AtomIndex atom = static_cast<AtomIndex>(i);
    if (!(DigitOf(problem, now, atom) == DigitOf(problem, result, atom))) move.atoms.push_back(atom);
  }
  return move;
}

bool HasSameCounts(const Problem& problem, const Arrangement& now, const Arrangement& other) {
  for (size_t d = 0; d < now.rank(); ++d) {
    if (problem.CutCount(now.Dimension(d)) != problem.CutCount(other.Dimension(d))) return false;
  }
  return now.Partial() == other.Partial();
}

double PriceOf(const Problem& problem, const ArrangementMove& move, double input_bytes, double output_bytes) {
  if (!move.collective.has_value()) return 0;
  if (problem.price != nullptr) {
    const double bytes = move.collective == CollectiveKind::kAllGather ? output_bytes : input_bytes;
    return problem.price(*move.collective, problem.AxesOf(move.atoms), bytes);
  }
  absl::InlinedVector<LinkClass, 4> links;
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    LinkClass link{.weight = problem.weights[i]};
    bool is_crossed = false;
    for (AtomIndex index : move.atoms) {
      link.ranks *= problem.atom(index).ranks[i];
      is_crossed = is_crossed || problem.atom(index).ranks[i] > 1;
    }
    if (is_crossed) links.push_back(link);
  }
  return MovePrice(move.collective, links, input_bytes, output_bytes);
}

std::vector<ArrangementMove> MovesFrom(const Problem& problem, const Arrangement& arrangement, MoveChoice choice) {
  return MoveLister(problem, arrangement, choice).List();
}

}  // namespace cleave::ir
