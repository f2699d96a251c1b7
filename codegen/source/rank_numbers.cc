#include "codegen/source/rank_numbers.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/emit/text.h"

namespace cleave::codegen {
namespace {

// factor * index + offset, where `index` takes the values 0, 1, ….
struct Affine {
  int64_t factor = 0;
  int64_t offset = 0;

  int64_t operator()(int64_t index) const { return factor * index + offset; }
};

std::string AffineText(const Affine& affine, const std::string& index) {
  const bool is_sum = index.find(' ') != std::string::npos;
  std::string text = affine.factor == 1 ? index
                     : is_sum           ? absl::StrCat("(", index, ") * ", affine.factor)
                                        : absl::StrCat(index, " * ", affine.factor);
  if (affine.offset != 0) absl::StrAppend(&text, affine.offset > 0 ? " + " : " - ", std::abs(affine.offset));
  return text;
}

}  // namespace

std::string RankNumbers::Text(absl::Span<const int64_t> by_rank, const std::string& wish) {
  if (sizes_.folded()) return absl::StrCat(by_rank[static_cast<size_t>(*sizes_.rank())]);
  const auto is_first = [&](int64_t number) { return number == by_rank.front(); };
  if (std::all_of(by_rank.begin(), by_rank.end(), is_first)) return absl::StrCat(by_rank.front());
  if (std::optional<std::string> formula = Formula(by_rank)) return *std::move(formula);
  return TableText("int", absl::StrCat("{", absl::StrJoin(by_rank, ", "), "}"), wish);
}

std::string RankNumbers::FloatText(absl::Span<const double> by_rank, const std::string& wish) {
  if (sizes_.folded()) return FloatLiteral(by_rank[static_cast<size_t>(*sizes_.rank())]);
  const auto is_first = [&](double number) { return number == by_rank.front(); };
  if (std::all_of(by_rank.begin(), by_rank.end(), is_first)) return FloatLiteral(by_rank.front());
  // The numbers are whole, and small enough for this.
  std::vector<int64_t> whole;
  for (double number : by_rank) whole.push_back(std::abs(number) < 1e6 ? static_cast<int64_t>(number) : 0);
  if (std::equal(whole.begin(), whole.end(), by_rank.begin())) {
    if (const std::optional<std::string> formula = Formula(whole))
      return absl::StrCat("static_cast<float>(", *formula, ")");
  }
  const auto append = [](std::string* out, double number) { absl::StrAppend(out, FloatLiteral(number)); };
  return TableText("float", absl::StrCat("{", absl::StrJoin(by_rank, ", ", append), "}"), wish);
}

std::optional<std::string> RankNumbers::Formula(absl::Span<const int64_t> by_rank) {
  if (std::optional<std::string> text = OfMeshAxes(by_rank)) return text;
  if (std::optional<std::string> text = Modular(by_rank)) return text;
  return UpToTheLast(by_rank);
}

// Affine in the rank, or in its index on some neighbouring mesh axes; the longest such run is tried first.
std::optional<std::string> RankNumbers::OfMeshAxes(absl::Span<const int64_t> by_rank) {
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
      return AffineText(affine, length == all.size() ? "rank" : sizes_.IndexText(axes));
    }
  }
  return std::nullopt;
}

// The next rank, or the rank at another distance, in a ring of all ranks.
std::optional<std::string> RankNumbers::Modular(absl::Span<const int64_t> by_rank) {
  const int64_t ranks = static_cast<int64_t>(by_rank.size());
  const int64_t steps = by_rank[0];
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (steps < 0 || by_rank[static_cast<size_t>(rank)] != (rank + steps) % ranks) return std::nullopt;
  }
  uses_rank_ = true;
  return absl::StrCat("(rank + ", steps, ") % ", ranks);
}

// Affine in the rank except for the last ranks, which have -1 (nobody).
std::optional<std::string> RankNumbers::UpToTheLast(absl::Span<const int64_t> by_rank) {
  const auto last = std::find(by_rank.begin(), by_rank.end(), -1);
  const int64_t regular = last - by_rank.begin();
  const auto is_nobody = [](int64_t number) { return number == -1; };
  if (regular < 2 || !std::all_of(last, by_rank.end(), is_nobody)) return std::nullopt;
  const Affine affine = {.factor = by_rank[1] - by_rank[0], .offset = by_rank[0]};
  for (int64_t rank = 0; rank < regular; ++rank) {
    if (by_rank[static_cast<size_t>(rank)] != affine(rank)) return std::nullopt;
  }
  uses_rank_ = true;
  return absl::StrCat("rank < ", regular, " ? ", AffineText(affine, "rank"), " : -1");
}

std::string RankNumbers::TableText(const std::string& type, const std::string& entries, const std::string& wish) {
  uses_rank_ = true;
  std::string& name = table_names_[absl::StrCat(type, entries)];
  if (name.empty()) {
    name = identifiers_.Unique(absl::StrCat(wish, "_by_rank"));
    tables_.push_back({.name = name, .type = type, .entries = entries});
  }
  return absl::StrCat(name, "[rank]");
}

}  // namespace cleave::codegen
