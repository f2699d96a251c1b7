#include "frontend/evaluate/pins/attach.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

bool IsRegion(const dsl::syntax::Attribute& attribute) { return attribute.name.text == "region"; }

bool IsSource(const ir::Op& op) { return ir::DefinitionOf(op).op_class == ir::OpClass::kSource; }

// For an op without inputs the only tensor is its own: `#[shard((4, 1))] param …`.
ir::ShardPin OfTensor(const ir::ShardPin& pin) {
  if (pin.in.size() != 1 || pin.out) return pin;
  return {.in = {}, .out = pin.in.front()};
}

void RecordRetention(const RetentionDemand& demand, const dsl::syntax::Attribute& attribute,
                     const std::vector<ir::OpId>& ops, PinRecorder& pins) {
  const ir::Op& first = pins.graph().op(ops.front());
  if (IsSource(first)) {
    pins.reporter().Report(Error(Code::kE0305, absl::StrCat("`", attribute.name.text, "` on the ",
                                                            ir::OpKindName(first.kind), " `", first.name, "`"))
                               .At(attribute.span, "applies to values that the forward pass computes")
                               .Note("parameters and inputs are there for the whole step"));
    return;
  }
  pins.retentions().Record({.retention = demand.retention, .span = attribute.span, .ops = ops});
}

}  // namespace

bool CheckShard(const dsl::syntax::Attribute& attribute, const ir::ShardPin& pin, ir::OpId id,
                const PinRecorder& pins) {
  const ir::Op& op = pins.graph().op(id);
  if (IsSource(op) && !pin.in.empty()) {
    pins.reporter().Report(
        Error(Code::kE0302, absl::StrCat("slices for ", Plural(static_cast<int64_t>(pin.in.size()), "tensor"),
                                         ", but the ", ir::OpKindName(op.kind), " `", op.name, "` is one"))
            .At(attribute.span, absl::StrCat("`", op.name, "` is ", op.type.ToString())));
    return false;
  }
  if (!pin.in.empty() && pin.in.size() != op.inputs.size()) {
    std::vector<std::string> inputs;
    for (ir::OpId input : op.inputs) inputs.push_back(pins.graph().op(input).name);
    pins.reporter().Report(
        Error(Code::kE0302, absl::StrCat("slices for ", Plural(static_cast<int64_t>(pin.in.size()), "input"), ", but `",
                                         op.name, "` has ", op.inputs.size()))
            .At(attribute.span,
                absl::StrCat("the inputs of `", ir::OpKindName(op.kind), "` are ", QuotedList(inputs, "and"))));
    return false;
  }
  bool ok = true;
  const auto check = [&](const ir::CountsPin& counts, ir::OpId tensor, const std::string& what) {
    const ir::TensorType& type = pins.graph().op(tensor).type;
    if (!counts || static_cast<int>(counts->size()) == type.rank()) return;
    const Span span = counts->empty() ? attribute.span : Cover(counts->front().span, counts->back().span);
    pins.reporter().Report(
        Error(Code::kE0302, absl::StrCat("slices for ", Plural(static_cast<int64_t>(counts->size()), "dimension"),
                                         ", but ", what, " has ", type.rank()))
            .At(span, absl::StrCat("`", pins.graph().op(tensor).name, "` is ", type.ToString(),
                                   pins.graph().op(tensor).line > 0
                                       ? absl::StrCat(", from line ", pins.graph().op(tensor).line)
                                       : "")));
    ok = false;
  };
  for (size_t i = 0; i < pin.in.size(); ++i) check(pin.in[i], op.inputs[i], absl::StrCat("input ", i));
  check(pin.out, id, IsSource(op) ? absl::StrCat("`", op.name, "`") : "the output");
  return ok;
}

bool CheckLayout(const dsl::syntax::Attribute& attribute, const ir::LayoutPin& pin, ir::OpId id,
                 const PinRecorder& pins) {
  const ir::Op& op = pins.graph().op(id);
  if (static_cast<int>(pin.dimensions.size()) == op.type.rank()) return true;
  pins.reporter().Report(
      Error(Code::kE0302, absl::StrCat("a layout of ", Plural(static_cast<int64_t>(pin.dimensions.size()), "dimension"),
                                       ", but `", op.name, "` has ", op.type.rank()))
          .At(attribute.span, absl::StrCat("`", op.name, "` is ", op.type.ToString(),
                                           op.line > 0 ? absl::StrCat(", from line ", op.line) : "")));
  return false;
}

void AddPin(const dsl::syntax::Attribute& attribute, ir::OpId op, const std::vector<ir::OpId>& ops,
            const IntEvaluator& evaluate, PinRecorder& pins) {
  const std::optional<Demand> demand = ReadAttribute(attribute, evaluate, pins.reporter());
  if (!demand) return;
  Match(
      *demand,
      [&](const ir::ShardPin& pin) {
        const ir::ShardPin own = IsSource(pins.graph().op(op)) ? OfTensor(pin) : pin;
        if (CheckShard(attribute, own, op, pins)) pins.Record({op, own, attribute.span});
      },
      [&](const ir::LayoutPin& pin) {
        if (CheckLayout(attribute, pin, op, pins)) pins.Record({op, pin, attribute.span});
      },
      [&](const ir::ReplicatePin& pin) {
        for (ir::OpId each : ops) pins.Record({each, pin, attribute.span});
      },
      [&](const PriorityDemand& priority) {
        for (ir::OpId each : ops) pins.RecordPriority(each, priority.value);
      },
      [&](const StageDemand& stage) {
        for (ir::OpId each : ops) pins.RecordStage({each, stage.value, attribute.span});
      },
      [&](const RetentionDemand& retention) { RecordRetention(retention, attribute, ops, pins); });
}

void Attach(const std::vector<dsl::syntax::Attribute>& attributes, const std::optional<Operation>& operation,
            const Value& value, const IntEvaluator& evaluate, PinRecorder& pins) {
  if (std::all_of(attributes.begin(), attributes.end(), IsRegion)) return;
  if (!operation) {
    if (value.is_poison()) return;
    pins.reporter().Report(
        Error(Code::kE0305, absl::StrCat("`#[", attributes.front().name.text, "]` applies to no op"))
            .At(attributes.front().span, "belongs to the outermost call of its expression, and there is none"));
    return;
  }
  if (value.is_poison()) return;
  std::vector<ir::OpId> ops;
  for (int i = operation->first; i < operation->end; ++i) {
    if (!IsSource(pins.graph().op(ir::OpId(i)))) ops.push_back(ir::OpId(i));
  }
  for (const dsl::syntax::Attribute& attribute : attributes) {
    if (IsRegion(attribute)) continue;
    // An attribute about one tensor cannot be about a tuple of them.
    if (ops.empty() || !HasTensor(value) || (IsAboutOne(attribute.name.text) && !value.is_tensor())) {
      pins.reporter().Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` applies to no op"))
                                 .At(attribute.span, absl::StrCat("the value is ", DescribeType(value, pins.graph()))));
      continue;
    }
    if (attribute.name.text == "shard" && ops.size() > 1) {
      pins.reporter().Report(Error(Code::kE0305, absl::StrCat("`#[shard]` on `", operation->callee,
                                                              "`, which is made of ", ops.size(), " ops"))
                                 .At(attribute.span, "is about the inputs of one op")
                                 .At(operation->span, absl::StrCat("makes `", pins.graph().op(ops.front()).name,
                                                                   "` to `", pins.graph().op(ops.back()).name, "`"))
                                 .Note("`#[region(in = …, out = …)]` is for several ops")
                                 .Help(absl::StrCat("pin one of them by name: `parallel { pin \"",
                                                    pins.graph().op(ops.front()).name, "\" = shard(…); }`")));
      continue;
    }
    AddPin(attribute, value.is_tensor() && ops.size() > 1 ? value.as_tensor() : ops.front(), ops, evaluate, pins);
  }
}

}  // namespace cleave::frontend
