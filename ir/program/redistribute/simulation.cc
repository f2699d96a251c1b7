#include "ir/program/redistribute/simulation.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"

namespace cleave::ir {
namespace {

using Elements = std::map<std::vector<int64_t>, int64_t>;  // Global index -> value.

class Simulation {
 public:
  Simulation(const Mesh& mesh, const Shape& shape, const Layout& source, Reduction reduction)
      : mesh_(mesh), shape_(shape), layout_(source), reduction_(reduction) {
    for (int rank = 0; rank < mesh.rank_count(); ++rank) {
      Elements& elements = held_.emplace_back();
      const int64_t part = mesh.Index(rank, source.PartialAxes());
      const int64_t parts = mesh.Size(source.PartialAxes());
      for (const std::vector<int64_t>& index : IndexesOf(source, rank)) elements[index] = Part(index, part, parts);
    }
  }

  void Apply(const Move& move) {
    std::vector<Elements> next;
    for (int rank = 0; rank < mesh_.rank_count(); ++rank) {
      const std::vector<int> group = mesh_.Group(rank, move.axes);
      Elements gathered;
      if (!move.collective.has_value()) {
        gathered = held_[static_cast<size_t>(rank)];
      } else if (*move.collective == CollectiveKind::kAllReduce || *move.collective == CollectiveKind::kReduceScatter) {
        ASSERT_EQ(move.reduction, reduction_);
        for (int member : group) {
          ASSERT_EQ(held_[static_cast<size_t>(member)].size(), held_[static_cast<size_t>(rank)].size());
          for (const auto& [index, value] : held_[static_cast<size_t>(member)]) {
            const auto [found, is_new] = gathered.try_emplace(index, value);
            if (!is_new)
              found->second = reduction_ == Reduction::kSum ? found->second + value : std::max(found->second, value);
          }
        }
      } else {
        if (move.from_dimension >= 0) ExpectConsecutive(group, static_cast<size_t>(move.from_dimension));
        for (int member : group)
          gathered.insert(held_[static_cast<size_t>(member)].begin(), held_[static_cast<size_t>(member)].end());
      }
      Elements& kept = next.emplace_back();
      for (const std::vector<int64_t>& index : IndexesOf(move.result, rank)) {
        ASSERT_EQ(gathered.count(index), 1u)
            << "rank " << rank << " cannot get what " << LayoutText(move.result, mesh_) << " asks for";
        kept[index] = gathered[index];
      }
      // Gathers and reductions keep everything that they get.
      if (move.collective == CollectiveKind::kAllReduce || move.collective == CollectiveKind::kAllGather) {
        ASSERT_EQ(kept.size(), gathered.size());
      }
    }
    held_ = std::move(next);
    layout_ = move.result;
  }

  // Every rank holds its slice of the tensor, or its part of it.
  void ExpectCorrect() const {
    for (int rank = 0; rank < mesh_.rank_count(); ++rank) {
      for (const auto& [index, value] : held_[static_cast<size_t>(rank)]) {
        int64_t whole = value;
        for (int member : mesh_.Group(rank, layout_.PartialAxes())) {
          if (member == rank) continue;
          const int64_t part = held_[static_cast<size_t>(member)].at(index);
          whole = reduction_ == Reduction::kSum ? whole + part : std::max(whole, part);
        }
        ASSERT_EQ(whole, Value(index)) << "rank " << rank;
      }
    }
  }

  const Layout& layout() const { return layout_; }

 private:
  int64_t Value(const std::vector<int64_t>& index) const {
    int64_t value = 17;
    for (size_t d = 0; d < index.size(); ++d) value = value * 1009 + index[d];
    return value;
  }

  // Parts that together give the value: for a sum one part has the rest, for a maximum one part has the whole value.
  int64_t Part(const std::vector<int64_t>& index, int64_t part, int64_t parts) const {
    const int64_t value = Value(index);
    if (reduction_ == Reduction::kSum)
      return part + 1 < parts ? part + 3 : value - (parts - 1) * 3 - (parts - 1) * (parts - 2) / 2;
    return part == value % parts ? value : value - 1 - part;
  }

  std::vector<std::vector<int64_t>> IndexesOf(const Layout& layout, int rank) const {
    std::vector<std::vector<int64_t>> indexes = {{}};
    for (const Piece& piece : SliceOf(layout, mesh_, shape_, rank)) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t>& index : indexes) {
        for (int64_t i = 0; i < piece.size; ++i) {
          longer.push_back(index);
          longer.back().push_back(piece.begin + i);
        }
      }
      indexes = std::move(longer);
    }
    return indexes;
  }

  // The members' pieces lie one after another in the order in which the group numbers its members.
  void ExpectConsecutive(const std::vector<int>& group, size_t dimension) const {
    int64_t next = SliceOf(layout_, mesh_, shape_, group.front())[dimension].begin;
    for (int member : group) {
      const Piece piece = SliceOf(layout_, mesh_, shape_, member)[dimension];
      ASSERT_EQ(piece.begin, next);
      next += piece.size;
    }
  }

  const Mesh& mesh_;
  Shape shape_;
  Layout layout_;
  Reduction reduction_;
  std::vector<Elements> held_;
};

}  // namespace

void ExpectCorrectPath(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target,
                       Reduction reduction) {
  const absl::StatusOr<Redistribution> plan = PlanRedistribution(mesh, type, source, target);
  ASSERT_TRUE(plan.ok()) << plan.status();
  Simulation simulation(mesh, type.shape, source, reduction);
  double cost = 0;
  Layout before = source;
  for (const Move& move : plan->moves) {
    cost += MoveCost(mesh, type, before, move);
    before = move.result;
    simulation.Apply(move);
    if (testing::Test::HasFatalFailure()) return;
  }
  ASSERT_EQ(simulation.layout(), target);
  ASSERT_NEAR(cost, plan->cost, 1e-9);
  simulation.ExpectCorrect();
}

}  // namespace cleave::ir
