#include "ir/sharding/micro_batches/micro_batches.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"

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

// Whether the op reduces samples to a number of the whole batch that each micro-batch will have of its own.
bool IsOfMicroBatch(const Op& op, const Rule& rule, int factor) {
  return op.kind == OpKind::kReduceMaxAbs && rule.factors[static_cast<size_t>(factor)].kind == FactorKind::kReduced;
}

// Sums over samples that are known before the first micro-batch. Few graphs have any, so the rest is found when one is
// added.
class SumsBefore {
 public:
  explicit SumsBefore(const Graph& graph) : graph_(graph), sums_(graph.ops.size(), 0) {}

  bool Has(OpId op) const { return sums_[op] != 0; }

  // Adds the sum because of which the batch cannot be cut; false where that is not known so early.
  bool Add(const BatchObstacle& obstacle) {
    const OpId sum = obstacle.op;
    if (follows_.empty()) FindWhatFollows();
    if (sum == obstacle.reader || Has(sum) || follows_[sum] == 0 || NeedsAnother(sum)) return false;
    sums_[sum] = 1;
    return true;
  }

  // Marks the sums, and what nothing but these reads, in `uses`.
  void Mark(IdVector<OpId, BatchUse>& uses) const {
    if (std::find(sums_.begin(), sums_.end(), 1) == sums_.end()) return;
    const IdVector<OpId, std::vector<OpId>> all_readers = Users(graph_);
    IdVector<OpId, char> is_result(graph_.ops.size(), 0);
    if (graph_.loss.has_value()) is_result[*graph_.loss] = 1;
    for (const Metric& metric : graph_.metrics) is_result[metric.value] = 1;
    for (const StateUpdate& update : graph_.updates) is_result[update.value] = 1;
    for (const Look& look : graph_.looks) is_result[look.value] = 1;
    for (auto op = graph_.ops.end(); op-- != graph_.ops.begin();) {
      if (uses[op->id].kind != Kind::kEach || op->inputs.empty()) continue;
      const std::vector<OpId>& readers = all_readers[op->id];
      const bool is_for_sums = follows_[op->id] != 0 && is_result[op->id] == 0 && !readers.empty() &&
                               std::all_of(readers.begin(), readers.end(),
                                           [&](OpId reader) { return uses[reader].kind == Kind::kEachBefore; });
      if (Has(op->id) || is_for_sums) uses[op->id].kind = Kind::kEachBefore;
    }
  }

 private:
  void FindWhatFollows() {
    follows_ = IdVector<OpId, char>(graph_.ops.size(), 0);
    for (const Op& op : graph_.ops) {
      const bool is_source = DefinitionOf(op).op_class == OpClass::kSource;
      follows_[op.id] =
          is_source ? op.kind == OpKind::kInput || op.kind == OpKind::kConstant
                    : op.phase == Phase::kForward && std::all_of(op.inputs.begin(), op.inputs.end(),
                                                                 [&](OpId input) { return follows_[input] != 0; });
    }
  }

  // Whether one of them must be complete before this one can be summed up.
  bool NeedsAnother(OpId sum) const {
    std::vector<OpId> open = {sum};
    IdVector<OpId, char> is_seen(graph_.ops.size(), 0);
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      for (const OpId input : graph_.op(op).inputs) {
        if (Has(input)) return true;
        if (std::exchange(is_seen[input], 1) == 0) open.push_back(input);
      }
    }
    return false;
  }

  const Graph& graph_;
  IdVector<OpId, char> sums_;
  IdVector<OpId, char>
      follows_;  // Whether the value follows from inputs and constants alone; empty until one is added.
};

class Tracer {
 public:
  Tracer(const Graph& graph, const SumsBefore& before) : graph_(graph), before_(before), values_(graph.ops.size()) {
    uses_.ops = IdVector<OpId, BatchUse>(graph.ops.size());
  }

  BatchUses Run() && {
    for (const Op& op : graph_.ops) {
      const bool is_samples = IsSamples(op.kind, op.attributes);
      if (is_samples && op.type.rank() == 0) {
        uses_.obstacle = {.op = op.id, .reader = op.id};
      } else if (is_samples) {
        uses_.ops[op.id] = {.kind = Kind::kEach, .index = rules_.Of(graph_, op).output[0][0]};
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
    // Parts of a number, as of a loss, are added up at once: ranks that need the sum of theirs then send it once.
    const bool is_number = op.phase == Phase::kForward && op.type.rank() == 0;
    const std::optional<int> group = op.phase == Phase::kUpdate || is_number ? std::nullopt : LinearGroupOf(op);
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
  std::optional<int> LinearGroupOf(const Op& op) {
    if (Reads(op, Dependence::Kind::kWhole)) return std::nullopt;
    std::vector<int> parts;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (values_[op.inputs[i]].kind != Dependence::Kind::kPart) continue;
      if (!values_[op.inputs[i]].adds) return std::nullopt;
      parts.push_back(static_cast<int>(i));
    }
    const Rule& rule = rules_.Of(graph_, op);
    for (size_t g = 0; g < rule.linear.size(); ++g) {
      if (rule.linear[g] == parts) return static_cast<int>(g);
    }
    return std::nullopt;
  }

  void TraceSamples(const Op& op) {
    if (op.phase == Phase::kUpdate) {
      uses_.obstacle = {.op = op.id, .reader = op.id};
      return;
    }
    if (Reads(op, Dependence::Kind::kPart) || Reads(op, Dependence::Kind::kWhole)) {
      uses_.obstacle = {.op = SumOf(op), .reader = op.id};
      return;
    }
    const Rule& rule = rules_.Of(graph_, op);
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
        if (before_.Has(op.id)) return true;  // To all that reads it the same in all micro-batches.
        // Each micro-batch has its own, which says nothing of the others (ir/transforms/distribute/units.h).
        if (IsOfMicroBatch(op, rule, index)) return rule.inputs[0][0].front() == index;
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
  const SumsBefore& before_;
  RuleTable rules_;
  IdVector<OpId, Dependence> values_;
  BatchUses uses_;
};

// Whether the ops of a plan can be cut into so many micro-batches.
class Divisions {
 public:
  Divisions(const Graph& graph, const Plan& plan, const IdVector<OpId, BatchUse>& uses) : graph_(graph), plan_(plan) {
    for (const Op& op : graph.ops) {
      if (uses[op.id].kind == Kind::kOnce) continue;
      Cut cut = {.op = op.id, .rule = &rules_.Of(graph, op), .strategy = &plan.ops[op.id].strategy, .use = uses[op.id]};
      cut.in_equal_parts = cut.use.CutsSamples() && IsOfMicroBatch(op, *cut.rule, cut.use.index);
      if (std::none_of(cuts_.begin(), cuts_.end(), [&](const Cut& other) { return other.IsLike(cut); })) {
        cuts_.push_back(cut);
      }
    }
  }

  // Because of the first op that cannot be; without `largest`.
  std::optional<MicroBatchRefusal> RefusalOf(int64_t count) const {
    if (count == 1) return std::nullopt;
    const absl::StatusOr<Mesh> mesh = WithTime(plan_.mesh, count);
    CLEAVE_CHECK(mesh.ok()) << mesh.status();
    for (const Cut& cut : cuts_) {
      const std::string& name = graph_.op(cut.op).name;
      if (cut.use.CutsSamples() && cut.samples() < count) {
        return MicroBatchRefusal{.op = cut.op,
                                 .why = absl::StrCat("`", name, "` has ", Plural(cut.samples(), "sample"))};
      }
      if (cut.in_equal_parts && cut.samples() % count != 0) {
        return MicroBatchRefusal{.op = cut.op,
                                 .why = absl::StrCat("`", name, "` has ", Plural(cut.samples(), "sample"),
                                                     ", and each micro-batch needs equally many of them")};
      }
      const absl::StatusOr<Strategy> strategy =
          OverTime(*cut.strategy, cut.use, mesh->AxisIds().back(), *cut.rule, *mesh);
      if (strategy.ok()) continue;
      return MicroBatchRefusal{.op = cut.op, .why = absl::StrCat("`", name, "`: ", strategy.status().message())};
    }
    return std::nullopt;
  }

 private:
  struct Cut {
    OpId op;
    const Rule* rule = nullptr;
    const Strategy* strategy = nullptr;
    BatchUse use;
    bool in_equal_parts = false;

    bool IsLike(const Cut& other) const {
      return rule == other.rule && use == other.use && *strategy == *other.strategy &&
             in_equal_parts == other.in_equal_parts;
    }
    int64_t samples() const { return rule->factors[static_cast<size_t>(use.index)].size; }
  };

  const Graph& graph_;
  const Plan& plan_;
  RuleTable rules_;
  std::vector<Cut> cuts_;  // Ops that are alike once.
};

}  // namespace

std::optional<int64_t> BatchOf(const Graph& graph) {
  for (const Op& op : graph.ops) {
    if (IsSamples(op.kind, op.attributes) && op.type.rank() > 0) return op.type.shape[0];
  }
  return std::nullopt;
}

BatchUses FindBatchUses(const Graph& graph) {
  SumsBefore before(graph);
  BatchUses uses = Tracer(graph, before).Run();
  while (uses.obstacle.has_value() && before.Add(*uses.obstacle)) uses = Tracer(graph, before).Run();
  before.Mark(uses.ops);
  return uses;
}

std::string ObstacleText(const Graph& graph, const BatchObstacle& obstacle) {
  const Op& op = graph.op(obstacle.op);
  const Op& reader = graph.op(obstacle.reader);
  if (op.kind == OpKind::kInput) return absl::StrCat("`", op.name, "` is one number for all samples of a step");
  if (op.phase == Phase::kUpdate) {
    return absl::StrCat("`", op.name, "` updates numbers that belong to single samples of a step");
  }
  if (op.id == reader.id) return absl::StrCat("`", op.name, "` relates the samples of a step to one another");
  return absl::StrCat("`", op.name, "` sums over all samples of a step, and `", reader.name,
                      "` needs the sum for each of them");
}

std::optional<MicroBatchRefusal> FindRefusal(const Graph& graph, const Plan& plan) {
  if (plan.micro_batches == 1) return std::nullopt;
  if (graph.is_manual()) {
    return MicroBatchRefusal{.op = std::nullopt, .why = "the model says itself what each rank computes, and when"};
  }
  const BatchUses uses = FindBatchUses(graph);
  if (uses.obstacle.has_value()) {
    return MicroBatchRefusal{.op = uses.obstacle->op, .why = ObstacleText(graph, *uses.obstacle)};
  }
  const Divisions divisions(graph, plan, uses.ops);
  std::optional<MicroBatchRefusal> refusal = divisions.RefusalOf(plan.micro_batches);
  if (!refusal.has_value()) return std::nullopt;
  refusal->largest = plan.micro_batches - 1;
  while (divisions.RefusalOf(refusal->largest).has_value()) --refusal->largest;
  return refusal;
}

std::optional<MicroBatchRefusal> FindRefusal(const Graph& graph, int64_t count) {
  if (count == 1) return std::nullopt;
  Plan plan;
  plan.micro_batches = count;
  RuleTable rules;
  for (const Op& op : graph.ops) {
    plan.ops.push_back({.strategy = Strategy::Replicated(rules.Of(graph, op)), .output = std::nullopt});
  }
  return FindRefusal(graph, plan);
}

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
    case Kind::kEach:
    case Kind::kEachBefore: {
      AxisList& cuts = strategy.cuts[static_cast<size_t>(use.index)];
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

Layout WithoutTime(Layout layout, AxisId time) {
  if (const std::optional<size_t> d = SampleDimension(layout, time)) {
    layout.dimensions[*d].erase(layout.dimensions[*d].begin());
  }
  if (!layout.partial.empty() && layout.partial.back().axis == time) layout.partial.pop_back();
  return layout;
}

std::optional<size_t> SampleDimension(const Layout& layout, AxisId time) {
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const AxisList& axes = layout.dimensions[d];
    if (std::find(axes.begin(), axes.end(), time) != axes.end()) return d;
  }
  return std::nullopt;
}

bool DependsOn(const Layout& layout, AxisId axis) {
  return SampleDimension(layout, axis).has_value() ||
         std::any_of(layout.partial.begin(), layout.partial.end(),
                     [&](const PartialAxis& partial) { return partial.axis == axis; });
}

}  // namespace cleave::ir
