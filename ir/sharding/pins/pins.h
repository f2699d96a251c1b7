// The user's demands on a plan: the `parallel` block and the pins on ops and tensors. They are an input of search.
#ifndef CLEAVE_IR_SHARDING_PINS_PINS_H_
#define CLEAVE_IR_SHARDING_PINS_PINS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/source/source.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/stages/stages.h"

namespace cleave::ir {

// A number or a name with its place in the source.
template <typename T>
struct Placed {
  T value{};
  Span span;

  bool operator==(const Placed&) const = default;
};

// Slices per dimension of one tensor; nullopt: `auto`.
using CountsPin = std::optional<std::vector<Placed<int64_t>>>;

// #[shard((4, 2), (1, 2))], #[shard(in = ((8, 1), auto), out = (8, 1))]
struct ShardPin {
  std::vector<CountsPin> in;
  CountsPin out;

  bool operator==(const ShardPin&) const = default;
};

// #[layout("dp", _)]: per dimension the mesh axes, major first.
struct LayoutPin {
  std::vector<std::vector<Placed<std::string>>> dimensions;

  bool operator==(const LayoutPin&) const = default;
};

struct ReplicatePin {
  bool operator==(const ReplicatePin&) const = default;
};

// All mesh axes for which it has enough elements cut the value's first dimension, the batch.
struct DataParallelPin {
  bool operator==(const DataParallelPin&) const = default;
};

struct Pin {
  OpId op;  // An op, or a parameter (its storage layout).
  std::variant<ShardPin, LayoutPin, ReplicatePin, DataParallelPin> demand;
  Span span;  // Of the attribute, or of the `pin` statement.

  bool operator==(const Pin&) const = default;
};

// In propagation pins with lower values spread first.
struct Priority {
  OpId op;
  int64_t value = 0;

  bool operator==(const Priority&) const = default;
};

// `#[region(in = …, out = …, params = …, objective = …)]` on a call. The frontend gives each argument and each result
// of the call a separate op `identity` at the region's border: these ops belong to the region, and the demands of `in`
// and `out` are pins on them.
enum class Objective { kSpeed, kMemory, kComputeToCommunication };
enum class RegionDevice { kAny, kCpu, kGpu };

struct Region {
  std::string name;       // The path of the call: "y".
  std::vector<OpId> ops;  // Forward ops of the call, the border's included, in program order; no sources.
  Objective objective = Objective::kSpeed;
  RegionDevice device = RegionDevice::kAny;
  Span span;              // Of the attribute.
  Span device_span = {};  // Of the device that it names.

  bool operator==(const Region&) const = default;
};

enum class SearchAlgorithm { kSapp, kPropagate, kExact, kDataParallel, kReplicate, kManual };
// How the ops outside all regions are planned.
enum class Outside { kReplicate, kSearch };
enum class Price { kBytes, kClassic, kTime };
// Whether the backward pass makes values of the forward pass again instead of keeping them in memory: where a plan does
// not fit, never, or as much as saves memory.
enum class Recompute { kAuto, kNone, kFull };
// Whether gradients of tables are applied by rows (ir/graph/row_updates): where that is faster, nowhere, or wherever it
// is possible.
enum class TableRows { kAuto, kNone, kAll };
// Whether losses of products are computed in slices (ir/graph/sliced_losses): where memory decides, nowhere, or
// wherever it is possible.
enum class SliceLosses { kAuto, kNone, kAll };
// Whether keys and values go round from rank to rank where the rows of attention are cut (ir/graph/rings): where memory
// or time decides, nowhere, or wherever it is possible.
enum class RingAttentions { kAuto, kNone, kAll };
enum class DatasetLayout { kDataParallel, kFullBatch };

struct NamedAxis {
  std::string name;
  int64_t size = 1;
  Span span;

  bool operator==(const NamedAxis&) const = default;
};

// The `parallel` block; absent settings have their defaults. `*_span` says where a setting was written (empty: not
// written).
struct ParallelSettings {
  std::optional<Placed<int64_t>> devices;
  std::vector<NamedAxis> mesh;  // Empty: axes of prime size.
  SearchAlgorithm search = SearchAlgorithm::kSapp;
  bool search_given = false;  // In the model or on the command line.
  DatasetLayout dataset = DatasetLayout::kDataParallel;
  bool dataset_given = false;
  Objective objective = Objective::kSpeed;
  std::optional<Placed<int64_t>> memory;  // Bytes per device.
  // nullopt: `bytes` for `propagate`, which follows pins with the least redistribution, else `time`.
  std::optional<Price> cost;
  // Products may leave mesh axes idle where that takes less time. nullopt: where a step has fewer samples than there
  // are ranks (search/price/cost/prices.h).
  std::optional<bool> leave_idle;
  std::optional<double> gradient_weight;
  // Under `classic`, of each element of a tensor that two neighbours cut differently. 0: ops do not see their
  // neighbours.
  double redistribution_weight = 16;
  std::optional<int64_t> zero = 0;                // nullopt: `auto`.
  Outside outside = Outside::kReplicate;          // Of a model with regions.
  std::optional<int64_t> micro_batches = 1;       // Plan::micro_batches; nullopt: `auto`.
  Recompute recompute = Recompute::kAuto;         // Of values without a RetentionPin.
  TableRows row_updates = TableRows::kAuto;       // Of gradients of tables.
  bool passes_over_parameters = false;            // Regions may name parameters that they cannot pin.
  SliceLosses slice_losses = SliceLosses::kAuto;  // Of those that say no number of parts.
  RingAttentions ring_attention = RingAttentions::kAuto;
  std::optional<int64_t> zigzag;  // Plan::zigzag; nullopt: `auto`.
  // OpPlan::chunks, of all products that can be computed so; 0: of none; nullopt: `auto`.
  std::optional<int64_t> collective_matmul;
  std::optional<DType> sums;                                               // Graph::sums.
  std::optional<int64_t> stages = 1;                                       // Of a pipeline; nullopt: `auto`.
  std::optional<PipelineSchedule> pipeline_schedule = PipelineSchedule();  // nullopt: `auto`.
  Span stages_span, pipeline_schedule_span;
  Span search_span, objective_span, cost_span, zero_span, mesh_span, outside_span, micro_batches_span, recompute_span,
      row_updates_span, sums_span, zigzag_span, ring_attention_span, collective_matmul_span;

  Price price() const { return cost.value_or(search == SearchAlgorithm::kPropagate ? Price::kBytes : Price::kTime); }

  bool operator==(const ParallelSettings&) const = default;
};

// #[recompute], #[keep], #[offload]: what becomes of a forward op's value until the backward pass reads it.
struct RetentionPin {
  OpId op;
  Retention retention = Retention::kKeep;  // kKeep, kRecompute or kOffload.
  Span span;                               // Of the attribute, or of the `pin` statement.

  bool operator==(const RetentionPin&) const = default;
};

// #[stage(k)]: the stage of a pipeline that computes an op.
struct StagePin {
  OpId op;
  int64_t stage = 0;
  Span span;  // As above.

  bool operator==(const StagePin&) const = default;
};

struct Pins {
  ParallelSettings settings;
  std::vector<Pin> pins;  // In source order.
  std::vector<Priority> priorities;
  std::vector<Region> regions;           // In source order; no op is in two.
  std::vector<RetentionPin> retentions;  // In program order, at most one for each op. None is of a source.
  std::vector<StagePin> stages;          // At most one for each op. None is of a source.

  bool operator==(const Pins&) const = default;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_PINS_PINS_H_
