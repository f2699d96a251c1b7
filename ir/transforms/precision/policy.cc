#include "ir/transforms/precision/policy.h"

#include <algorithm>
#include <set>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

bool IsProduct(const Op& op) {
  switch (TreatmentOf(op)) {
    case Treatment::kProduct:
    case Treatment::kGradient:
    case Treatment::kRounded:
      return true;
    case Treatment::kFollow:
    case Treatment::kFloat:
      return false;
  }
  return false;
}

// What a program that generates remembers of earlier places: it is rounded once, when it is stored, and not whenever it
// is read.
bool IsCache(const Op& op) { return op.kind == OpKind::kState && op.phase == Phase::kForward; }

// The values that are kept in f32 whichever ops make them: the loss, metrics, and backward values from which only
// gradients of parameters are made. Values that a product reads are not among them, because they are factors.
IdVector<OpId, uint8_t> KeptInF32(const Graph& graph) {
  IdVector<OpId, uint8_t> kept(graph.ops.size(), 0);
  const IdVector<OpId, std::vector<OpId>> users = Users(graph);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.op(OpId(static_cast<int64_t>(i)));
    if (op.phase != Phase::kBackward || users[op.id].empty()) continue;
    kept[op.id] = std::all_of(users[op.id].begin(), users[op.id].end(), [&](OpId user) {
      const Op& reader = graph.op(user);
      return reader.phase == Phase::kUpdate || (kept[user] != 0 && !IsProduct(reader));
    });
  }
  for (const StateUpdate& update : graph.updates) kept[update.value] = IsCache(graph.op(update.state)) ? 0 : 1;
  for (const Metric& metric : graph.metrics) kept[metric.value] = 1;
  if (graph.loss.has_value()) kept[*graph.loss] = 1;
  return kept;
}

bool ReadsInF32(const Op& op, size_t input) {
  const OpDefinition& definition = DefinitionOf(op);
  return definition.reads_in_f32 != nullptr && definition.reads_in_f32(op.attributes, input, op.inputs.size());
}

// The values that all their readers take in 16 bits, products or what moves elements for these. Without a loss, in a
// program that predicts or generates, so do ops that look up rows of a parameter: a table is stored in 16 bits, like
// the weights, even where products read it, too.
IdVector<OpId, uint8_t> ReadIn16Bits(const Graph& graph) {
  IdVector<OpId, uint8_t> read(graph.ops.size(), 0);
  const bool rounds_tables = !graph.loss.has_value();
  const IdVector<OpId, std::vector<OpId>> users = Users(graph);
  const auto takes_16_bits = [&](const Op& reader, OpId value) {
    const OpDefinition& definition = DefinitionOf(reader);
    const Treatment treatment = TreatmentOf(reader);
    if (reader.phase == Phase::kUpdate) return false;
    if (IsCache(graph.op(value))) return read[reader.id] != 0;  // The reader puts new values into it.
    if (rounds_tables && treatment == Treatment::kFloat && definition.looks_up.has_value()) {
      const OpId table = reader.inputs[static_cast<size_t>(*definition.looks_up)];
      const bool is_read_once = std::count(reader.inputs.begin(), reader.inputs.end(), value) == 1;
      if (table == value && is_read_once && graph.op(value).kind == OpKind::kParameter) return true;
    }
    if (treatment == Treatment::kFollow) {
      return definition.op_class == OpClass::kMovement && reader.inputs.size() == 1 && read[reader.id] != 0;
    }
    if (!IsProduct(reader)) return false;
    for (size_t i = 0; i < reader.inputs.size(); ++i) {
      if (reader.inputs[i] == value && ReadsInF32(reader, i)) return false;
    }
    return true;
  };
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const OpId value(static_cast<int64_t>(i));
    read[value] = !users[value].empty() && std::all_of(users[value].begin(), users[value].end(),
                                                       [&](OpId user) { return takes_16_bits(graph.op(user), value); });
  }
  return read;
}

class Chooser {
 public:
  Chooser(const Graph& graph, DType narrow)
      : graph_(graph),
        narrow_(narrow),
        users_(Users(graph)),
        kept_(KeptInF32(graph)),
        read_in_16_bits_(ReadIn16Bits(graph)),
        types_(graph.ops.size()),
        is_given_(graph.ops.size(), 0) {
    for (const StateUpdate& update : graph.updates) changed_.insert(update.state);
  }

  IdVector<OpId, Types16> Run() && {
    for (const Op& op : graph_.ops) {
      types_[op.id] = TypesOf(op);
      is_given_[op.id] = IsGiven(op);
    }
    return std::move(types_);
  }

 private:
  DType Now(OpId value) const { return types_[value].result; }

  // The types of an op that reads and gives `dtype`, where its values are real numbers.
  Types16 All(const Op& op, DType reads, DType result) const {
    Types16 types{.result = op.type.dtype == DType::kF32 ? result : op.type.dtype, .reads = {}};
    for (OpId input : op.inputs) types.reads.push_back(IsInteger(Now(input)) ? Now(input) : reads);
    return types;
  }

  Types16 TypesOf(const Op& op) const {
    if (op.phase == Phase::kUpdate) return All(op, DType::kF32, DType::kF32);
    if (op.kind == OpKind::kParameter) return All(op, DType::kF32, IsStoredNarrow(op) ? narrow_ : DType::kF32);
    if (IsCache(op)) return All(op, DType::kF32, read_in_16_bits_[op.id] != 0 ? narrow_ : DType::kF32);
    switch (TreatmentOf(op)) {
      case Treatment::kProduct:
        return All(op, narrow_, kept_[op.id] != 0 ? DType::kF32 : narrow_);
      case Treatment::kGradient:
      case Treatment::kRounded: {
        const bool rounds = TreatmentOf(op) == Treatment::kRounded;
        Types16 types = All(op, narrow_, rounds ? narrow_ : DType::kF32);
        for (size_t i = 0; i < types.reads.size(); ++i) {
          if (ReadsInF32(op, i)) types.reads[i] = DType::kF32;
        }
        return types;
      }
      case Treatment::kFollow:
        return Follow(op);
      case Treatment::kFloat:
        return Float(op);
    }
    return Float(op);
  }

  // A parameter that nothing changes, and that all its readers would round.
  bool IsStoredNarrow(const Op& parameter) const {
    const bool is_trained = parameter.attributes.Get(attribute::kTrained);
    return !is_trained && changed_.count(parameter.id) == 0 && read_in_16_bits_[parameter.id] != 0;
  }

  // A value is in 16 bits where all its readers would round it.
  Types16 Float(const Op& op) const {
    const OpDefinition& definition = DefinitionOf(op);
    const bool rounds = definition.gives_16_bits && kept_[op.id] == 0 && read_in_16_bits_[op.id] != 0;
    Types16 types = All(op, DType::kF32, rounds ? narrow_ : DType::kF32);
    for (const int input : definition.reads_16_bits) {
      const size_t i = static_cast<size_t>(input);
      if (i < op.inputs.size()) types.reads[i] = Now(op.inputs[i]);
    }
    if (IsBesideProduct(op)) types.reads[0] = narrow_;
    return types;
  }

  // A sum over a gradient that the gradient of a weight is made of, too, for which it is rounded: the gradient of a
  // bias. Both read the rounded one, so that it is read once.
  bool IsBesideProduct(const Op& op) const {
    if (op.kind != OpKind::kReduceSum || op.phase != Phase::kBackward || kept_[op.id] == 0) return false;
    const auto& readers = users_[op.inputs[0]];
    return Now(op.inputs[0]) == DType::kF32 && std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
             return graph_.op(reader).kind == OpKind::kMatmulSum;
           });
  }

  // 16 bits if the op reads a computed value in 16 bits and none in f32. Parameters and constants take the type of the
  // values beside them; scalars beside tensors stay as they are.
  Types16 Follow(const Op& op) const {
    const bool has_tensor =
        std::any_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return graph_.op(input).type.rank() > 0; });
    const auto counts = [&](OpId input) {
      return !IsInteger(Now(input)) && (graph_.op(input).type.rank() > 0 || !has_tensor);
    };
    bool some = false;
    bool all = kept_[op.id] == 0;
    for (OpId input : op.inputs) {
      if (!counts(input)) continue;
      some = some || Now(input) == narrow_;
      all = all && (Now(input) == narrow_ || (has_tensor && is_given_[input] != 0));
    }
    const DType dtype = some && all ? narrow_ : DType::kF32;
    Types16 types = All(op, dtype, dtype);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!counts(op.inputs[i])) types.reads[i] = Now(op.inputs[i]);
    }
    return types;
  }

  // A parameter or a constant, or one whose elements were moved.
  bool IsGiven(const Op& op) const {
    if (op.kind == OpKind::kParameter || op.kind == OpKind::kConstant) return true;
    return !op.inputs.empty() && DefinitionOf(op).op_class == OpClass::kMovement &&
           std::all_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return is_given_[input] != 0; });
  }

  const Graph& graph_;
  const DType narrow_;
  const IdVector<OpId, std::vector<OpId>> users_;
  const IdVector<OpId, uint8_t> kept_;
  const IdVector<OpId, uint8_t> read_in_16_bits_;
  IdVector<OpId, Types16> types_;
  IdVector<OpId, uint8_t> is_given_;
  std::set<OpId> changed_;  // By updates.
};

}  // namespace

IdVector<OpId, Types16> ChooseTypes(const Graph& graph, DType dtype) { return Chooser(graph, dtype).Run(); }

}  // namespace cleave::ir
