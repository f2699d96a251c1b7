#include "search/price/cost/time_prices.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/price/cost/kernel_share.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

ir::TensorType LocalType(const ir::TensorType& type, const ir::Layout& layout, const ir::Mesh& mesh) {
  return {.dtype = type.dtype, .shape = ir::LargestLocalShape(layout, mesh, type.shape)};
}

// As much of a (local) tensor as its first rows, where only these are touched.
ir::TensorType OnlyRows(ir::TensorType type, int64_t rows) {
  if (rows > 0 && !type.shape.empty()) type.shape[0] = std::min(type.shape[0], rows);
  return type;
}

// An op's part of the time of its kernel. The parts of a kernel whose time is that of its memory add up to its time.
double LocalSeconds(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh, const KernelShare& share,
                    ir::OpId id, const ir::Strategy& strategy) {
  const ir::Op& op = facts.op(id);
  const ir::Rule& rule = facts.rule(id);
  if (facts.roles[id] == Role::kInput) {
    if (ir::ReadingOf(op.attributes) == ir::InputReading::kOnce) return 0;
    const Bytes bytes = LocalType(facts.value_type(id), ir::OutputLayout(strategy, rule), mesh).bytes();
    return InputSeconds(cluster, bytes).value() * static_cast<double>(facts.runs(id));
  }
  if (share.ops == 0 || ir::CutsInnerFactor(strategy, rule, mesh)) return 0;
  const ir::OpDefinition& definition = ir::DefinitionOf(op);
  const auto touched_type = [&](const ir::TensorType& whole, const ir::Layout& layout) {
    return OnlyRows(LocalType(whole, layout, mesh), facts.touched_rows[id]);
  };
  std::vector<ir::TensorType> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    inputs.push_back(touched_type(facts.input_type(id, i), ir::InputLayout(strategy, rule, static_cast<int>(i))));
  }
  const ir::TensorType output = touched_type(facts.value_type(id), ir::OutputLayout(strategy, rule));
  Bytes touched{0};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (share.reads[i]) touched += ir::BytesTouched(definition, inputs, output, static_cast<int>(i));
  }
  if (share.writes) touched += ir::BytesTouched(definition, inputs, output, -1);
  const Seconds arithmetic = ArithmeticSeconds(cluster, definition, inputs, output, op.attributes);
  return KernelSeconds(cluster, arithmetic, touched, share.ops).value() * static_cast<double>(facts.runs(id));
}

// What the kernels take that compute counted ops, with all that they compute.
double KernelSecondsOf(const Cluster& cluster, const ir::FuseOptions& fuse, const ir::Distributed& forms,
                       const IdVector<ir::OpId, uint8_t>& counted) {
  const absl::StatusOr<ir::Program> program = ir::Partition(forms.graph, forms.plan);
  CLEAVE_CHECK(program.ok()) << program.status();
  const ir::Fusion fusion = ir::Fuse(*program, fuse);
  const std::vector<Seconds> times = StageTimes(*program, fusion, cluster);
  Seconds sum{0};
  for (size_t i = 0; i < times.size(); ++i) {
    const ir::StageSteps steps = ir::StepsOf(fusion.stages[i]);
    const bool counts = std::any_of(steps.begin(), steps.end(), [&](int step) {
      const ir::Compute* const compute = ir::ComputeOf(program->steps[static_cast<size_t>(step)]);
      return compute != nullptr && counted[compute->op] != 0;
    });
    if (counts) sum += times[i];
  }
  return sum.value();
}

// Whether the machines send messages of many gradients beside computation.
bool SendsBeside(const Cluster& cluster) { return cluster.overlap_slowdown > 1; }

// The all-reduce of the loss, which every rank reports: a latency.
double LossSeconds(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh, ir::OpId id,
                   const ir::Strategy& strategy) {
  const ir::Layout layout = ir::OutputLayout(strategy, facts.rule(id));
  if (!layout.is_partial() || !SendsBeside(cluster)) return 0;
  return CollectiveSeconds(cluster, mesh, ir::CollectiveKind::kAllReduce, layout.PartialAxes(), Bytes(0)).value();
}

// What a micro-batch of a rank touches, each value once, where all of it is cut evenly.
Bytes EvenBytesOfStep(const GraphFacts& facts, const IdVector<ir::OpId, KernelShare>& shares, int ranks) {
  Bytes bytes;
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] == Role::kAside || ir::DefinitionOf(op).is_alias || !shares[op.id].writes) continue;
    bytes += OnlyRows(facts.value_type(op.id), facts.touched_rows[op.id]).bytes();
  }
  return Bytes(bytes.value() / ranks);
}

}  // namespace

ir::CollectivePrice SecondsOfCollectives(const Cluster& cluster, ir::Mesh mesh) {
  return [&cluster, mesh = std::move(mesh)](ir::CollectiveKind kind, absl::Span<const ir::AxisId> axes, double bytes) {
    return CollectiveSeconds(cluster, mesh, kind, axes, Bytes(static_cast<int64_t>(bytes))).value();
  };
}

RedistributionPrice SecondsOfRedistributions(const Cluster& cluster, const ir::Mesh& mesh) {
  return [&cluster, &mesh](const ir::TensorType& type, const ir::Layout& source, const ir::Redistribution& way,
                           const SentTogether& together) {
    return RedistributionSeconds(cluster, mesh, type, source, way, SendsBeside(cluster) ? together : SentTogether())
        .value();
  };
}

Prices TimePrices(const GraphFacts& facts, const Cluster& machine, const ir::Mesh& mesh, const ir::FuseOptions& fuse) {
  Prices prices;
  const auto shares = std::make_shared<const IdVector<ir::OpId, KernelShare>>(KernelSharesOf(facts, fuse));
  const Cluster cluster = SeenByStep(machine, EvenBytesOfStep(facts, *shares, mesh.rank_count()));
  prices.redistribution = SecondsOfRedistributions(machine, mesh);
  prices.collective = SecondsOfCollectives(machine, mesh);
  prices.local = [=, &facts, &mesh](ir::OpId op, const ir::Strategy& strategy) {
    const double loss = facts.graph->loss == op ? LossSeconds(facts, machine, mesh, op, strategy) : 0;
    return loss + LocalSeconds(facts, cluster, mesh, (*shares)[op], op, strategy);
  };
  prices.kernels = [=](const ir::Distributed& forms, const IdVector<ir::OpId, uint8_t>& counted) {
    return KernelSecondsOf(cluster, fuse, forms, counted);
  };
  // A reshaped tensor is the same bytes, what is aside is no part of a training step, and of the sources only data has
  // to be read.
  IdVector<ir::OpId, int> kinds(facts.graph->ops.size(), 0);
  std::map<std::tuple<KernelShare, int64_t, bool>, int> kind_of_share;
  for (const ir::Op& op : facts.graph->ops) {
    const bool is_data = facts.roles[op.id] == Role::kInput && !facts.is_unread_data(op.id) &&
                         ir::ReadingOf(op.attributes) != ir::InputReading::kOnce;
    const bool is_read = is_data && cluster.input_bytes_per_second > 0;
    const bool is_free = (op.inputs.empty() && !is_read) || ir::DefinitionOf(op).is_alias;
    if (is_free || facts.roles[op.id] == Role::kAside) continue;
    const int next = static_cast<int>(kind_of_share.size()) + 1;
    const std::tuple key((*shares)[op.id], facts.touched_rows[op.id], facts.graph->loss == op.id);
    kinds[op.id] = kind_of_share.emplace(key, next).first->second;
  }
  prices.local_kind = [kinds = std::move(kinds)](ir::OpId op) { return kinds[op]; };
  prices.is_seconds = true;
  prices.may_leave_idle = true;
  if (cluster.links.empty()) return prices;
  const Link& slowest = cluster.links.front();
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] == Role::kAside) continue;
    prices.scale += static_cast<double>(facts.times[op.id]) *
                    (slowest.latency.value() + static_cast<double>(op.type.bytes().value()) / slowest.bytes_per_second);
  }
  return prices;
}

}  // namespace cleave::search
