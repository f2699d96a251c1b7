// Reading guide. `Finder` goes from the logits back to the product (`AddForward`), then forward through the backward
// pass (`AddBackward`), and then looks at what else is computed from any of it (`FindEarlier`).

#include "ir/graph/sliced_losses/sliced_losses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

// For each dimension of the places the dimension of a value.
using Places = std::vector<int>;
// Why there are no slices.
using Obstacle = std::optional<std::string>;

bool IsMatrixProduct(OpKind kind) { return kind == OpKind::kMatmul || kind == OpKind::kEinsum; }

// Whether the op's sum over places is the sum of what it is over the places of each slice.
bool AddsUp(OpKind kind) { return IsMatrixProduct(kind) || kind == OpKind::kMatmulSum || kind == OpKind::kReduceSum; }

// Whether it computes each element from those at its place alone, and has no attribute that depends on sizes.
bool IsByPlace(const Op& op) {
  const OpDefinition& definition = DefinitionOf(op);
  return (definition.element.has_value() && !definition.depends_on_place) || op.kind == OpKind::kCast ||
         op.kind == OpKind::kBiasAdd;
}

class Finder {
 public:
  Finder(const Graph& graph, OpId loss)
      : graph_(graph), result_{.loss = loss, .logits = graph.op(loss).inputs[0], .ops = {}, .earlier = {}} {}

  std::variant<SlicedLoss, std::string> Run() && {
    if (graph_.is_manual()) return "in a manual model each rank computes what the model says";
    if (op(result_.loss).phase != Phase::kForward) return "it is a metric";
    const TensorType& logits = op(result_.logits).type;
    for (int d = 0; d + 1 < logits.rank(); ++d) at_[result_.logits].push_back(d);
    if (Obstacle why = AddForward(result_.logits)) return *why;
    if (Obstacle why = Add(op(result_.loss), SliceResult::kMean)) return *why;
    for (const Op& reader : graph_.ops) {
      if (Obstacle why = AddReader(reader)) return *why;
    }
    if (Obstacle why = CheckRoles()) return *why;
    if (Obstacle why = FindEarlier()) return *why;
    std::sort(result_.ops.begin(), result_.ops.end(), [](const SlicedOp& a, const SlicedOp& b) { return a.op < b.op; });
    return std::move(result_);
  }

 private:
  const Op& op(OpId id) const { return graph_.op(id); }
  bool IsLarge(OpId value) const { return op(value).type.elements() >= op(result_.logits).type.elements(); }

  // Adds what makes `value`, of which at_ knows the places, back to the products.
  Obstacle AddForward(OpId value) {
    const Op& maker = op(value);
    if (is_in_.count(value) > 0) return std::nullopt;
    const bool is_product = IsMatrixProduct(maker.kind);
    if (maker.phase != Phase::kForward || !(is_product || IsByPlace(maker))) {
      return absl::StrCat("`", maker.name, "`, `", OpKindName(maker.kind), "`, is no product of matrices");
    }
    const Rule rule = RuleOf(graph_, maker);
    for (size_t i = 0; i < maker.inputs.size(); ++i) {
      if (is_product || op(maker.inputs[i]).type.shape != maker.type.shape) continue;
      at_[maker.inputs[i]] = at_.at(value);
      if (Obstacle why = AddForward(maker.inputs[i])) return why;
    }
    std::vector<int> places;
    for (const int d : at_.at(value)) {
      const FactorList& factors = rule.output[static_cast<size_t>(d)];
      if (factors.size() != 1) return absl::StrCat("the places of `", maker.name, "` are no dimensions of their own");
      places.push_back(factors[0]);
    }
    return Append(maker, rule, std::move(places), SliceResult::kWithin);
  }

  // Adds an op of the backward pass that reads logits or their gradients. Others must not.
  Obstacle AddReader(const Op& reader) {
    if (is_in_.count(reader.id) > 0) return std::nullopt;
    const auto read = std::find_if(reader.inputs.begin(), reader.inputs.end(),
                                   [&](OpId input) { return is_within_.count(input) > 0; });
    if (read == reader.inputs.end()) return std::nullopt;
    if (reader.phase != Phase::kBackward) return absl::StrCat("`", reader.name, "` reads `", op(*read).name, "`");
    if (reader.kind == OpKind::kCrossEntropyGradient) return Add(reader, SliceResult::kWithin);
    if (IsByPlace(reader) || AddsUp(reader.kind)) return Add(reader, std::nullopt);
    return absl::StrCat("`", reader.name, "`, `", OpKindName(reader.kind), "`, needs all places of `", op(*read).name,
                        "`");
  }

  // Adds an op that reads a value of the slices. Without `result` that follows from the op.
  Obstacle Add(const Op& reader, std::optional<SliceResult> result) {
    const Rule rule = RuleOf(graph_, reader);
    std::vector<int> places;
    for (size_t i = 0; i < reader.inputs.size() && places.empty(); ++i) {
      const auto at = at_.find(reader.inputs[i]);
      if (is_within_.count(reader.inputs[i]) == 0 || at == at_.end()) continue;
      for (const int d : at->second) {
        const FactorList& factors = rule.inputs[i][static_cast<size_t>(d)];
        if (factors.size() != 1) return absl::StrCat("`", reader.name, "` joins places");
        places.push_back(factors[0]);
      }
    }
    Places output;
    for (const int factor : places) {
      const int dimension = DimensionOf(factor, rule.output);
      if (dimension >= 0) output.push_back(dimension);
    }
    if (!output.empty() && output.size() < places.size()) {
      return absl::StrCat("`", reader.name, "` sums over some dimensions of places alone");
    }
    if (!output.empty()) at_[reader.id] = output;
    if (!result.has_value()) {
      result = output.empty() ? SliceResult::kAdded : IsLarge(reader.id) ? SliceResult::kWithin : SliceResult::kJoined;
    }
    if (*result == SliceResult::kAdded && !AddsUp(reader.kind)) {
      return absl::StrCat("`", reader.name, "` is no sum over places");
    }
    return Append(reader, rule, std::move(places), *result);
  }

  Obstacle Append(const Op& added, const Rule& rule, std::vector<int> places, SliceResult result) {
    if (!rule.windows.empty() || places.empty()) return absl::StrCat("`", added.name, "` is no op of single places");
    for (size_t i = 0; i < added.inputs.size(); ++i) {
      const OpId input = added.inputs[i];
      const bool has_places = std::any_of(places.begin(), places.end(),
                                          [&](int factor) { return DimensionOf(factor, rule.inputs[i]) >= 0; });
      if (has_places && is_within_.count(input) == 0 && IsLarge(input)) {
        return absl::StrCat("`", added.name, "` reads `", op(input).name, "`, which is as large as the logits");
      }
    }
    is_in_.insert(added.id);
    if (result == SliceResult::kWithin) is_within_.insert(added.id);
    result_.ops.push_back({.op = added.id, .places = std::move(places), .result = result});
    return std::nullopt;
  }

  Obstacle CheckRoles() const {
    for (const Look& look : graph_.looks) {
      if (is_within_.count(look.value) > 0) return absl::StrCat("`", look.name, "` is looked at");
    }
    for (const StateUpdate& update : graph_.updates) {
      if (is_within_.count(update.value) > 0) return absl::StrCat("`", op(update.state).name, "` keeps it");
    }
    return std::nullopt;
  }

  // What the slices read and no slice makes must not depend on what they make.
  Obstacle FindEarlier() {
    std::set<OpId> depends = is_in_;
    for (const Op& reader : graph_.ops) {
      const bool reads =
          std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](OpId input) { return depends.count(input) > 0; });
      if (reads) depends.insert(reader.id);
    }
    std::set<OpId> needed;
    std::vector<OpId> open(is_in_.begin(), is_in_.end());
    while (!open.empty()) {
      const Op& reader = op(open.back());
      open.pop_back();
      for (const OpId input : reader.inputs) {
        if (is_in_.count(input) > 0 || !needed.insert(input).second) continue;
        if (depends.count(input) > 0) {
          return absl::StrCat("`", reader.name, "` needs `", op(input).name, "`, which depends on the loss");
        }
        open.push_back(input);
      }
    }
    result_.earlier.assign(needed.begin(), needed.end());
    return std::nullopt;
  }

  const Graph& graph_;
  SlicedLoss result_;
  std::map<OpId, Places> at_;
  std::set<OpId> is_in_, is_within_;
};

}  // namespace

std::variant<SlicedLoss, std::string> FindSlicedLoss(const Graph& graph, OpId loss) {
  return Finder(graph, loss).Run();
}

int DimensionOf(int factor, const std::vector<FactorList>& dimensions) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].size() == 1 && dimensions[d][0] == factor) return static_cast<int>(d);
  }
  return -1;
}

int64_t PartsOf(const Op& loss) { return loss.attributes.Get(attribute::kParts); }

Graph WithParts(Graph graph, const std::vector<std::pair<OpId, int64_t>>& parts) {
  for (const auto& [loss, count] : parts) graph.ops[loss].attributes.Set(attribute::kParts, count);
  return graph;
}

}  // namespace cleave::ir
