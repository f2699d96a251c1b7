// Prices of redistributions, each computed once: a table over (type, source layout, target layout).
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
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "search/model/facts/facts.h"
#include "search/model/tuning/tuning.h"
#include "search/price/cost/prices.h"

namespace cleave::search {

// What a plan, or a part of it, costs in the price of a search. The number of collectives decides between equal prices.
struct Cost {
  double price = 0;  // Weighted bytes that a rank sends; seconds under the price `time`.
  int collectives = 0;
  int impossible = 0;  // Reads that no redistribution can serve; a plan has none.

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

// Whether `a` is cheaper than `b`: by fewer impossible reads, or by a price that is lower by more than rounding, or by
// fewer collectives.
bool Cheaper(const Cost& a, const Cost& b);

using LayoutIndex = int;
using TypeIndex = int;

// The layout that one reader demands of a value, and the price of a byte that is sent for it (0: the demand is not
// priced, and what is made for it serves no other reader).
struct LayoutDemand {
  LayoutIndex layout = 0;
  double weight = 1;
};

// Serves readers in order, each from the cheapest of the tensors that exist by then; a tensor that was made once is
// used again. Tensor 0 is the value as it is made, tensor i what reads[i - 1] demands. `lie_alike(i, j)`: whether these
// two are the same; `price(i, j)`: the price of making j from i, nullopt where there is no way. `made` is scratch
// space.
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

// Prices that differ from those of the program: many layouts are treated as one, and the price between two of them is a
// lower bound.
struct LayoutRelaxation {
  // The layout that represents all layouts that are treated as one. Null: there is no relaxation.
  std::function<ir::Layout(const ir::Layout&)> representative = nullptr;
  // The price between two representatives; nullopt where there is no way.
  std::function<std::optional<Cost>(const ir::TensorType&, const ir::Layout& source, const ir::Layout& target)> price =
      nullptr;
};

class RedistributionPrices {
 public:
  // `sums`: Graph::sums. Of `prices` those of redistributions are used, and their planner, which is one for `mesh`; of
  // `tuning` the numbers for the work of planning.
  explicit RedistributionPrices(const ir::Mesh& mesh, std::optional<ir::DType> sums = std::nullopt,
                                LayoutRelaxation relaxation = {}, const Prices& prices = {},
                                const SearchTuning& tuning = {})
      : planner_(prices.planner != nullptr ? prices.planner : std::make_shared<ir::RedistributionPlanner>(mesh)),
        sums_(sums),
        relaxation_(std::move(relaxation)),
        price_(prices.redistribution),
        lookups_per_direct_way_(tuning.lookups_per_direct_way),
        lookups_per_full_way_(tuning.lookups_per_full_way) {}

  // How thoroughly prices are searched from now on. Full ones are those of the program (docs/cost.md); direct ones are
  // found at once, and are never lower.
  void set_effort(ir::RedistributionEffort effort) { effort_ = effort; }
  ir::RedistributionEffort effort() const { return effort_; }

  const ir::Mesh& mesh() const { return planner_->mesh(); }
  LayoutIndex Intern(const ir::Layout& layout);
  // `times`: how often a tensor of this type is sent; its prices are those of all times together.
  TypeIndex Intern(const ir::TensorType& type, int64_t times = 1, SentTogether together = {});
  // The same for the value of an op.
  TypeIndex TypeOf(const GraphFacts& facts, ir::OpId value) {
    return Intern(facts.value_type(value), facts.moves(value), facts.sent_together[value]);
  }
  // The work of the search for redistributions so far, in units of a table lookup: the same on every machine.
  int64_t work() const { return work_; }
  // Stays valid while more layouts are interned.
  const ir::Layout& layout(LayoutIndex index) const { return layouts_[static_cast<size_t>(index)]; }

  // The cheapest way from `source` to `target`; nullopt where there is none (a partial sum cannot be made).
  std::optional<Cost> Price(TypeIndex type, LayoutIndex source, LayoutIndex target);

  // ServeInOrder() of a value that is made as `produced`.
  Cost Serve(TypeIndex type, LayoutIndex produced, const std::vector<LayoutDemand>& reads);

  // A number for a price, for callers that look it up often; it holds until the effort is set.
  using PriceNumber = int;
  PriceNumber NumberOf(TypeIndex type, LayoutIndex source, LayoutIndex target);
  // As Price().
  const std::optional<Cost>& price(PriceNumber number) { return known().costs[static_cast<size_t>(number)]; }

 private:
  std::optional<ir::Redistribution> Planned(const ir::TensorType& type, const ir::Layout& source,
                                            const ir::Layout& target);
  // A source layout with the names of equal axes in the order in which it uses them, and the number of these names.
  struct CanonicalSource {
    LayoutIndex layout = 0;
    int names = 0;  // Of axis_names_.
  };
  CanonicalSource CanonicalSourceOf(LayoutIndex source);
  // A target with the names that its source has given; axes that have none are named in the order in which it uses
  // them.
  LayoutIndex CanonicalTargetOf(LayoutIndex target, int names);
  // The type in which a tensor is sent that lies as `source`.
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
    // Planned for one shape, which represents all shapes that are cut evenly.
    std::map<std::pair<ir::Layout, ir::Layout>, std::optional<ir::Redistribution>> even;
  };

  Known& known() { return known_[effort_ == ir::RedistributionEffort::kFull ? 0 : 1]; }

  std::shared_ptr<ir::RedistributionPlanner> planner_;
  std::optional<ir::DType> sums_;
  LayoutRelaxation relaxation_;
  RedistributionPrice price_;
  int64_t lookups_per_direct_way_;
  int64_t lookups_per_full_way_;
  ir::RedistributionEffort effort_ = ir::RedistributionEffort::kFull;
  std::deque<ir::Layout> layouts_;  // Callers hold references while more are interned.
  absl::flat_hash_map<ir::Layout, LayoutIndex, LayoutHash> layout_index_;
  absl::flat_hash_map<LayoutIndex, CanonicalSource> canonical_sources_;
  absl::flat_hash_map<std::pair<LayoutIndex, int>, LayoutIndex> canonical_targets_;
  std::vector<ir::AxisList> axis_names_;  // The new name of each axis; -1 for an axis that has none.
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
