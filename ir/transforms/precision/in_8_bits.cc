// Chosen finds the products, in three walks over the graph: which values are weights, which depend on parameters, and
// from which a loss or a ranking is reached without a further product. Rewriting then makes each factor once, behind
// the value that it is made of.
#include "ir/transforms/precision/in_8_bits.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"

namespace cleave::ir {
namespace {

constexpr int64_t kRun = 16;  // Matrix units take factors of 8 bits whose sizes are multiples of it.

bool IsProductOfMatrices(const Op& op) { return op.kind == OpKind::kMatmul || op.kind == OpKind::kMatmulSum; }
bool Ranks(OpKind kind) { return kind == OpKind::kTopK || kind == OpKind::kTopKIndices || kind == OpKind::kArgmax; }

// The products of 8 bits, and of each the inputs that are gradients.
class Chosen {
 public:
  Chosen(const Graph& graph, absl::Span<const std::string> kept_weights)
      : graph_(graph),
        kept_weights_(kept_weights),
        weight_(graph.ops.size()),
        depends_(graph.ops.size(), 0),
        is_last_(graph.ops.size(), 0),
        is_chosen_(graph.ops.size(), 0) {
    for (const Op& op : graph.ops) FollowParameters(op);
    for (size_t i = graph.ops.size(); i-- > 0;) FollowBack(graph.ops[OpId(static_cast<int64_t>(i))]);
    for (const Op& op : graph.ops) is_chosen_[op.id] = IsChosen(op) ? 1 : 0;
  }

  bool Has(OpId op) const { return is_chosen_[op] != 0; }
  bool IsGradient(OpId value) const { return graph_.op(value).phase == Phase::kBackward; }

 private:
  // The parameter of which a value is nothing but a copy, perhaps turned or rounded.
  void FollowParameters(const Op& op) {
    if (op.kind == OpKind::kParameter) weight_[op.id] = op.id;
    depends_[op.id] = weight_[op.id].has_value() ? 1 : 0;
    for (const OpId input : op.inputs) depends_[op.id] |= depends_[input];
    const bool copies = op.kind == OpKind::kCast || DefinitionOf(op).op_class == OpClass::kMovement;
    if (op.inputs.size() == 1 && copies) weight_[op.id] = weight_[op.inputs[0]];
  }

  // Whether a value reaches the loss, or what ranks, with no product on the way. `op` hands down what is true of it.
  void FollowBack(const Op& op) {
    if (op.phase != Phase::kForward) return;
    if (graph_.loss == op.id || Ranks(op.kind)) is_last_[op.id] = 1;
    if (is_last_[op.id] == 0 || DefinitionOf(op).op_class == OpClass::kProduct) return;
    for (const OpId input : op.inputs) is_last_[input] = 1;
  }

  bool IsKept(OpId weight) const {
    return std::any_of(kept_weights_.begin(), kept_weights_.end(),
                       [&](const std::string& pattern) { return MatchesPattern(pattern, graph_.op(weight).name); });
  }

  bool IsChosen(const Op& op) const {
    if (!IsProductOfMatrices(op)) return false;
    if (op.phase == Phase::kForward) return IsChosenForward(op);
    if (op.phase != Phase::kBackward || !op.inherits.has_value() || !Has(op.inherits->op)) return false;
    return IsGradient(op.inputs[0]) != IsGradient(op.inputs[1]);
  }

  // An activation that depends on parameters, by a weight whose sizes fit.
  bool IsChosenForward(const Op& op) const {
    const bool is_of_weight = weight_[op.inputs[0]].has_value() != weight_[op.inputs[1]].has_value();
    if (!is_of_weight || is_last_[op.id] != 0) return false;
    const size_t of_weight = weight_[op.inputs[0]].has_value() ? 0 : 1;
    const Shape& sizes = graph_.op(op.inputs[of_weight]).type.shape;
    const bool fits = sizes.size() == 2 && sizes[0] % kRun == 0 && sizes[1] % kRun == 0;
    return fits && depends_[op.inputs[1 - of_weight]] != 0 && !IsKept(*weight_[op.inputs[of_weight]]);
  }

  const Graph& graph_;
  const absl::Span<const std::string> kept_weights_;
  IdVector<OpId, std::optional<OpId>> weight_;
  IdVector<OpId, uint8_t> depends_;  // On a parameter.
  IdVector<OpId, uint8_t> is_last_;
  IdVector<OpId, uint8_t> is_chosen_;
};

class Rewriting {
 public:
  Rewriting(const Graph& graph, absl::Span<const std::string> kept_weights)
      : old_(graph), chosen_(graph, kept_weights), first_reader_(graph.ops.size()), places_(graph.ops.size()) {
    builder_.Reserve(graph.ops.size());
    for (const Op& op : graph.ops) {
      taken_.insert(op.name);
      if (!chosen_.Has(op.id)) continue;
      for (const OpId factor : op.inputs) {
        if (!first_reader_[factor].has_value()) first_reader_[factor] = op.id;
      }
    }
  }

  Lowered Run() && {
    for (const Op& op : old_.ops) {
      AddOp(op);
      if (first_reader_[op.id].has_value()) AddFactor(op);
    }
    Graph graph = std::move(builder_).Build();
    CopyRoles(old_, places_, graph);
    return {.graph = std::move(graph), .places = std::move(places_), .casts = std::move(inserted_)};
  }

 private:
  struct Factor {
    OpId numbers;
    OpId unit;
  };

  // "h1.weight.f8e4m3" of `h1.weight`, and of `h1.weight.bf16`, which is a cast of it.
  std::string NameOf(const Op& value, absl::string_view suffix) {
    const Op& named = value.kind == OpKind::kCast ? old_.op(value.inputs[0]) : value;
    const std::string wish = absl::StrCat(named.name, ".", suffix);
    std::string name = wish;
    for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(wish, "_", i);
    return name;
  }

  OpId Insert(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const Op& value, absl::string_view suffix) {
    builder_.SetPhase(value.phase);
    builder_.SetLine(value.line);
    builder_.SetSource(value);
    const OpId made = builder_.Add(kind, std::move(inputs), std::move(attributes), NameOf(value, suffix));
    inserted_.push_back({.cast = made, .old_value = value.id, .old_first_reader = *first_reader_[value.id]});
    return made;
  }

  void AddFactor(const Op& value) {
    const DType dtype = chosen_.IsGradient(value.id) ? DType::kF8E5M2 : DType::kF8E4M3;
    const OpId x = places_[value.id];
    const Attributes of_type = {{attribute::kDType, dtype}};
    const OpId largest = Insert(OpKind::kReduceMaxAbs, {x}, {}, value, "largest");
    const OpId unit = Insert(OpKind::kF8Unit, {largest}, of_type, value, "unit");
    const OpId numbers = Insert(OpKind::kQuantize, {x, unit}, of_type, value, DTypeName(dtype));
    if (value.phase == Phase::kBackward) {
      const Inheritance inheritance = InheritanceOfReader(value);
      for (const OpId walk : {largest, numbers}) builder_.mutable_graph().ops[walk].inherits = inheritance;
      builder_.mutable_graph().ops[unit].inherits = Inheritance{.op = inheritance.op, .factors = {}};
    }
    factors_.emplace(value.id, Factor{numbers, unit});
  }

  // A gradient is cut as its first reader reads it, the product of a gradient, which inherits from the forward product:
  // per dimension its most major factor.
  Inheritance InheritanceOfReader(const Op& value) {
    const Op& reader = old_.op(*first_reader_[value.id]);
    const auto input = std::find(reader.inputs.begin(), reader.inputs.end(), value.id) - reader.inputs.begin();
    std::vector<int> factors;
    for (const FactorList& dimension : rules_.Of(old_, reader).inputs[static_cast<size_t>(input)]) {
      factors.push_back(dimension.empty() ? -1 : reader.inherits->factors[static_cast<size_t>(dimension[0])]);
    }
    return {.op = places_[reader.inherits->op], .factors = std::move(factors)};
  }

  OpId AddProduct(const Op& op) {
    const Factor a = factors_.at(op.inputs[0]), b = factors_.at(op.inputs[1]);
    Attributes attributes = op.attributes;
    attributes.Set(attribute::kResult, op.type.dtype);
    const OpKind kind = op.kind == OpKind::kMatmul ? OpKind::kScaledMatmul : OpKind::kScaledMatmulSum;
    return builder_.Add(kind, {a.numbers, b.numbers, a.unit, b.unit}, std::move(attributes), op.name);
  }

  void AddOp(const Op& op) {
    builder_.SetPhase(op.phase);
    builder_.SetLine(op.line);
    std::vector<OpId> inputs;
    for (const OpId input : op.inputs) inputs.push_back(places_[input]);
    places_[op.id] = chosen_.Has(op.id) ? AddProduct(op) : builder_.AddLike(op, std::move(inputs), op.name);
    CopyRelations(op, places_, builder_.mutable_graph().ops[places_[op.id]]);
  }

  const Graph& old_;
  const Chosen chosen_;
  IdVector<OpId, std::optional<OpId>> first_reader_;  // Of the products of 8 bits.
  absl::flat_hash_set<std::string> taken_;
  RuleTable rules_;
  GraphBuilder builder_;
  IdVector<OpId, OpId> places_;
  std::map<OpId, Factor> factors_;  // By the old value.
  std::vector<InsertedCast> inserted_;
};

}  // namespace

Lowered MultiplyIn8Bits(const Graph& graph, absl::Span<const std::string> kept_weights) {
  return Rewriting(graph, kept_weights).Run();
}

}  // namespace cleave::ir
