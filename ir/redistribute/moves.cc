#include "ir/redistribute/moves.h"

#include <algorithm>

namespace cleave {
namespace {

bool IsPrefix(const std::vector<int>& prefix, const std::vector<int>& whole) {
  return prefix.size() <= whole.size() && std::equal(prefix.begin(), prefix.end(), whole.begin());
}

bool Contains(const std::vector<int>& atoms, int atom) {
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

// Permutes of more atoms than this change places pairwise, or all at once into the target.
constexpr size_t kMostFreelyPermutedAtoms = 4;

class MoveLister {
 public:
  MoveLister(const Problem& problem, const Arrangement& arrangement, bool directed)
      : problem_(problem), now_(arrangement), directed_(directed) {}

  std::vector<ArrangementMove> List() && {
    AddSlices();
    for (size_t d = 0; d < now_.dimensions.size(); ++d) {
      for (size_t keep = 0; keep < now_.dimensions[d].size(); ++keep) AddMovesOfSuffix(d, keep);
    }
    for (Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) AddReductions(reduction);
    AddPermutes();
    return std::move(moves_);
  }

 private:
  size_t rank() const { return now_.dimensions.size(); }

  // `atoms` at the end of dimension `d` of `result`, when that may lead to the target.
  bool Append(Arrangement& result, size_t d, const std::vector<int>& atoms) const {
    std::vector<int>& dimension = result.dimensions[d];
    dimension.insert(dimension.end(), atoms.begin(), atoms.end());
    return !directed_ || IsPrefix(dimension, problem_.target.dimensions[d]);
  }

  void AddSlices() {
    for (int atom : problem_.ReplicatedAtoms(now_)) {
      for (size_t d = 0; d < rank(); ++d) {
        ArrangementMove move{.collective = std::nullopt, .atoms = {atom}, .result = now_};
        if (Append(move.result, d, move.atoms)) moves_.push_back(std::move(move));
      }
    }
  }

  // The atoms of dimension `d` after the first `keep`: gathered, or moved to another dimension.
  void AddMovesOfSuffix(size_t d, size_t keep) {
    const std::vector<int>& dimension = now_.dimensions[d];
    ArrangementMove gather{.collective = CollectiveKind::kAllGather,
                           .atoms = {dimension.begin() + static_cast<int64_t>(keep), dimension.end()},
                           .from_dimension = static_cast<int>(d),
                           .result = now_};
    gather.result.dimensions[d].resize(keep);
    for (size_t to = 0; to < rank(); ++to) {
      if (to == d) continue;
      ArrangementMove move = gather;
      move.collective = CollectiveKind::kAllToAll;
      move.to_dimension = static_cast<int>(to);
      if (Append(move.result, to, move.atoms)) moves_.push_back(std::move(move));
    }
    moves_.push_back(std::move(gather));
  }

  void AddReductions(Reduction reduction) {
    std::vector<int> partial;
    for (int atom : now_.partial) {
      if (problem_.atoms[static_cast<size_t>(atom)].reduction == reduction) partial.push_back(atom);
    }
    if (partial.empty()) return;
    if (directed_) {
      AddAllReduce(partial);
      std::vector<int> unwanted;  // Replicated in the target.
      for (int atom : partial) {
        const auto& dimensions = problem_.target.dimensions;
        if (std::none_of(dimensions.begin(), dimensions.end(),
                         [&](const std::vector<int>& dimension) { return Contains(dimension, atom); })) {
          unwanted.push_back(atom);
        }
      }
      if (!unwanted.empty() && unwanted != partial) AddAllReduce(unwanted);
    } else {
      for (size_t subset = 1; subset < (size_t{1} << partial.size()); ++subset) {
        std::vector<int> chosen;
        for (size_t i = 0; i < partial.size(); ++i) {
          if ((subset >> i & 1) != 0) chosen.push_back(partial[i]);
        }
        AddAllReduce(chosen);
      }
    }
    for (size_t d = 0; d < rank(); ++d) {
      std::vector<int> chosen;
      AddReduceScatters(d, partial, chosen);
    }
  }

  void RemovePartial(Arrangement& result, const std::vector<int>& atoms) const {
    result.partial.erase(
        std::remove_if(result.partial.begin(), result.partial.end(), [&](int atom) { return Contains(atoms, atom); }),
        result.partial.end());
  }

  void AddAllReduce(const std::vector<int>& atoms) {
    ArrangementMove move{.collective = CollectiveKind::kAllReduce, .atoms = atoms, .result = now_};
    RemovePartial(move.result, atoms);
    moves_.push_back(std::move(move));
  }

  // Into dimension `d`, every ordered choice of `partial` that begins with `chosen`.
  void AddReduceScatters(size_t d, const std::vector<int>& partial, std::vector<int>& chosen) {
    for (int atom : partial) {
      if (Contains(chosen, atom)) continue;
      chosen.push_back(atom);
      ArrangementMove move{.collective = CollectiveKind::kReduceScatter,
                           .atoms = chosen,
                           .to_dimension = static_cast<int>(d),
                           .result = now_};
      if (Append(move.result, d, chosen)) {
        RemovePartial(move.result, chosen);
        moves_.push_back(std::move(move));
        AddReduceScatters(d, partial, chosen);
      }
      chosen.pop_back();
    }
  }

  bool HasSameCounts(const Arrangement& other) const {
    for (size_t d = 0; d < rank(); ++d) {
      if (problem_.CutCount(now_.dimensions[d]) != problem_.CutCount(other.dimensions[d])) return false;
    }
    return now_.partial == other.partial;
  }

  void AddPermutes() {
    if (HasSameCounts(problem_.target)) AddPermute(problem_.target);
    if (directed_) return;
    std::vector<int> available = problem_.ReplicatedAtoms(now_);
    for (const std::vector<int>& dimension : now_.dimensions) {
      available.insert(available.end(), dimension.begin(), dimension.end());
    }
    std::sort(available.begin(), available.end());
    if (available.size() <= kMostFreelyPermutedAtoms) {
      Arrangement result{.dimensions = std::vector<std::vector<int>>(rank()), .partial = now_.partial};
      FillPermutes(0, 1, available, result);
    } else {
      AddSwaps(available);
    }
  }

  // Continues `result`, whose dimension `d` is cut into `count` so far, in every way that ends with the cut counts of
  // now.
  void FillPermutes(size_t d, int64_t count, const std::vector<int>& available, Arrangement& result) {
    if (d == rank()) return AddPermute(result);
    const int64_t wanted = problem_.CutCount(now_.dimensions[d]);
    if (count == wanted) FillPermutes(d + 1, 1, available, result);
    for (int atom : available) {
      const int64_t size = problem_.atoms[static_cast<size_t>(atom)].size;
      if (size == 1 || wanted % (count * size) != 0) continue;
      std::vector<int> rest = available;
      rest.erase(std::find(rest.begin(), rest.end(), atom));
      result.dimensions[d].push_back(atom);
      FillPermutes(d, count * size, rest, result);
      result.dimensions[d].pop_back();
    }
  }

  void AddSwaps(const std::vector<int>& available) {
    for (size_t a = 0; a < available.size(); ++a) {
      for (size_t b = a + 1; b < available.size(); ++b) {
        Arrangement result = now_;
        for (std::vector<int>& dimension : result.dimensions) {
          for (int& atom : dimension) {
            if (atom == available[a]) {
              atom = available[b];
            } else if (atom == available[b]) {
              atom = available[a];
            }
          }
        }
        if (HasSameCounts(result)) AddPermute(result);
      }
    }
  }

  // Where an atom's axes are: a piece's number in a dimension holds the same digit for them as long as this stays.
  struct Digit {
    size_t dimension = 0;
    size_t position = 0;  // Axes before it.
    int64_t stride = 0;   // Pieces per step of its coordinate; 0 where it cuts nothing.

    bool operator==(const Digit&) const = default;
  };

  Digit DigitOf(const Arrangement& arrangement, int atom) const {
    for (size_t d = 0; d < rank(); ++d) {
      const std::vector<int>& dimension = arrangement.dimensions[d];
      Digit digit{.dimension = d, .position = 0, .stride = 0};
      for (size_t i = 0; i < dimension.size(); ++i) {
        const Atom& here = problem_.atoms[static_cast<size_t>(dimension[i])];
        if (dimension[i] == atom) digit.stride = 1;
        if (digit.stride == 0) {
          digit.position += here.axes.size();
        } else {
          digit.stride *= here.size;
        }
      }
      if (digit.stride != 0) return digit;
    }
    return {};
  }

  void AddPermute(const Arrangement& result) {
    if (result == now_) return;
    ArrangementMove move{.collective = CollectiveKind::kPermute, .atoms = {}, .result = result};
    for (int atom = 0; atom < static_cast<int>(problem_.atoms.size()); ++atom) {
      if (DigitOf(now_, atom) != DigitOf(result, atom)) move.atoms.push_back(atom);
    }
    moves_.push_back(std::move(move));
  }

  const Problem& problem_;
  const Arrangement& now_;
  bool directed_;
  std::vector<ArrangementMove> moves_;
};

}  // namespace

std::vector<ArrangementMove> MovesFrom(const Problem& problem, const Arrangement& arrangement, bool directed) {
  return MoveLister(problem, arrangement, directed).List();
}

}  // namespace cleave
