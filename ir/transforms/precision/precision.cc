#include "ir/transforms/precision/precision.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"
#include "ir/transforms/precision/in_8_bits.h"
#include "ir/transforms/precision/policy.h"

namespace cleave::ir {
namespace {

// One cast that must be made. Ids are those of the given graph.
struct Wanted {
  OpId value;
  DType dtype = DType::kF32;
  bool apart = false;  // Of a forward value, for backward ops only.

  bool operator<(const Wanted& other) const {
    return std::tie(value, dtype, apart) < std::tie(other.value, other.dtype, other.apart);
  }
};

struct Demand {
  OpId first_reader;
  bool metrics_only = true;
};

class Lowering {
 public:
  Lowering(const Graph& graph, DType narrow)
      : old_(graph),
        types_(ChooseTypes(graph, narrow)),
        before_(graph.ops.size()),
        behind_(graph.ops.size()),
        places_(graph.ops.size()) {
    builder_.Reserve(graph.ops.size());
    taken_.reserve(graph.ops.size());
    for (const Op& op : graph.ops) taken_.insert(op.name);
    for (const Op& op : graph.ops) {
      for (size_t i = 0; i < op.inputs.size(); ++i) Demands(op, i);
    }
    for (const auto& [wanted, demand] : demands_) {
      if (StandsBeforeReader(wanted, demand)) {
        before_[PlaceBefore(demand.first_reader, wanted.value)].push_back(wanted);
      } else {
        behind_[wanted.value].push_back(wanted);
      }
    }
  }

  Lowered Run() && {
    for (const Op& op : old_.ops) {
      for (const Wanted& wanted : before_[op.id]) AddCast(wanted);
      AddOp(op);
      for (const Wanted& wanted : behind_[op.id]) AddCast(wanted);
    }
    Graph graph = std::move(builder_).Build();
    CopyRoles(old_, places_, graph);
    return {.graph = std::move(graph), .places = std::move(places_), .casts = std::move(casts_)};
  }

 private:
  // The cast through which `op` reads input `i`; nullopt where it reads the value itself.
  std::optional<Wanted> CastFor(const Op& op, size_t i) const {
    const OpId value = op.inputs[i];
    const DType dtype = types_[op.id].reads[i];
    if (types_[value].result == dtype) return std::nullopt;
    const bool widens = dtype == DType::kF32;
    const bool across = old_.op(value).phase == Phase::kForward && op.phase == Phase::kBackward;
    return Wanted{.value = value, .dtype = dtype, .apart = widens && across};
  }

  void Demands(const Op& op, size_t i) {
    const std::optional<Wanted> wanted = CastFor(op, i);
    if (!wanted.has_value()) return;
    Demand& demand = demands_.emplace(*wanted, Demand{.first_reader = op.id}).first->second;
    demand.metrics_only = demand.metrics_only && op.phase == Phase::kMetric;
  }

  bool StandsBeforeReader(const Wanted& wanted, const Demand& demand) const {
    return old_.op(wanted.value).inputs.empty() || wanted.apart || demand.metrics_only;
  }

  // `reader`, or the product just before it that it reads: a product and its bias stay neighbours, so that they can be
  // fused.
  OpId PlaceBefore(OpId reader, OpId value) const {
    const OpId previous(reader.value() - 1);
    const std::vector<OpId>& inputs = old_.op(reader).inputs;
    const bool follows = previous != value && std::find(inputs.begin(), inputs.end(), previous) != inputs.end();
    return follows && DefinitionOf(old_.op(previous)).op_class == OpClass::kProduct ? previous : reader;
  }

  Phase PhaseOf(const Wanted& wanted) const {
    if (wanted.apart || IsReadBackwardOnly(wanted)) return Phase::kBackward;
    return demands_.at(wanted).metrics_only ? Phase::kMetric : old_.op(wanted.value).phase;
  }

  // Whether no forward op reads the cast of a source: then the cast is placed before the first backward op that reads
  // it.
  bool IsReadBackwardOnly(const Wanted& wanted) const {
    return old_.op(wanted.value).inputs.empty() && old_.op(demands_.at(wanted).first_reader).phase == Phase::kBackward;
  }

  // A name that neither an op of the old graph nor another cast has.
  std::string NameOf(const Wanted& wanted) {
    const std::string wish = absl::StrCat(old_.op(wanted.value).name, ".", DTypeName(wanted.dtype));
    std::string name = wish;
    for (int suffix = 1; taken_.contains(name) || builder_.Find(name).has_value(); ++suffix) {
      name = absl::StrCat(wish, "_", suffix);
    }
    return name;
  }

  void AddCast(const Wanted& wanted) {
    const Op& value = old_.op(wanted.value);
    const Phase phase = PhaseOf(wanted);
    builder_.SetPhase(phase);
    builder_.SetLine(value.line);
    builder_.SetSource(value);
    const OpId cast =
        builder_.Add(OpKind::kCast, {places_[wanted.value]}, {{attribute::kDType, wanted.dtype}}, NameOf(wanted));
    if (phase == Phase::kForward) forward_casts_.emplace(wanted.value, cast);
    if (phase == Phase::kBackward) {
      builder_.mutable_graph().ops[cast].inherits =
          value.inputs.empty() ? InheritanceOfReader(wanted) : InheritanceOf(value);
    }
    cast_of_[wanted] = cast;
    casts_.push_back({.cast = cast, .old_value = wanted.value, .old_first_reader = demands_.at(wanted).first_reader});
  }

  // A backward cast of `value` is cut like the forward cast that it mirrors, else like `value`. Nullopt within a sum of
  // gradients, of which the cast is a part.
  std::optional<Inheritance> InheritanceOf(const Op& value) {
    const std::optional<OpId> forward = value.phase == Phase::kForward ? value.id : value.gradient_of;
    if (forward.has_value()) {
      const auto mirrored = forward_casts_.find(*forward);
      if (mirrored != forward_casts_.end()) {
        std::vector<int> factors;
        for (int d = 0; d < value.type.rank(); ++d) factors.push_back(d);
        return Inheritance{.op = mirrored->second, .factors = std::move(factors)};
      }
    }
    if (value.inherits.has_value()) {
      return Inheritance{.op = places_[value.inherits->op],
                         .factors = FactorsOf(rules_.Of(old_, value).output, value.inherits->factors)};
    }
    if (!forward.has_value()) return std::nullopt;
    return Inheritance{.op = places_[*forward], .factors = FactorsOf(rules_.Of(old_, old_.op(*forward)).output, {})};
  }

  // For the cast of a source: it is cut like its first reader.
  std::optional<Inheritance> InheritanceOfReader(const Wanted& wanted) {
    const Op& reader = old_.op(demands_.at(wanted).first_reader);
    if (!reader.inherits.has_value()) return std::nullopt;
    const auto input = std::find(reader.inputs.begin(), reader.inputs.end(), wanted.value) - reader.inputs.begin();
    return Inheritance{
        .op = places_[reader.inherits->op],
        .factors = FactorsOf(rules_.Of(old_, reader).inputs[static_cast<size_t>(input)], reader.inherits->factors)};
  }

  // Per dimension its most major factor, through `map` where there is one.
  static std::vector<int> FactorsOf(const std::vector<FactorList>& dimensions, const std::vector<int>& map) {
    std::vector<int> factors;
    for (const FactorList& dimension : dimensions) {
      if (dimension.empty()) {
        factors.push_back(-1);
      } else {
        factors.push_back(map.empty() ? dimension[0] : map[static_cast<size_t>(dimension[0])]);
      }
    }
    return factors;
  }

  OpId AddNarrow(const Op& op, std::vector<OpId> inputs) {
    Attributes attributes = op.attributes;
    const Treatment treatment = TreatmentOf(op);
    const bool is_product = treatment == Treatment::kProduct || treatment == Treatment::kGradient;
    const Types16& types = types_[op.id];
    const bool keeps_sum = is_product && Is16Bit(types.reads[0]) && types.result == DType::kF32;
    const bool rounds = treatment == Treatment::kFloat && Is16Bit(types.result);
    if (keeps_sum || rounds) attributes.Set(attribute::kResult, types.result);
    const OpId made = builder_.Add(op.kind, std::move(inputs), std::move(attributes), op.name);
    CLEAVE_CHECK(builder_.type(made).dtype == types_[op.id].result) << op.name << " is another type";
    return made;
  }

  void AddOp(const Op& op) {
    std::vector<OpId> inputs;
    inputs.reserve(op.inputs.size());
    bool keeps_types = types_[op.id].result == op.type.dtype;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::optional<Wanted> wanted = CastFor(op, i);
      inputs.push_back(wanted.has_value() ? cast_of_.at(*wanted) : places_[op.inputs[i]]);
      keeps_types = keeps_types && types_[op.id].reads[i] == old_.op(op.inputs[i]).type.dtype;
    }
    builder_.SetPhase(op.phase);
    builder_.SetLine(op.line);
    places_[op.id] = keeps_types ? builder_.AddLike(op, std::move(inputs), op.name) : AddNarrow(op, std::move(inputs));
    CopyRelations(op, places_, builder_.mutable_graph().ops[places_[op.id]]);
  }

  const Graph& old_;
  const IdVector<OpId, Types16> types_;
  std::map<Wanted, Demand> demands_;
  IdVector<OpId, std::vector<Wanted>> before_;  // By the op before which they are placed.
  IdVector<OpId, std::vector<Wanted>> behind_;
  absl::flat_hash_set<absl::string_view> taken_;  // By ops of the old graph.
  RuleTable rules_;
  GraphBuilder builder_;
  IdVector<OpId, OpId> places_;
  std::map<Wanted, OpId> cast_of_;
  std::map<OpId, OpId> forward_casts_;  // By the old value.
  std::vector<InsertedCast> casts_;
};

Lowered Unchanged(const Graph& graph) {
  Lowered lowered{.graph = graph, .places = {}, .casts = {}};
  for (const Op& op : graph.ops) lowered.places.push_back(op.id);
  return lowered;
}

// A forward cast of a value has the retention of the value.
void MoveRetentions(const Lowered& lowered, std::vector<RetentionPin>& retentions) {
  std::map<OpId, RetentionPin> by_old_value;
  for (RetentionPin& retention : retentions) {
    by_old_value[retention.op] = retention;
    retention.op = lowered.places[retention.op];
  }
  for (const InsertedCast& inserted : lowered.casts) {
    const auto value = by_old_value.find(inserted.old_value);
    if (value == by_old_value.end() || lowered.graph.op(inserted.cast).phase != Phase::kForward) continue;
    retentions.push_back({inserted.cast, value->second.retention, value->second.span});
  }
  std::sort(retentions.begin(), retentions.end(),
            [](const RetentionPin& a, const RetentionPin& b) { return a.op < b.op; });
}

// `second` was made of the graph of `first`: both as one.
Lowered Together(const Lowered& first, Lowered second) {
  std::map<OpId, InsertedCast> cast_at;  // By places in the graph between the two.
  std::map<OpId, OpId> old_at;
  for (const InsertedCast& inserted : first.casts) cast_at.emplace(inserted.cast, inserted);
  for (size_t i = 0; i < first.places.size(); ++i) {
    const OpId old(static_cast<int64_t>(i));
    old_at.emplace(first.places[old], old);
  }
  Lowered both{.graph = std::move(second.graph), .places = {}, .casts = {}};
  for (const OpId place : first.places) both.places.push_back(second.places[place]);
  for (InsertedCast inserted : first.casts) {
    inserted.cast = second.places[inserted.cast];
    both.casts.push_back(inserted);
  }
  for (const InsertedCast& inserted : second.casts) {
    const auto cast = cast_at.find(inserted.old_value);
    both.casts.push_back({.cast = inserted.cast,
                          .old_value = cast != cast_at.end() ? cast->second.old_value : old_at.at(inserted.old_value),
                          .old_first_reader = old_at.at(inserted.old_first_reader)});
  }
  std::sort(both.casts.begin(), both.casts.end(),
            [](const InsertedCast& a, const InsertedCast& b) { return a.cast < b.cast; });
  return both;
}

}  // namespace

Lowered ApplyPrecision(const Graph& graph, Precision precision, absl::Span<const std::string> kept_weights) {
  switch (precision) {
    case Precision::kF32:
    case Precision::kTf32:
      return Unchanged(graph);
    case Precision::kBf16:
      return Lowering(graph, DType::kBf16).Run();
    case Precision::kF16:
      return Lowering(graph, DType::kF16).Run();
    case Precision::kFp8: {
      const Lowered in_16_bits = Lowering(graph, DType::kBf16).Run();
      return Together(in_16_bits, MultiplyIn8Bits(in_16_bits.graph, kept_weights));
    }
  }
  CLEAVE_UNREACHABLE();
}

Pins MovePins(Pins pins, const Lowered& lowered) {
  for (Pin& pin : pins.pins) pin.op = lowered.places[pin.op];
  for (Priority& priority : pins.priorities) priority.op = lowered.places[priority.op];
  for (StagePin& pin : pins.stages) pin.op = lowered.places[pin.op];
  for (Region& region : pins.regions) {
    const std::set<OpId> old(region.ops.begin(), region.ops.end());
    for (OpId& op : region.ops) op = lowered.places[op];
    for (const InsertedCast& inserted : lowered.casts) {
      const Op& cast = lowered.graph.op(inserted.cast);
      const bool is_source = lowered.graph.op(lowered.places[inserted.old_value]).inputs.empty();
      if (cast.phase != Phase::kForward && cast.phase != Phase::kMetric) continue;
      if (old.count(is_source ? inserted.old_first_reader : inserted.old_value) > 0) region.ops.push_back(cast.id);
    }
    std::sort(region.ops.begin(), region.ops.end());
  }
  MoveRetentions(lowered, pins.retentions);
  return pins;
}

}  // namespace cleave::ir
