// Changing a tensor's layout: a shortest path over layouts.
//
//   RedistributionPlanner planner(mesh);
//   Redistribution way = *planner.Plan(type, LayoutOf("[m0, -]"), LayoutOf("[-, m0]"));
//   way.moves == {all_to_all over m0, from dimension 0 to dimension 1}
//
// Moves, with S the rank's input (output for all-gather) in bytes, n the ranks of the group, w the link weight:
//   slice              a replicated axis cuts a dimension                   free
//   all_gather         the innermost axes of a dimension become replicated  (n-1)/n * S * w
//   all_to_all         the innermost axes of a dimension cut another        (n-1)/n * S * w
//   reduce_scatter     partial axes cut a dimension                         (n-1)/n * S * w
//   all_reduce         partial axes become replicated                       2(n-1)/n * S * w
//   permute            axes change places, the cut counts stay              S * w
//   neighbor_exchange  pieces become windows, as the last move of all       S * w, where S is what the rank that
//                                                                           receives most gets
// or, where the planner is given a CollectivePrice, what that says: the seconds of a cluster, for example. Sizes are
// those of the largest rank. Axes of one weight move together as one group, and n is the product of their sizes. A move
// over axes of different weights is priced hierarchically: the cheapest link first on the whole, each more expensive
// one on what is left (S divided by the sizes done; an all_to_all leaves everything; permute and neighbor_exchange pay
// the most expensive link).
//
// Axes that neither layout uses take no part: their ranks hold the same at every step. (Sharing the work among them
// would send less, but it would cost one more gather and would keep gradients apart that one all_reduce can take.) No
// other path is cheaper where `is_cheapest` is true: always where up to three axes are used, and wherever a lower bound
// is met. So up to three axes no detour over a layout of these axes is cheaper. On larger meshes the search is bounded,
// by the number of moves and not by time, and the path costs at most as much as the best of some direct ones. (A
// CollectivePrice has no bound: there the search is one for weighted bytes.) Ties: fewer collectives, then fewer moves
// (a slice counts once per axis; both where the search is complete), then the first in a fixed order (graph.h). The
// same arguments give the same path.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_REDISTRIBUTE_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_REDISTRIBUTE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/program/program.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// What a collective over `axes` costs where S of the table above is `bytes`.
using CollectivePrice = std::function<double(CollectiveKind kind, absl::Span<const AxisId> axes, double bytes)>;

struct Move {
  // nullopt: a slice.
  std::optional<CollectiveKind> collective;
  AxisList axes;
  Reduction reduction = Reduction::kSum;
  int from_dimension = -1;
  int to_dimension = -1;
  Layout result;  // After the move.

  bool operator==(const Move&) const = default;
};

struct Redistribution {
  std::vector<Move> moves;  // Empty when source and target are equal. No two slices follow one another.
  double cost = 0;          // Weighted bytes sent per rank, or what the planner's CollectivePrice says.
  int collectives = 0;
  bool is_cheapest = true;  // Proven: no sequence of moves of the axes used costs less.

  bool operator==(const Redistribution&) const = default;
};

// By cost, or where that is equal but for rounding, by fewer collectives.
bool IsCheaper(const Redistribution& a, const Redistribution& b);

// How long to look for a way.
enum class RedistributionEffort {
  kFull,    // As the head of this file describes.
  kDirect,  // The best of some direct ways, without a search, for callers that ask for many thousand pairs of layouts.
};

class ArrangementGraphs;

// Plans many redistributions on one mesh. Where up to three axes are used, it keeps what it finds out about a type and
// such axes, so that more ways between the same layouts, or others of the same type, take little time; where more are
// used, it keeps the ways. No answer depends on what was asked before. Not thread-safe.
class RedistributionPlanner {
 public:
  // `price`: null for weighted bytes.
  explicit RedistributionPlanner(Mesh mesh, CollectivePrice price = nullptr);
  RedistributionPlanner(const RedistributionPlanner&) = delete;
  RedistributionPlanner& operator=(const RedistributionPlanner&) = delete;
  ~RedistributionPlanner();

  const Mesh& mesh() const { return mesh_; }

  // The way from `source` to `target`. A target with windows is reached in the cheapest of these ways: from the same
  // layout without windows by a neighbor_exchange, or by a slice where all windows lie within what the ranks hold; or
  // by a slice from a layout in which some of the windowed dimensions are whole. An error where the target is partial
  // over an axis over which the source is not (or with another reduction), because a partial tensor cannot be made. An
  // error also where the source has windows and is not the target: a rank holds only what it reads, and others may lack
  // it.
  absl::StatusOr<Redistribution> Plan(const TensorType& type, const Layout& source, const Layout& target,
                                      RedistributionEffort effort = RedistributionEffort::kFull);

 private:
  // A way between two layouts without windows.
  struct Question {
    TensorType type;
    Layout source, target;

    bool operator==(const Question&) const = default;
  };
  struct QuestionHash {
    size_t operator()(const Question& question) const;
  };

  Redistribution PlanWithoutWindows(const TensorType& type, const Layout& source, const Layout& target,
                                    RedistributionEffort effort);
  Redistribution PlanIntoWindows(const TensorType& type, const Layout& source, const Layout& target,
                                 RedistributionEffort effort);

  const Mesh mesh_;
  const CollectivePrice price_;
  std::unique_ptr<ArrangementGraphs> graphs_;  // They refer to the mesh.
  absl::flat_hash_map<Question, Redistribution, QuestionHash> searched_;
};

// A planner for several programs, which may be made beside one another: no way is planned twice. Thread-safe.
class SharedRedistributions {
 public:
  // As RedistributionPlanner.
  explicit SharedRedistributions(Mesh mesh, CollectivePrice price = nullptr)
      : planner_(std::move(mesh), std::move(price)) {}

  const Mesh& mesh() const { return planner_.mesh(); }

  absl::StatusOr<Redistribution> Plan(const TensorType& type, const Layout& source, const Layout& target);

 private:
  std::mutex mutex_;
  RedistributionPlanner planner_;
};

// One way that is planned by itself.
absl::StatusOr<Redistribution> PlanRedistribution(const Mesh& mesh, const TensorType& type, const Layout& source,
                                                  const Layout& target,
                                                  RedistributionEffort effort = RedistributionEffort::kFull);

// One move from `source`: in weighted bytes where `price` is null.
double MoveCost(const Mesh& mesh, const TensorType& type, const Layout& source, const Move& move,
                const CollectivePrice& price = nullptr);

// No sequence of moves of the axes that both layouts use leads from `source` to `target` for less than this. REQUIRES:
// neither has windows, and there is a way.
double CostAtLeast(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_REDISTRIBUTE_H_
