// Reading guide: Matrices says which parameters are stored in 8 bits. Writer writes the graph again, with `dequantize`
// in front of the first op that reads a matrix, and says where pins are now.
#include "ir/transforms/quantize/quantize.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/roles.h"
#include "ir/sharding/pins/move.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {
namespace {

// Whether the op hands on all elements of its only input, perhaps in another order.
bool HandsOn(const Op& op) {
  return op.kind == OpKind::kTranspose || op.kind == OpKind::kReshape || op.kind == OpKind::kIdentity;
}

class Matrices {
 public:
  explicit Matrices(const Graph& graph) : graph_(graph), readers_(Users(graph)) {
    for (const StateUpdate& update : graph.updates) changed_.insert(update.state);
  }

  bool Has(const Op& op) const {
    if (op.kind != OpKind::kParameter || op.type.rank() < 2 || op.type.dtype != DType::kF32) return false;
    if (op.attributes.Get(attribute::kTrained)) return false;
    if (changed_.count(op.id) > 0 || op.attributes.Has(attribute::kFormula)) return false;
    bool is_factor = false;
    return CanBe(op.id, is_factor) && is_factor;
  }

  // What hands the matrix on to its readers, and is made again with it.
  std::vector<OpId> HandedOn(OpId value) const {
    std::vector<OpId> all;
    for (const OpId reader : readers_[value]) {
      if (!HandsOn(graph_.op(reader))) continue;
      all.push_back(reader);
      for (const OpId more : HandedOn(reader)) all.push_back(more);
    }
    return all;
  }

 private:
  bool CanBe(OpId value, bool& is_factor) const {
    return std::all_of(readers_[value].begin(), readers_[value].end(), [&](OpId id) {
      const Op& reader = graph_.op(id);
      if (HandsOn(reader)) return CanBe(id, is_factor);
      is_factor = is_factor || reader.kind == OpKind::kMatmul || reader.kind == OpKind::kEinsum;
      const OpDefinition& definition = DefinitionOf(reader);
      const bool looks_up = definition.looks_up.has_value() && reader.kind != OpKind::kSlice;
      return !looks_up && reader.kind != OpKind::kConv2d && reader.kind != OpKind::kConvTranspose2d;
    });
  }

  const Graph& graph_;
  const IdVector<OpId, std::vector<OpId>> readers_;
  std::set<OpId> changed_;
};

class Writer {
 public:
  Writer(const Graph& graph, Pins& pins) : graph_(graph), matrices_(graph), pins_(pins), places_(graph.ops.size()) {}

  Graph Run(const QuantizeOptions& options) && {
    for (const Op& op : graph_.ops) {
      if (matrices_.Has(op)) {
        Store(op);
        continue;
      }
      std::vector<OpId> inputs;
      for (const OpId input : op.inputs) {
        if (stored_.count(input) > 0 && made_.count(input) == 0) Make(graph_.op(input), op);
        inputs.push_back(places_[input]);
      }
      builder_.SetPhase(op.phase);
      builder_.SetLine(op.line);
      places_[op.id] = builder_.AddLike(op, std::move(inputs), op.name);
      builder_.mutable_graph().ops[places_[op.id]].repetition = op.repetition;
    }
    MovePins(options);
    Graph result = std::move(builder_).Build();
    CopyRoles(graph_, places_, result);
    return result;
  }

 private:
  struct Stored {
    OpId numbers, scales;
  };

  OpId AddStored(const Op& matrix, const char* ending, Shape shape, bool is_numbers) {
    Attributes attributes = matrix.attributes;
    attributes.Set(attribute::kShape, std::move(shape));
    attributes.Set(attribute::kStores, matrix.name);
    attributes.Set(attribute::kSize, matrix.type.shape.back());
    if (is_numbers) attributes.Set(attribute::kDType, DType::kI8);
    return builder_.Add(OpKind::kParameter, {}, std::move(attributes), absl::StrCat(matrix.name, ending));
  }

  void Store(const Op& matrix) {
    builder_.SetPhase(matrix.phase);
    builder_.SetLine(matrix.line);
    builder_.SetSource(matrix);
    Shape scales = matrix.type.shape;
    scales.back() = 1;
    const OpId numbers = AddStored(matrix, "_i8", matrix.type.shape, /*is_numbers=*/true);
    stored_[matrix.id] = {numbers, AddStored(matrix, "_scale", std::move(scales), /*is_numbers=*/false)};
  }

  void Make(const Op& matrix, const Op& reader) {
    const Stored& stored = stored_.at(matrix.id);
    builder_.SetPhase(reader.phase);
    builder_.SetLine(matrix.line);
    builder_.SetSource(matrix);
    places_[matrix.id] = builder_.Add(OpKind::kDequantize, {stored.numbers, stored.scales}, {}, matrix.name);
    made_.emplace(matrix.id, reader.id);
  }

  void MovePins(const QuantizeOptions& options) {
    const auto move = [this](auto& all) {
      for (auto& one : all) one.op = PlaceOfPin(one.op);
    };
    std::set<OpId> retained;
    for (const RetentionPin& pin : pins_.retentions) retained.insert(pin.op);
    move(pins_.pins);
    move(pins_.priorities);
    move(pins_.retentions);
    move(pins_.stages);
    for (Region& region : pins_.regions) {
      for (OpId& op : region.ops) op = places_[op];
    }
    std::vector<AddedOp> added;
    for (const auto& [matrix, reader] : made_) {
      const OpId place = places_[matrix];
      added.push_back({place, places_[reader]});
      if (!options.trains) continue;
      pins_.retentions.push_back({.op = place, .retention = Retention::kRecompute, .span = {}});
      for (const OpId op : matrices_.HandedOn(matrix)) {
        if (!retained.insert(op).second) continue;
        pins_.retentions.push_back({.op = places_[op], .retention = Retention::kRecompute, .span = {}});
      }
    }
    std::stable_sort(pins_.retentions.begin(), pins_.retentions.end(),
                     [](const RetentionPin& a, const RetentionPin& b) { return a.op < b.op; });
    AddToPins(added, pins_);
  }

  OpId PlaceOfPin(OpId op) const {
    const auto stored = stored_.find(op);
    return stored == stored_.end() ? places_[op] : stored->second.numbers;
  }

  const Graph& graph_;
  const Matrices matrices_;
  Pins& pins_;
  GraphBuilder builder_;
  IdVector<OpId, OpId> places_;
  std::map<OpId, Stored> stored_;  // By the matrix.
  std::map<OpId, OpId> made_;      // The first reader of each.
};

}  // namespace

Graph Quantize(Graph forward, const QuantizeOptions& options, Pins& pins) { return Writer(forward, pins).Run(options); }

}  // namespace cleave::ir
