// Which work a step repeats for each of its micro-batches.
//
// A step may take its batch in K micro-batches, one after another, and update the parameters once. That is one more
// axis of the mesh, an axis of time: its "ranks" are moments. It cuts samples by the rules that hold for every axis.
// What an op sums over samples is partial over it, and its all-reduce is a sum in place, which is complete after the
// last micro-batch; so are maxima, minima and products.
//
//   logits = x w^T            "i k, j k -> i j"    i counts samples             kEach, factor i
//   w.grad = dlogits^T x      "i j, i k -> j k"    sums over samples            kEach, factor i; its value is partial
//   w.new = w - lr w.grad                          reads what is complete       kOnce
//
// What samples need of a sum over all of them must be known before the first micro-batch. That is possible where the
// sum follows from inputs alone, as the number of samples that are not masked, by which a loss is divided: it is summed
// up in a loop over the micro-batches of its own, before the others (kEachBefore).
//
// The axis cuts each dimension before all others: a micro-batch is a run of samples, which the ranks divide.
#ifndef CLEAVE_IR_SHARDING_MICRO_BATCHES_MICRO_BATCHES_H_
#define CLEAVE_IR_SHARDING_MICRO_BATCHES_MICRO_BATCHES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

// How the axis of time treats an op.
struct BatchUse {
  enum class Kind {
    kOnce,        // Not at all: the op does not depend on samples, or only on sums over all of them.
    kEach,        // It cuts factor `index` of the op's rule.
    kEachBefore,  // The same, in the loop before the others: sums that are needed there, and what only these read.
    kPass,        // Partial sums over it pass through the op's linear group `index`.
  };
  Kind kind = Kind::kOnce;
  int index = -1;

  bool CutsSamples() const { return kind == Kind::kEach || kind == Kind::kEachBefore; }

  bool operator==(const BatchUse&) const = default;
};

// Why a batch cannot be taken in parts: `op` sums over all samples, or relates them to one another, and `reader`,
// perhaps `op` itself, needs the result for each sample. An update has both at once where parameters belong to samples.
struct BatchObstacle {
  OpId op;
  OpId reader;

  bool operator==(const BatchObstacle&) const = default;
};

// "`mean` sums over all samples of a step, and `centered` needs the sum for each of them"
std::string ObstacleText(const Graph& graph, const BatchObstacle& obstacle);

struct BatchUses {
  IdVector<OpId, BatchUse> ops;
  std::optional<BatchObstacle> obstacle;  // Then `ops` is not complete.
};

// The samples of a step: all inputs of samples that have dimensions have them as the first one. nullopt where there is
// none.
std::optional<int64_t> BatchOf(const Graph& graph);

// For each op of a training graph. Samples are the first dimension of every input that IsSamples. REQUIRES: VerifyGraph
// finds no error, and the graph is not manual.
BatchUses FindBatchUses(const Graph& graph);

// Why a step cannot take its batch in as many micro-batches as its plan says.
struct MicroBatchRefusal {
  std::optional<OpId> op;  // Because of which; nullopt for a manual model, which cannot be cut at all.
  std::string why;         // A clause that names it.
  // The largest smaller number of micro-batches in which the step can take its batch; 1: it cannot be cut at all.
  int64_t largest = 1;

  bool operator==(const MicroBatchRefusal&) const = default;
};

// nullopt where it can. REQUIRES: VerifyGraph and VerifyPlan find no error, and WithTime has a mesh for the plan.
std::optional<MicroBatchRefusal> FindRefusal(const Graph& graph, const Plan& plan);
// The same for one device and `count` micro-batches: what one device cannot do, no plan can.
std::optional<MicroBatchRefusal> FindRefusal(const Graph& graph, int64_t count);

// The mesh with the axis of time, as its last, of size `count`. REQUIRES: count > 1.
absl::StatusOr<Mesh> WithTime(const Mesh& mesh, int64_t count);

// The strategy of an op on the mesh with the axis `time`; an error where its pieces would not be those of the layout
// convention, with a message for the user.
absl::StatusOr<Strategy> OverTime(Strategy strategy, const BatchUse& use, AxisId time, const Rule& rule,
                                  const Mesh& mesh);

// The layout of one moment: without the axis `time`, which is the first to cut its dimension, or the last partial one.
Layout WithoutTime(Layout layout, AxisId time);

// The dimension that the axis `time` cuts; nullopt where it cuts none.
std::optional<size_t> SampleDimension(const Layout& layout, AxisId time);
// Whether `axis` cuts the tensor, or it is partial over it.
bool DependsOn(const Layout& layout, AxisId axis);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_MICRO_BATCHES_MICRO_BATCHES_H_
