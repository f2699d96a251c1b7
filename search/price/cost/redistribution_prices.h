// Memoizes prices of redistributions over (type, source layout, target layout).
//
// Layouts and types are interned, so that a search handles them as small numbers. Not thread-safe.
#ifndef CLEAVE_SEARCH_PRICE_COST_REDISTRIBUTION_PRICES_H_
#define CLEAVE_SEARCH_PRICE_COST_REDISTRIBUTION_PRICES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/facts/facts.h"
#include "search/model/tuning/tuning.h"
#include "search/price/cost/prices.h"

namespace cleave::search {

// The cost of a plan, or of a part of it. The number of collectives breaks ties between equal prices.
struct Cost {
  double price = 0;  // Weighted bytes that a rank sends; seconds under the price `time`.
  int collectives = 0;
  int impossible = 0;  // Reads that no redistribution can serve; 0 in a plan.

  Cost operator+(const Cost& other) const {
    return {price + other.price, collectives + other.collectives, impossible + other.impossible};
  }
  Cost operator-(const Cost& other) const {
    return {price - other.price, collectives - other.collectives, impossible - other.impossible};
  }
  Cost operator*(int64_t times) const {
    const auto count = static_cast<int>(times);
    return {price * static_cast<double>(times), collectives * count, impossible * count};
  }
  bool operator==(const Cost&) const = default;
};

// Whether `a` is cheaper than `b`: by impossible reads, then by price up to rounding, then by collectives.
bool Cheaper(const Cost& a, const Cost& b);

using LayoutIndex = int;
using TypeIndex = int;

// The layout in which one reader wants a value, and the weight of the price of making it (0: not priced, and of no use
// to other readers).
struct LayoutDemand {
  LayoutIndex layout = 0;
  double weight = 1;
};

// The cost of serving readers in order, each from the cheapest of the tensors that exist by then. Tensor 0 is the value
// as produced, tensor i what reads[i - 1] wants. `lie_alike(i, j)`: whether their layouts are equal; `price(i, j)`: the
// price of making j from i, nullopt where that is impossible. `made` is scratch space.
template <typename LieAlike, typename PriceOf>
Cost ServeInOrder(absl::Span<const LayoutDemand> reads, const LieAlike& lie_alike, const PriceOf& price,
                  std::vector<size_t>& made) {
  made.assign(1, 0);
  Cost total;
  for (size_t tensor = 1; tensor <= reads.size(); ++tensor) {
    const double weight = reads[tensor - 1].weight;
    if (weight == 0) continue;
    if (std::any_of(made.begin(), made.end(), [&](size_t other) { return lie_alike(other, tensor); })) continue;
    std::optional<Cost> least;
    for (const size_t source : made) {
      const std::optional<Cost>& own = price(source, tensor);
      if (own.has_value() && (!least.has_value() || Cheaper(*own, *least))) least = own;
    }
    made.push_back(tensor);
    if (least.has_value()) {
      total.price += weight * least->price;
      total.collectives += least->collectives;
    } else {
      ++total.impossible;
    }
  }
  return total;
}

// A relaxation in which many layouts are treated as one, and the price between two of them is a lower bound.
struct LayoutRelaxation {
  // The layout that represents those treated as one with it. Null: no relaxation.
  std::function<ir::Layout(const ir::Layout&)> representative = nullptr;
  // The price between two representatives; nullopt where it is impossible.
  std::function<std::optional<Cost>(const ir::TensorType&, const ir::Layout& source, const ir::Layout& target)> price =
      nullptr;
};

class RedistributionPrices {
 public:
  // `sums`: Graph::sums. Uses the prices of redistributions and of kernels and the planner of `prices`, which must be
  // one for `mesh`, and the work of planning in `tuning`.
  explicit RedistributionPrices(const ir::Mesh& mesh, std::optional<ir::DType> sums = std::nullopt,
                                LayoutRelaxation relaxation = {}, const Prices& prices = {},
                                const SearchTuning& tuning = {})
      : planner_(prices.planner != nullptr ? prices.planner
                                           : std::make_shared<ir::RedistributionPlanner>(mesh, prices.collective)),
        sums_(sums),
        relaxation_(std::move(relaxation)),
        price_(prices.redistribution),
        kernels_(prices.kernels),
        lookups_per_direct_way_(tuning.lookups_per_direct_way),
        lookups_per_full_way_(tuning.lookups_per_full_way) {}

  // How redistributions are planned from now on: in full as in the program (docs/cost.md), or directly, which is quick,
  // and whose price is never lower.
  void set_effort(ir::RedistributionEffort effort) { effort_ = effort; }
  ir::RedistributionEffort effort() const { return effort_; }

  const ir::Mesh& mesh() const { return planner_->mesh(); }
  LayoutIndex Intern(const ir::Layout& layout);
  // `times`: how often a tensor of this type is sent; prices are of all times together.
  TypeIndex Intern(const ir::TensorType& type, int64_t times = 1, SentTogether together = {});
  // The same for the value of an op.
  TypeIndex TypeOf(const GraphFacts& facts, ir::OpId value) {
    return Intern(facts.value_type(value), facts.moves(value), facts.sent_together[value]);
  }
  // Prices::kernels.
  double KernelsOf(const ir::Distributed& forms, const IdVector<ir::OpId, uint8_t>& counted) const {
    return kernels_ == nullptr ? 0 : kernels_(forms, counted);
  }
  // The work of the search for redistributions so far, in units of a table lookup: the same on every machine.
  int64_t work() const { return work_; }
  // Stays valid while more layouts are interned.
  const ir::Layout& layout(LayoutIndex index) const { return layouts_[static_cast<size_t>(index)]; }

  // The price of the cheapest redistribution from `source` to `target`; nullopt where there is none (no partial sum can
  // be made).
  std::optional<Cost> Price(TypeIndex type, LayoutIndex source, LayoutIndex target);

  // ServeInOrder() for a value in layout `produced`.
  Cost Serve(TypeIndex type, LayoutIndex produced, const std::vector<LayoutDemand>& reads);

  // A handle of a price, for frequent look-ups; valid until set_effort().
  using PriceNumber = int;
  PriceNumber NumberOf(TypeIndex type, LayoutIndex source, LayoutIndex target);
  // As Price().
  const std::optional<Cost>& price(PriceNumber number) { return known().costs[static_cast<size_t>(number)]; }

 private:
  // Counts as work what it takes to plan the redistribution.
  void CountWork(const ir::Layout& source, const ir::Layout& target);
  std::optional<ir::Redistribution> Planned(const ir::TensorType& type, const ir::Layout& source,
                                            const ir::Layout& target);
  // A source layout with interchangeable axes renamed in the order of their use, and the number of that renaming.
  struct CanonicalSource {
    LayoutIndex layout = 0;
    int names = 0;  // Of axis_names_.
  };
  CanonicalSource CanonicalSourceOf(LayoutIndex source);
  // A target renamed as its source; axes that the source does not use are renamed in the order of their use.
  LayoutIndex CanonicalTargetOf(LayoutIndex target, int names);
  // The element type and shape in which a tensor in layout `source` is sent.
  ir::TensorType SentType(TypeIndex type, const ir::Layout& source) const;
  std::optional<Cost> PriceOfEven(TypeIndex number, const ir::Layout& source, const ir::Layout& target);
  PriceNumber NumberOfUneven(TypeIndex type, LayoutIndex source, LayoutIndex target);
  // `cost`: of one time.
  PriceNumber Add(TypeIndex type, std::optional<Cost> cost);
  // `type`: as it is sent.
  Cost CostOf(TypeIndex number, const ir::TensorType& type, const ir::Layout& source,
              const ir::Redistribution& way) const;

  // Type, source and target in two numbers, which take little time to hash.
  using Key = std::pair<uint64_t, TypeIndex>;
  static Key KeyOf(TypeIndex type, LayoutIndex source, LayoutIndex target) {
    return {(static_cast<uint64_t>(source) << 32) | static_cast<uint64_t>(target), type};
  }

  // By the cuts, which few layouts have in common.
  struct LayoutHash {
    size_t operator()(const ir::Layout& layout) const {
      return absl::Hash<std::vector<ir::AxisList>>()(layout.dimensions);
    }
  };

  // Prices of one effort.
  struct Known {
    absl::flat_hash_map<Key, PriceNumber> prices;  // Indices into `costs`: small, because there are many more keys.
    std::vector<std::optional<Cost>> costs = {Cost{}};  // First that between equal layouts.
    // By canonical layouts, for all shapes that are cut evenly and have so many bytes: 0 for any number, where prices
    // are in proportion to it.
    std::map<std::pair<ir::Layout, ir::Layout>, std::map<int64_t, std::optional<ir::Redistribution>>> even;
  };

  Known& known() { return known_[effort_ == ir::RedistributionEffort::kFull ? 0 : 1]; }

  std::shared_ptr<ir::RedistributionPlanner> planner_;
  std::optional<ir::DType> sums_;
  LayoutRelaxation relaxation_;
  RedistributionPrice price_;
  decltype(Prices::kernels) kernels_;
  int64_t lookups_per_direct_way_;
  int64_t lookups_per_full_way_;
  ir::RedistributionEffort effort_ = ir::RedistributionEffort::kFull;
  std::deque<ir::Layout> layouts_;  // Callers hold references while more are interned.
  absl::flat_hash_map<ir::Layout, LayoutIndex, LayoutHash> layout_index_;
  absl::flat_hash_map<LayoutIndex, CanonicalSource> canonical_sources_;
  absl::flat_hash_map<std::pair<LayoutIndex, int>, LayoutIndex> canonical_targets_;
  std::vector<ir::AxisList> axis_names_;  // By axis its new name; -1: none.
  absl::flat_hash_map<ir::AxisList, int> axis_names_index_;
  std::vector<ir::TensorType> types_;
  std::vector<int64_t> times_;
  std::vector<SentTogether> together_;
  std::vector<bool> is_even_;  // By type: whether all pieces are equal wherever it is cut.
  std::map<std::tuple<int, ir::Shape, int64_t, int64_t, int64_t>, TypeIndex> type_index_;
  std::array<Known, 2> known_;
  int64_t work_ = 0;
  std::vector<size_t> made_;  // For the value being served; kept to avoid allocations.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_REDISTRIBUTION_PRICES_H_
