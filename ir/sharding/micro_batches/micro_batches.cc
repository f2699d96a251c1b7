#include "ir/sharding/micro_batches/micro_batches.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

using Kind = BatchUse::Kind;

// What a value is to a micro-batch.
struct Dependence {
  enum class Kind {
    kNone,    // The same in all of them.
    kSample,  // Dimension `dimension` holds samples, major before all other factors of it.
    kPart,    // A part of a sum over all samples.
    kWhole,   // It needs a sum over all samples.
  };
  Kind kind = Kind::kNone;
  int dimension = -1;
  OpId sum;           // Of a kPart or kWhole, the op that sums.
  bool adds = false;  // A kPart is a part of a sum, not of a maximum, minimum or product.
};

class Tracer {
 public:
  explicit Tracer(const Graph& graph) : graph_(graph), values_(graph.ops.size()) {
    uses_.ops = IdVector<OpId, BatchUse>(graph.ops.size());
  }

  BatchUses Run() && {
    for (const Op& op : graph_.ops) {
      if (op.kind == OpKind::kInput && op.type.rank() == 0) {
        uses_.obstacle = {.op = op.id, .reader = op.id};
      } else if (op.kind == OpKind::kInput) {
        uses_.ops[op.id] = {.kind = Kind::kEach, .index = RuleOf(graph_, op).output[0][0]};
        values_[op.id] = {.kind = Dependence::Kind::kSample, .dimension = 0};
      } else {
        Trace(op);
      }
      if (uses_.obstacle.has_value()) break;
    }
    return std::move(uses_);
  }

 private:
  bool Reads(const Op& op, Dependence::Kind kind) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return values_[input].kind == kind; });
  }

  void Trace(const Op& op) {
    if (Reads(op, Dependence::Kind::kSample)) return TraceSamples(op);
    if (!Reads(op, Dependence::Kind::kPart)) {
      values_[op.id] = Reads(op, Dependence::Kind::kWhole) ? WholeOf(op) : Dependence{};
      return;
    }
    const std::optional<int> group = op.phase == Phase::kUpdate ? std::nullopt : LinearGroupOf(op);
    if (!group.has_value()) {
      values_[op.id] = WholeOf(op);
      return;
    }
    uses_.ops[op.id] = {.kind = Kind::kPass, .index = *group};
    values_[op.id] = {.kind = Dependence::Kind::kPart, .sum = SumOf(op), .adds = true};
  }

  // The op behind the first input that is a sum over samples, or a part of one.
  OpId SumOf(const Op& op) const {
    for (const OpId input : op.inputs) {
      if (values_[input].kind == Dependence::Kind::kPart || values_[input].kind == Dependence::Kind::kWhole) {
        return values_[input].sum;
      }
    }
    return op.id;
  }

  Dependence WholeOf(const Op& op) const { return {.kind = Dependence::Kind::kWhole, .sum = SumOf(op)}; }

  // The linear group that has exactly those inputs that are parts of sums.
  std::optional<int> LinearGroupOf(const Op& op) const {
    if (Reads(op, Dependence::Kind::kWhole)) return std::nullopt;
    std::vector<int> parts;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (values_[op.inputs[i]].kind != Dependence::Kind::kPart) continue;
      if (!values_[op.inputs[i]].adds) return std::nullopt;
      parts.push_back(static_cast<int>(i));
    }
    const Rule rule = RuleOf(graph_, op);
    for (size_t g = 0; g < rule.linear.size(); ++g) {
      if (rule.linear[g] == parts) return static_cast<int>(g);
    }
    return std::nullopt;
  }

  void TraceSamples(const Op& op) {
    if (Reads(op, Dependence::Kind::kPart) || Reads(op, Dependence::Kind::kWhole)) {
      uses_.obstacle = {.op = SumOf(op), .reader = op.id};
      return;
    }
    const Rule rule = RuleOf(graph_, op);
    const std::optional<int> factor = SampleFactorOf(op, rule);
    if (!factor.has_value() || !TraceFactor(op, rule, *factor)) uses_.obstacle = {.op = op.id, .reader = op.id};
  }

  // The one factor that counts samples in all inputs that have samples.
  std::optional<int> SampleFactorOf(const Op& op, const Rule& rule) const {
    std::optional<int> factor;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Dependence& input = values_[op.inputs[i]];
      if (input.kind != Dependence::Kind::kSample) continue;
      const auto dimension = static_cast<size_t>(input.dimension);
      const FactorList& factors = rule.inputs[i][dimension];
      if (factors.empty() || rule.WindowOf(static_cast<int>(i), dimension) != nullptr) return std::nullopt;
      if (factor.has_value() && *factor != factors.front()) return std::nullopt;
      factor = factors.front();
    }
    return factor;
  }

  // False where the op cannot be cut along the factor.
  bool TraceFactor(const Op& op, const Rule& rule, int index) {
    uses_.ops[op.id] = {.kind = Kind::kEach, .index = index};
    const Factor& factor = rule.factors[static_cast<size_t>(index)];
    switch (factor.kind) {
      case FactorKind::kReduced:
        values_[op.id] = {.kind = Dependence::Kind::kPart, .sum = op.id, .adds = factor.reduction == Reduction::kSum};
        return true;
      case FactorKind::kParallel:
        for (size_t d = 0; d < rule.output.size(); ++d) {
          if (rule.output[d].empty() || rule.output[d].front() != index) continue;
          values_[op.id] = {.kind = Dependence::Kind::kSample, .dimension = static_cast<int>(d)};
          return true;
        }
        return false;
      case FactorKind::kWhole:
      case FactorKind::kInner:
        return false;
    }
    return false;
  }

  const Graph& graph_;
  IdVector<OpId, Dependence> values_;
  BatchUses uses_;
};

}  // namespace

BatchUses FindBatchUses(const Graph& graph) { return Tracer(graph).Run(); }

absl::StatusOr<Mesh> WithTime(const Mesh& mesh, int64_t count) {
  std::vector<MeshAxis> axes = mesh.axes();
  std::string name = "micro_batch";
  while (mesh.Find(name).has_value()) name += "_";
  axes.push_back({.name = std::move(name), .size = count, .link = "time"});
  return Mesh::Create(std::move(axes));
}

absl::StatusOr<Strategy> OverTime(Strategy strategy, const BatchUse& use, AxisId time, const Rule& rule,
                                  const Mesh& mesh) {
  switch (use.kind) {
    case Kind::kOnce:
      return strategy;
    case Kind::kEach: {
      std::vector<AxisId>& cuts = strategy.cuts[static_cast<size_t>(use.index)];
      cuts.insert(cuts.begin(), time);
      break;
    }
    case Kind::kPass:
      strategy.passes.push_back({.axis = time, .group = use.index});
      break;
  }
  if (absl::Status valid = VerifyStrategy(strategy, rule, mesh); !valid.ok()) return valid;
  return strategy;
}

std::optional<size_t> DimensionCutBy(const Layout& layout, AxisId axis) {
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const std::vector<AxisId>& axes = layout.dimensions[d];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return d;
  }
  return std::nullopt;
}

bool DependsOn(const Layout& layout, AxisId axis) {
  return DimensionCutBy(layout, axis).has_value() ||
         std::any_of(layout.partial.begin(), layout.partial.end(),
                     [&](const PartialAxis& partial) { return partial.axis == axis; });
}

}  // namespace cleave::ir
