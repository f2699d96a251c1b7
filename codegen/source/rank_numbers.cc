#include "codegen/source/rank_numbers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

// factor * index + offset, where `index` takes the values 0, 1, ….
struct Affine {
  int64_t factor = 0;
  int64_t offset = 0;

  int64_t operator()(int64_t index) const { return factor * index + offset; }
};

cpp::Expr AffineOf(const Affine& affine, const cpp::Expr& index) {
  return cpp::Shifted(affine.factor == 1 ? index : index * affine.factor, affine.offset);
}

}  // namespace

cpp::Expr RankNumbers::Of(absl::Span<const int64_t> by_rank, const std::string& wish) {
  if (sizes_.folded()) return by_rank[static_cast<size_t>(*sizes_.rank())];
  const auto is_first = [&](int64_t number) { return number == by_rank.front(); };
  if (std::all_of(by_rank.begin(), by_rank.end(), is_first)) return by_rank.front();
  if (std::optional<cpp::Expr> formula = Formula(by_rank)) return *std::move(formula);
  return InTable("int", cpp::Numbers(by_rank), wish);
}

cpp::Expr RankNumbers::OfFloats(absl::Span<const double> by_rank, const std::string& wish) {
  if (sizes_.folded()) return cpp::Float(by_rank[static_cast<size_t>(*sizes_.rank())]);
  const auto is_first = [&](double number) { return number == by_rank.front(); };
  if (std::all_of(by_rank.begin(), by_rank.end(), is_first)) return cpp::Float(by_rank.front());
  // The numbers are whole, and small enough for this.
  std::vector<int64_t> whole;
  for (double number : by_rank) whole.push_back(std::abs(number) < 1e6 ? static_cast<int64_t>(number) : 0);
  if (std::equal(whole.begin(), whole.end(), by_rank.begin())) {
    if (const std::optional<cpp::Expr> formula = Formula(whole)) return cpp::Cast(cpp::Name("float"), *formula);
  }
  std::vector<cpp::Expr> entries;
  for (const double number : by_rank) entries.push_back(cpp::Float(number));
  return InTable("float", cpp::Braces(std::move(entries)), wish);
}

std::optional<cpp::Expr> RankNumbers::Formula(absl::Span<const int64_t> by_rank) {
  if (std::optional<cpp::Expr> text = OfMeshAxes(by_rank)) return text;
  if (std::optional<cpp::Expr> text = Modular(by_rank)) return text;
  return UpToTheLast(by_rank);
}

// Affine in the rank, or in its index on some neighbouring mesh axes; the longest such run is tried first.
std::optional<cpp::Expr> RankNumbers::OfMeshAxes(absl::Span<const int64_t> by_rank) {
  const ir::AxisList all = mesh_.AxisIds();
  for (size_t length = all.size(); length > 0; --length) {
    for (size_t first = 0; first + length <= all.size(); ++first) {
      const ir::AxisList axes(all.begin() + static_cast<std::ptrdiff_t>(first),
                              all.begin() + static_cast<std::ptrdiff_t>(first + length));
      if (mesh_.Size(axes) == 1) continue;
      // The first rank with index 1 gives the factor. After that every rank has to agree.
      int at_one = 0;
      while (mesh_.Index(at_one, axes) != 1) ++at_one;
      const Affine affine = {.factor = by_rank[static_cast<size_t>(at_one)] - by_rank[0], .offset = by_rank[0]};
      bool fits = true;
      for (size_t rank = 0; rank < by_rank.size() && fits; ++rank) {
        fits = by_rank[rank] == affine(mesh_.Index(static_cast<int>(rank), axes));
      }
      if (!fits) continue;
      uses_rank_ = uses_rank_ || length == all.size();
      return AffineOf(affine, length == all.size() ? cpp::Name("rank") : sizes_.Index(axes));
    }
  }
  return std::nullopt;
}

// The next rank, or the rank at another distance, in a ring of all ranks.
std::optional<cpp::Expr> RankNumbers::Modular(absl::Span<const int64_t> by_rank) {
  const int64_t ranks = static_cast<int64_t>(by_rank.size());
  const int64_t steps = by_rank[0];
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (steps < 0 || by_rank[static_cast<size_t>(rank)] != (rank + steps) % ranks) return std::nullopt;
  }
  uses_rank_ = true;
  return (cpp::Name("rank") + steps) % ranks;
}

// Affine in the rank except for the last ranks, which have -1 (nobody).
std::optional<cpp::Expr> RankNumbers::UpToTheLast(absl::Span<const int64_t> by_rank) {
  const auto last = std::find(by_rank.begin(), by_rank.end(), -1);
  const int64_t regular = last - by_rank.begin();
  const auto is_nobody = [](int64_t number) { return number == -1; };
  if (regular < 2 || !std::all_of(last, by_rank.end(), is_nobody)) return std::nullopt;
  const Affine affine = {.factor = by_rank[1] - by_rank[0], .offset = by_rank[0]};
  for (int64_t rank = 0; rank < regular; ++rank) {
    if (by_rank[static_cast<size_t>(rank)] != affine(rank)) return std::nullopt;
  }
  uses_rank_ = true;
  const cpp::Expr rank = cpp::Name("rank");
  return cpp::Choice(cpp::Infix(rank, "<", regular), AffineOf(affine, rank), -1);
}

cpp::Expr RankNumbers::InTable(const std::string& type, const cpp::Expr& entries, const std::string& wish) {
  uses_rank_ = true;
  std::string& name = table_names_[absl::StrCat(type, entries.Text())];
  if (name.empty()) {
    name = identifiers_.Unique(absl::StrCat(wish, "_by_rank"));
    tables_.push_back({.name = name, .type = type, .entries = entries});
  }
  return cpp::Name(name).At(cpp::Name("rank"));
}

}  // namespace cleave::codegen
