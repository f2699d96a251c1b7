// Prices of redistributions, each computed once: a table over (type, source layout, target layout).
//
// Layouts and types are interned, so that a search handles them as small numbers. Not thread-safe.
#ifndef CLEAVE_SEARCH_COST_REDISTRIBUTION_PRICES_H_
#define CLEAVE_SEARCH_COST_REDISTRIBUTION_PRICES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"
#include "ir/redistribute/redistribute.h"
#include "ir/types/types.h"

namespace cleave {

// Weighted bytes that a rank sends, and the number of collectives that carry them: the tie-breaker.
struct Cost {
  double bytes = 0;
  int collectives = 0;
  int impossible = 0;  // Reads that no redistribution can serve; a plan has none.

  Cost operator+(const Cost& other) const {
    return {bytes + other.bytes, collectives + other.collectives, impossible + other.impossible};
  }
  Cost operator-(const Cost& other) const {
    return {bytes - other.bytes, collectives - other.collectives, impossible - other.impossible};
  }
  bool operator==(const Cost&) const = default;
};

// Whether `a` is cheaper than `b`: possible, or fewer bytes beyond rounding, or as many and fewer collectives.
bool Cheaper(const Cost& a, const Cost& b);

using LayoutIndex = int;
using TypeIndex = int;

class RedistributionPrices {
 public:
  explicit RedistributionPrices(Mesh mesh) : mesh_(std::move(mesh)) {}

  const Mesh& mesh() const { return mesh_; }
  LayoutIndex Intern(const Layout& layout);
  TypeIndex Intern(const TensorType& type);
  // How much work the search for redistributions took so far, in units of a table lookup: the same on every machine.
  int64_t work() const { return work_; }
  // Stays valid while more layouts are interned.
  const Layout& layout(LayoutIndex index) const { return layouts_[static_cast<size_t>(index)]; }

  // The cheapest way from `source` to `target`; nullopt where there is none (a partial sum cannot be made).
  std::optional<Cost> Price(TypeIndex type, LayoutIndex source, LayoutIndex target);

  // One reader's demand on a value, and what a byte sent for it costs (0: it is sent, but not priced).
  struct Demanded {
    LayoutIndex layout = 0;
    double weight = 1;
  };

  // Serves `reads` in order, each from the layout that is cheapest among those that exist by then; what was made once
  // is used again.
  Cost Serve(TypeIndex type, LayoutIndex produced, const std::vector<Demanded>& reads);

 private:
  std::optional<Cost> Planned(const TensorType& type, const Layout& source, const Layout& target);

  Mesh mesh_;
  std::deque<Layout> layouts_;  // Callers hold references while more are interned.
  std::map<Layout, LayoutIndex> layout_index_;
  std::vector<TensorType> types_;
  std::map<std::pair<int, Shape>, TypeIndex> type_index_;
  absl::flat_hash_map<std::pair<uint64_t, int>, std::optional<Cost>> prices_;
  // Of one shape that stands for all that are cut evenly.
  std::map<std::pair<Layout, Layout>, std::optional<Cost>> even_prices_;
  std::map<std::tuple<Shape, Layout, Layout>, std::optional<Cost>> uneven_prices_;
  int64_t work_ = 0;
  std::vector<LayoutIndex> available_;  // Of the value being served; kept to spare allocations.
};

}  // namespace cleave

#endif  // CLEAVE_SEARCH_COST_REDISTRIBUTION_PRICES_H_
