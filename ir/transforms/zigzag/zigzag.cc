// Reading guide: Order joins the dimensions that run along the same rows, from op to op: a dimension of a value with
// that of each op that reads it, and within an op those that name one factor of its rule, where the op computes the
// same for rows in any order (FreeFactors). Those joined with queries of causal attention lie in zigzag order. Writer
// writes the graph again, and puts `zigzag` where a value lies in one order and is read in the other.
#include "ir/transforms/zigzag/zigzag.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/disjoint_sets/disjoint_sets.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/zigzag.h"
#include "ir/graph/roles.h"
#include "ir/sharding/pins/move.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {
namespace {

bool IsAttention(const Op& op) { return op.kind == OpKind::kAttention || op.kind == OpKind::kAttentionLogsumexp; }

// Of the queries of attention: what is in front of the elements of a head, or of heads inside.
size_t RowDimension(const Op& attention) {
  const size_t rank = attention.type.shape.size();
  // The statistics are [b.., h, r]; the result [b.., h, r, e] or [b.., r, h, e].
  if (attention.kind == OpKind::kAttentionLogsumexp) return rank - 1;
  const std::vector<int64_t>& inside = attention.attributes.Get(attribute::kHeadsInside);
  return inside.back() != 0 ? rank - 3 : rank - 2;
}

int64_t RowsOf(const Op& attention) { return attention.type.shape[RowDimension(attention)]; }

// Which factors of an op's rule it treats alike in any order.
enum class Freedom { kNone, kAll, kOfInput0, kOfInput1, kOfOutput };

Freedom FreedomOf(const Op& op) {
  const OpDefinition& definition = DefinitionOf(op);
  if (definition.element.has_value()) return definition.depends_on_place ? Freedom::kNone : Freedom::kAll;
  switch (op.kind) {
    case OpKind::kMatmul:
    case OpKind::kEinsum:
    case OpKind::kTranspose:
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kBroadcastTo:
    case OpKind::kReduceSum:
    case OpKind::kReduceMean:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
    case OpKind::kLayerNorm:
    case OpKind::kRmsNorm:
    case OpKind::kBiasAdd:
    case OpKind::kCast:
    case OpKind::kIdentity:
    case OpKind::kStopGradient:
    case OpKind::kSlice:   // Of other dimensions: those that are sliced are read in windows.
    case OpKind::kPad:     //
    case OpKind::kConcat:  //
    case OpKind::kMse:
    case OpKind::kMae:
    case OpKind::kHuber:
      return Freedom::kAll;
    case OpKind::kEmbedding:
    case OpKind::kOneHot:
      return Freedom::kOfInput0;
    case OpKind::kCrossEntropy:
    case OpKind::kAccuracy:
      return Freedom::kOfInput1;
    case OpKind::kArgmax:
      return Freedom::kOfOutput;
    default:
      return Freedom::kNone;
  }
}

void AddAll(const std::vector<FactorList>& dimensions, std::set<int>& factors) {
  for (const FactorList& dimension : dimensions) factors.insert(dimension.begin(), dimension.end());
}

// The factors of which the op may have the elements in another order: each is a dimension by itself in all tensors that
// name it, is read by pieces, and each rank may have a piece of it.
std::set<int> FreeFactors(const Op& op, const Rule& rule) {
  std::set<int> free;
  if (IsAttention(op)) {
    const bool is_placed = op.attributes.Get(attribute::kRate) > 0 || op.attributes.Get(attribute::kBiased);
    if (!is_placed) free.insert(rule.output[RowDimension(op)].front());
  } else if (op.kind == OpKind::kRope) {
    AddAll(rule.output, free);
  } else {
    switch (FreedomOf(op)) {
      case Freedom::kNone:
        return {};
      case Freedom::kAll:
        for (const std::vector<FactorList>& input : rule.inputs) AddAll(input, free);
        AddAll(rule.output, free);
        break;
      case Freedom::kOfInput0:
        AddAll(rule.inputs[0], free);
        break;
      case Freedom::kOfInput1:
        AddAll(rule.inputs[1], free);
        break;
      case Freedom::kOfOutput:
        AddAll(rule.output, free);
        break;
    }
  }
  const auto remove_compound = [&](const std::vector<FactorList>& dimensions) {
    for (const FactorList& dimension : dimensions) {
      if (dimension.size() < 2) continue;
      for (const int factor : dimension) free.erase(factor);
    }
  };
  for (const std::vector<FactorList>& input : rule.inputs) remove_compound(input);
  remove_compound(rule.output);
  for (const InputWindow& window : rule.windows) {
    const size_t dimension = static_cast<size_t>(window.dimension);
    for (const int factor : rule.inputs[static_cast<size_t>(window.input)][dimension]) free.erase(factor);
  }
  for (const Selection& selection : rule.selections) {
    free.erase(selection.part);
    free.erase(selection.whole);
  }
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const Factor& factor = rule.factors[f];
    const bool is_free = factor.kind == FactorKind::kParallel || factor.kind == FactorKind::kReduced;
    if (!is_free || factor.fixed_size) free.erase(static_cast<int>(f));
  }
  return free;
}

std::optional<std::string> WhyNot(const Op& attention, int64_t pairs) {
  const int64_t rows = RowsOf(attention);
  if (pairs >= 1 && pairs <= rows / 2 && rows % (2 * pairs) == 0) return std::nullopt;
  return absl::StrCat("the ", rows, " rows of `", attention.name, "` are not ", pairs,
                      " pairs of chunks of equal size");
}

// Which dimensions of values lie in zigzag order.
class Order {
 public:
  Order(const Graph& graph, int64_t pairs) : graph_(graph), places_(static_cast<size_t>(Count(graph))) {
    std::set<OpId> in_own_order;
    for (const Look& look : graph.looks) in_own_order.insert(look.value);
    for (const StateUpdate& update : graph.updates) in_own_order.insert(update.value);
    for (const Op& op : graph.ops) {
      if (op.inputs.empty() || in_own_order.count(op.id) > 0) keeps_order_.insert(op.id);
      Join(op);
    }
    for (const Op& op : graph.ops) {
      if (GainsByZigzag(op) && !WhyNot(op, pairs).has_value()) {
        in_zigzag_.insert(places_.Of(MadeAt(op.id) + static_cast<int64_t>(RowDimension(op))));
      }
    }
  }

  // What an op makes, before it is put into its own order where it must lie in that.
  bool IsMadeInZigzag(OpId value, size_t dimension) {
    return in_zigzag_.count(places_.Of(MadeAt(value) + static_cast<int64_t>(dimension))) > 0;
  }
  bool IsReadInZigzag(const Op& op, size_t input, size_t dimension) {
    return in_zigzag_.count(places_.Of(ReadAt(op, input) + static_cast<int64_t>(dimension))) > 0;
  }
  // Whether what has a role must be put into its own order.
  bool KeepsOrder(OpId value) const { return keeps_order_.count(value) > 0; }

 private:
  // Each dimension of a value has a place, and each dimension of what an op reads.
  int64_t Count(const Graph& graph) {
    int64_t count = 0;
    const auto add = [&](OpId value) {
      const int64_t first = count;
      count += graph.op(value).type.rank();
      return first;
    };
    for (const Op& op : graph.ops) {
      made_.push_back(add(op.id));
      std::vector<int64_t> reads;
      for (const OpId input : op.inputs) reads.push_back(add(input));
      reads_.push_back(std::move(reads));
    }
    is_free_.assign(static_cast<size_t>(count), false);
    return count;
  }
  int64_t MadeAt(OpId value) const { return made_[value]; }
  int64_t ReadAt(const Op& op, size_t input) const { return reads_[op.id][input]; }

  // What an op does not read or make in any order has a place of its own, joined with nothing.
  void Join(const Op& op) {
    if (op.inputs.empty()) return;
    const Rule rule = RuleOf(graph_, op);
    const std::set<int> free = FreeFactors(op, rule);
    std::map<int, int64_t> first;
    const auto join = [&](const std::vector<FactorList>& dimensions, int64_t begin, std::optional<OpId> value) {
      for (size_t d = 0; d < dimensions.size(); ++d) {
        if (dimensions[d].size() != 1 || free.count(dimensions[d].front()) == 0) continue;
        const int64_t place = begin + static_cast<int64_t>(d);
        is_free_[static_cast<size_t>(place)] = true;
        places_.Join(place, first.emplace(dimensions[d].front(), place).first->second);
        if (!value.has_value() || KeepsOrder(*value)) continue;
        const int64_t made = MadeAt(*value) + static_cast<int64_t>(d);
        if (is_free_[static_cast<size_t>(made)]) places_.Join(place, made);
      }
    };
    join(rule.output, MadeAt(op.id), std::nullopt);
    for (size_t i = 0; i < op.inputs.size(); ++i) join(rule.inputs[i], ReadAt(op, i), op.inputs[i]);
  }

  const Graph& graph_;
  IdVector<OpId, int64_t> made_;
  IdVector<OpId, std::vector<int64_t>> reads_;
  std::vector<bool> is_free_;  // By place.
  DisjointSets<int64_t> places_;
  std::set<OpId> keeps_order_;
  std::set<int64_t> in_zigzag_;
};

class Writer {
 public:
  Writer(const Graph& graph, int64_t pairs, Pins& pins)
      : graph_(graph), pairs_(pairs), order_(graph, pairs), pins_(pins), places_(graph.ops.size()) {}

  Graph Run() && {
    const IdVector<OpId, std::vector<OpId>> readers = Users(graph_);
    for (const Op& op : graph_.ops) {
      Copy(op);
      if (order_.KeepsOrder(op.id)) PutInOwnOrder(op);
      // Right behind the value, once for all who read it so.
      const std::set<OpId> each(readers[op.id].begin(), readers[op.id].end());
      for (const OpId reader : each) {
        for (size_t i = 0; i < graph_.op(reader).inputs.size(); ++i) {
          if (graph_.op(reader).inputs[i] == op.id) AsReadBy(graph_.op(reader), i);
        }
      }
    }
    MovePins([](OpId) { return true; }, places_, pins_);
    for (AddedOp& one : added_) one.beside = places_[one.beside];
    AddToPins(added_, pins_);
    Graph result = std::move(builder_).Build();
    CopyRoles(graph_, places_, result);
    return result;
  }

 private:
  // For each dimension, whether it lies in zigzag order.
  using Orders = std::vector<bool>;

  Orders LiesIn(OpId value) {
    Orders orders(graph_.op(value).type.shape.size(), false);
    if (order_.KeepsOrder(value)) return orders;
    for (size_t d = 0; d < orders.size(); ++d) orders[d] = order_.IsMadeInZigzag(value, d);
    return orders;
  }

  void Copy(const Op& op) {
    std::vector<OpId> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(AsReadBy(op, i));
    builder_.SetPhase(op.phase);
    builder_.SetLine(op.line);
    places_[op.id] = builder_.AddLike(op, std::move(inputs), op.name);
    Op& copy = builder_.mutable_graph().ops[places_[op.id]];
    copy.repetition = op.repetition;
    // What is made in that order by the places of rows.
    const bool is_causal = IsAttention(op) && op.attributes.Get(attribute::kCausal);
    if (is_causal && order_.IsMadeInZigzag(op.id, RowDimension(op))) copy.attributes.Set(attribute::kZigzag, pairs_);
    if (op.kind == OpKind::kRope) {
      const int rank = op.type.rank();
      const int64_t axis = op.attributes.Get(attribute::kAxis);
      const size_t dimension = static_cast<size_t>(axis < 0 ? axis + rank : axis);
      if (order_.IsMadeInZigzag(op.id, dimension)) copy.attributes.Set(attribute::kZigzag, pairs_);
    }
  }

  void PutInOwnOrder(const Op& op) {
    for (int d = 0; d < op.type.rank(); ++d) {
      if (!op.inputs.empty() && order_.IsMadeInZigzag(op.id, static_cast<size_t>(d))) {
        added_.push_back({places_[op.id], op.id});
        places_[op.id] = AddZigzag(op, places_[op.id], d, /*inverse=*/true);
      }
    }
  }

  // The value in the order in which `reader` reads it.
  OpId AsReadBy(const Op& reader, size_t input) {
    const OpId value = reader.inputs[input];
    const Orders lies = LiesIn(value);
    Orders read = lies;
    for (size_t d = 0; d < read.size(); ++d) read[d] = order_.IsReadInZigzag(reader, input, d);
    if (read == lies) return places_[value];
    const auto [at, is_new] = as_read_.emplace(std::pair(value, read), places_[value]);
    for (size_t d = 0; is_new && d < read.size(); ++d) {
      if (read[d] == lies[d]) continue;
      at->second = AddZigzag(graph_.op(value), at->second, static_cast<int>(d), /*inverse=*/lies[d]);
      added_.push_back({at->second, reader.id});
    }
    return at->second;
  }

  OpId AddZigzag(const Op& value, OpId now, int axis, bool inverse) {
    builder_.SetPhase(value.phase);
    builder_.SetLine(value.line);
    const GraphBuilder::Source before = builder_.SetSource(value);
    Attributes attributes = {
        {attribute::kAxis, static_cast<int64_t>(axis)}, {attribute::kZigzag, pairs_}, {attribute::kInverse, inverse}};
    const OpId made = builder_.Add(OpKind::kZigzag, {now}, std::move(attributes),
                                   absl::StrCat(value.name, inverse ? ".in_order" : ".zigzag"));
    builder_.SetSource(before);
    return made;
  }

  const Graph& graph_;
  const int64_t pairs_;
  Order order_;
  Pins& pins_;
  GraphBuilder builder_;
  IdVector<OpId, OpId> places_;
  std::map<std::pair<OpId, Orders>, OpId> as_read_;
  std::vector<AddedOp> added_;  // Beside ops of `graph_` that read them, or give what they did.
};

}  // namespace

bool GainsByZigzag(const Op& op) {
  if (!IsAttention(op) || !op.attributes.Get(attribute::kCausal)) return false;
  return op.attributes.Get(attribute::kWindow) == 0 && op.attributes.Get(attribute::kRate) == 0 &&
         !op.attributes.Get(attribute::kBiased);
}

int64_t RowPieces(const Graph& graph, const Plan& plan) {
  int64_t most = 1;
  for (const Op& op : graph.ops) {
    if (!GainsByZigzag(op)) continue;
    const int rows = RuleOf(graph, op).output[RowDimension(op)].front();
    most = std::max(most, plan.mesh.Size(plan.ops[op.id].strategy.cuts[static_cast<size_t>(rows)]));
  }
  return most;
}

std::optional<std::string> WhyNoZigzag(const Graph& forward, int64_t pairs) {
  if (forward.is_manual()) return "the model is manual";
  std::optional<std::string> why = "no causal attention sees all keys behind its own, without dropout or a bias";
  bool is_first = true;
  for (const Op& op : forward.ops) {
    if (op.kind != OpKind::kAttention || !GainsByZigzag(op)) continue;
    const std::optional<std::string> why_not = WhyNot(op, pairs);
    if (!why_not.has_value()) return std::nullopt;
    if (std::exchange(is_first, false)) why = why_not;
  }
  return why;
}

Graph WithZigzag(const Graph& forward, int64_t pairs, Pins& pins) { return Writer(forward, pairs, pins).Run(); }

Graph InOwnOrder(Graph graph) {
  for (Op& op : graph.ops) {
    if (op.kind == OpKind::kZigzag) {
      op.kind = OpKind::kIdentity;
      op.attributes = {};
    }
    op.attributes.Erase(attribute::kZigzag);
  }
  return graph;
}

std::string FindOtherChange(const Graph& model, const Graph& changed) {
  // What each value of `changed` is without ops `zigzag`, as an op of it; and where each op of the model is now.
  IdVector<OpId, OpId> behind;
  IdVector<OpId, OpId> places;
  size_t next = 0;
  for (const Op& op : changed.ops) {
    if (op.kind == OpKind::kZigzag) {
      behind.push_back(behind[op.inputs[0]]);
      continue;
    }
    behind.push_back(op.id);
    if (next == model.ops.size()) return absl::StrCat("`", op.name, "` is more than the model has");
    const Op& own = model.op(OpId(static_cast<int64_t>(next++)));
    Op same = op;
    same.id = own.id;
    same.attributes.Erase(attribute::kZigzag);
    Op expected = own;
    for (OpId& input : same.inputs) input = behind[input];
    for (OpId& input : expected.inputs) input = places[input];
    if (!(same == expected)) return absl::StrCat("`", op.name, "` is not `", own.name, "` of the model");
    places.push_back(op.id);
  }
  if (next != model.ops.size())
    return absl::StrCat("`", model.op(OpId(static_cast<int64_t>(next))).name, "` is missing");
  Graph roles, expected;
  CopyRoles(changed, behind, roles);
  CopyRoles(model, places, expected);
  if (!(roles == expected)) return "loss, metrics, updates or looks are of other values";
  return "";
}

}  // namespace cleave::ir
