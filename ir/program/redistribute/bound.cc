// Reading guide. First assume that all links are equal. Let N be the bytes of the tensor, P the number of ranks that
// take part, S the bytes that a rank has and T those that it wants, in the mean over all ranks:
//
// - Without partial sums a rank must receive what it wants and does not have: at least T - S. Every move costs at least
//   what a rank receives by it. Where all pieces are equal, this holds for each rank: a rank that has nothing of what
//   it wants must receive T.
// - For sums that are partial over p ranks: for each element p - 1 parts must be sent to become one value, and the
// value
//   must be sent to all but one of the ranks that want it. Per rank that is (p - 1) N/P + T - N/P.
//
// With links of weights w1 < w2 < … every byte costs at least w1; those that cross an axis of weight w2 or more cost w2
// - w1 in addition, and so on. The ranks that differ only on cheaper axes are one host. What a host must receive is the
// same formula over the more expensive axes, shared among its ranks. Prices take the largest piece, which is no smaller
// than the mean.

#include "ir/program/redistribute/bound.h"

#include <algorithm>

namespace cleave::ir {

CostBound::CostBound(const Problem& problem, BoundKind kind) : problem_(problem) {
  double pieces = 1;
  for (int64_t count : problem.fixed_count) pieces *= static_cast<double>(count);
  bytes_ = static_cast<double>(problem.type.bytes().value()) / pieces;
  int64_t all = 1;
  for (const Atom& atom : problem.atoms) all *= atom.size;
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    Level level{.weight_step = problem.weights[i] - (i == 0 ? 0 : problem.weights[i - 1])};
    for (size_t a = 0; a < problem.atoms.size(); ++a) level.ranks *= Ranks({static_cast<AtomIndex>(a)}, i);
    level.ranks_per_host = all / level.ranks;
    int64_t cuts = 1;
    for (size_t d = 0; d < problem.target.rank(); ++d) cuts *= Ranks(problem.target.Dimension(d), i);
    level.target_bytes = bytes_ / static_cast<double>(cuts);
    levels_.push_back(level);
  }
  for (const Atom& atom : problem.atoms) {
    std::vector<size_t>& levels = level_of_axis_.emplace_back();
    for (AxisId axis : atom.axes) {
      const auto weight = std::find(problem.weights.begin(), problem.weights.end(), problem.mesh.axis(axis).weight);
      levels.push_back(static_cast<size_t>(weight - problem.weights.begin()));
    }
  }
  is_even_ = true;
  for (size_t d = 0; d < problem.target.rank(); ++d) {
    const bool is_dimension_even = problem.type.shape[d] % (problem.fixed_count[d] * all) == 0;
    is_even_ = is_even_ && (is_dimension_even || kind == BoundKind::kEstimate);
    wanted_.push_back(DigitsOf(problem.target.Dimension(d)));
  }
}

double CostBound::AtLeast(const Arrangement& arrangement) const {
  double cost = 0;
  for (size_t i = 0; i < levels_.size(); ++i) {
    cost += levels_[i].weight_step * MissingBytes(arrangement, i) / static_cast<double>(levels_[i].ranks_per_host);
  }
  return cost;
}

double CostBound::MissingBytes(const Arrangement& arrangement, size_t i) const {
  const Level& level = levels_[i];
  const int64_t parts = Ranks(arrangement.Partial(), i);
  if (parts > 1) {
    return level.target_bytes + static_cast<double>(parts - 2) * bytes_ / static_cast<double>(level.ranks);
  }
  double shared = bytes_;
  if (is_even_) {
    for (size_t d = 0; d < arrangement.rank(); ++d) {
      shared *= SharedFraction(DigitsOf(arrangement.Dimension(d)), wanted_[d], i);
    }
  } else {
    for (size_t d = 0; d < arrangement.rank(); ++d) shared /= static_cast<double>(Ranks(arrangement.Dimension(d), i));
  }
  return std::max(level.target_bytes - shared, 0.0);
}

int64_t CostBound::Ranks(AtomSpan atoms, size_t level) const {
  int64_t ranks = 1;
  for (AtomIndex atom : atoms) {
    for (size_t i = level; i < problem_.weights.size(); ++i) ranks *= problem_.atom(atom).ranks[i];
  }
  return ranks;
}

CostBound::Digits CostBound::DigitsOf(AtomSpan atoms) const {
  Digits digits;
  int64_t count = 1;
  for (AtomIndex index : atoms) {
    const Atom& atom = problem_.atom(index);
    for (size_t i = 0; i < atom.axes.size(); ++i) {
      const int64_t size = problem_.mesh.axis(atom.axes[i]).size;
      count *= size;
      digits.push_back(
          {.count = count, .size = size, .atom = index, .axis_in_atom = i, .level = level_of_axis_[index][i]});
    }
  }
  return digits;
}

// An element's place in the dimension is a number with digits of mixed radix, and an axis asks for one digit. Where the
// digits of both layouts are digits of one number, two axes that ask for the same digit make some host want what it
// does not have, so it shares nothing; different digits are independent. Elsewhere what a host shares is at most what
// it has and wants.
double CostBound::SharedFraction(const Digits& has, const Digits& wants, size_t level) const {
  double has_fraction = 1, wants_fraction = 1, both = 1;
  int64_t done = 1;  // The number so far.
  bool is_one_number = true, is_disjoint = false;
  for (auto h = has.begin(), w = wants.begin(); h != has.end() || w != wants.end();) {
    if (h != has.end() && h->level < level) {
      ++h;
    } else if (w != wants.end() && w->level < level) {
      ++w;
    } else if (h != has.end() && w != wants.end() && h->count == w->count && h->size == w->size) {
      const double size = static_cast<double>(h->size);
      is_disjoint = is_disjoint || (!h->IsSameAxis(*w) && h->size > 1);
      is_one_number = is_one_number && (h->count / h->size) % done == 0;
      has_fraction /= size;
      wants_fraction /= size;
      both /= size;
      done = h->count;
      ++h, ++w;
    } else {
      const bool is_next_has = w == wants.end() || (h != has.end() && h->count < w->count);
      const Digit& digit = is_next_has ? *h++ : *w++;
      const double size = static_cast<double>(digit.size);
      is_one_number = is_one_number && (digit.count / digit.size) % done == 0;
      (is_next_has ? has_fraction : wants_fraction) /= size;
      both /= size;
      done = digit.count;
    }
  }
  if (!is_one_number) return std::min(has_fraction, wants_fraction);
  return is_disjoint ? 0 : both;
}

}  // namespace cleave::ir
